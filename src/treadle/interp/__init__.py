"""The definition of the semantics: blocks, loops, branches and leaves, run with numpy.

It does not know plans or engines; one Instruction may stand for several steps.
"""

from treadle.interp.block import prepare_block, prepare_step
from treadle.interp.executable import Define, Executable, with_location
from treadle.interp.instructions import Instruction, in_order

__all__ = [
    "Define",
    "Executable",
    "Instruction",
    "in_order",
    "prepare_block",
    "prepare_step",
    "with_location",
]

"""The definition of the semantics: blocks, loops, branches and leaves, run with numpy.

It knows nothing of plans and engines, but that several steps may be one Instruction.
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

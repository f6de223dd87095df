"""A block of the program in the kernel IR: one lowering per operator, by family."""

from treadle.jit.lower import (
    activation,
    contract,
    create,
    einsum,
    elementwise,
    fill,
    found,
    index,
    layout,
    normalize,
    old,
    quantize,
    recurrent,
    reduce,
    select,
    sequence,
    window,
)
from treadle.jit.lower.block import lower_block, lower_steps
from treadle.jit.lower.held import nothing
from treadle.jit.lower.registry import TABLE, lowering

__all__ = [
    "TABLE",
    "activation",
    "contract",
    "create",
    "einsum",
    "elementwise",
    "fill",
    "found",
    "index",
    "layout",
    "lower_block",
    "lower_steps",
    "lowering",
    "normalize",
    "nothing",
    "old",
    "quantize",
    "recurrent",
    "reduce",
    "select",
    "sequence",
    "window",
]

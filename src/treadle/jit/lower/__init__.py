"""A block of the program in the kernel IR: one lowering per operator, by family."""

from treadle.jit.lower import (
    activation,
    contract,
    einsum,
    elementwise,
    fill,
    index,
    layout,
    normalize,
    old,
    recurrent,
    reduce,
    select,
    window,
)
from treadle.jit.lower.block import lower_block
from treadle.jit.lower.escape import by_data, escapes
from treadle.jit.lower.registry import TABLE, lowering

__all__ = [
    "TABLE",
    "activation",
    "by_data",
    "contract",
    "einsum",
    "elementwise",
    "escapes",
    "fill",
    "index",
    "layout",
    "lower_block",
    "lowering",
    "normalize",
    "old",
    "recurrent",
    "reduce",
    "select",
    "window",
]

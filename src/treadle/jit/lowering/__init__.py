"""Lowering of a program's blocks to the kernel IR: one lowering per operator, by family."""

from treadle.jit.lowering.block import lower_block, lower_steps
from treadle.jit.lowering.boxing import nothing
from treadle.jit.lowering.operators import (
    activation,
    argmax_topk,
    convolution,
    create,
    dft,
    einsum,
    elementwise,
    gather_scatter,
    layout,
    legacy,
    matmul,
    nonzero,
    normalize,
    padding,
    quantize,
    recurrent,
    reduce,
    rotary_embedding,
    treadle_domain,
)
from treadle.jit.lowering.registry import TABLE, lowering
from treadle.jit.lowering.sequences import uniform

__all__ = [
    "TABLE",
    "activation",
    "argmax_topk",
    "convolution",
    "create",
    "dft",
    "einsum",
    "elementwise",
    "gather_scatter",
    "layout",
    "legacy",
    "lower_block",
    "lower_steps",
    "lowering",
    "matmul",
    "nonzero",
    "normalize",
    "nothing",
    "padding",
    "quantize",
    "recurrent",
    "reduce",
    "rotary_embedding",
    "treadle_domain",
    "uniform",
]

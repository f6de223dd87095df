"""Operators of treadle's own domain, which its passes write."""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node, show_node
from treadle.jit.lowering.registry import Attributes, Operands, lowers


@lowers("SequenceLength", 1, domain="treadle")
def sequence_length(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The length of a row, as int64[1], if it is from 0 to the one extent of its sequences."""
    length, *extents = operands
    if length.dtype is not DType.INT64 or length.shape:
        raise Declined(f"{show_node(length)}: a scalar of int64 is needed")
    longest, *others = (builder.reshape(extent, ()) for extent in extents)
    for other in others:
        builder.expect(builder.map("equal", longest, other))
    zero = builder.scalar(0, DType.INT64)
    builder.expect(builder.map("less_equal", zero, length))
    builder.expect(builder.map("less_equal", length, longest))
    return builder.reshape(length, (1,))

"""Operators with a data-dependent result length: NonZero, Compress."""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import FlatNonzero, Node, Reduce, show_node
from treadle.jit.lowering.operators.axes import nonnegative_axis
from treadle.jit.lowering.operators.gather_scatter import picked
from treadle.jit.lowering.operators.layout import concat_along
from treadle.jit.lowering.registry import Attributes, Operands, lowers


def nonzero_positions(builder: KernelBuilder, mask: Node) -> Node:
    """The indices at which a mask of rank 1 is true."""
    numbers = builder.cast(mask, DType.INT64)
    count = builder.number(builder.add(Reduce("add", (0,)), DType.INT64, (), numbers))
    return builder.add(FlatNonzero(), DType.INT64, (count,), mask)


@lowers("NonZero", 9, 13)
def non_zero(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The indices of nonzero elements: a column for each, a row for each axis."""
    (x,) = operands
    is_found = builder.map("not_equal", x, builder.scalar(0, x.dtype))
    mask = is_found if x.dtype is not DType.BOOL else x
    if not x.shape:
        count = builder.number(builder.cast(mask, DType.INT64))
        return builder.expand(builder.dim(0), (0, count))
    rest = nonzero_positions(builder, builder.reshape(mask, (builder.product(x.shape),)))
    rows: list[Node] = []
    for extent in x.shape[:0:-1]:
        rows.append(builder.map("mod", rest, builder.dim(extent)))
        rest = builder.map("div", rest, builder.dim(extent))
    rows.append(rest)
    return concat_along(
        builder, [builder.reshape(row, (1, *row.shape)) for row in reversed(rows)], 0
    )


@lowers("Compress", 9, 11, 28)
def compress(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The items along an axis, or elements, whose condition is true."""
    data, condition = operands
    if len(condition.shape) != 1 or condition.dtype is not DType.BOOL:
        raise Declined(f"the condition is {show_node(condition)}: a list of bools is needed")
    axis = attributes.get("axis")
    if axis is None:
        data, axis = builder.reshape(data, (builder.product(data.shape),)), 0
    return picked(
        builder,
        data,
        nonzero_positions(builder, condition),
        nonnegative_axis(axis, len(data.shape)),
    )

"""Operators whose result is as long as there are elements of some kind: NonZero, Compress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Node, Positions, Reduce
from treadle.jit.lower.index import picked, positive
from treadle.jit.lower.layout import joined
from treadle.jit.lower.registry import lowers
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]


def positions(b: Building, mask: Node) -> Node:
    """Where a mask of rank 1 holds."""
    numbers = b.cast(mask, DType.INT64)
    count = b.number(b.add(Reduce("add", (0,)), DType.INT64, (), numbers))
    return b.add(Positions(), DType.INT64, (count,), mask)


@lowers("NonZero", 9, 13)
def non_zero(b: Building, operands: Sequence[Node], _: Attributes) -> Node:
    """The indices of elements that are not zero: a column for each, a row for each axis."""
    (x,) = operands
    is_found = b.map("not_equal", x, b.scalar(0, x.dtype), dtype=DType.BOOL)
    mask = is_found if x.dtype is not DType.BOOL else x
    if not x.shape:
        count = b.number(b.cast(mask, DType.INT64))
        return b.expand(b.dim(0), (0, count))
    rest = positions(b, b.reshape(mask, (b.product(x.shape),)))
    rows: list[Node] = []
    for extent in x.shape[:0:-1]:
        rows.append(b.map("mod", rest, b.dim(extent)))
        rest = b.map("div", rest, b.dim(extent))
    rows.append(rest)
    return joined(b, [b.reshape(row, (1, *row.shape)) for row in reversed(rows)], 0)


@lowers("Compress", 9, 11, 28)
def compress(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """The items along an axis, or elements, for which the condition holds."""
    data, condition = operands
    if len(condition.shape) != 1 or condition.dtype is not DType.BOOL:
        raise Declined("a Compress that does not fit")
    axis = attributes.get("axis")
    if axis is None:
        data, axis = b.reshape(data, (b.product(data.shape),)), 0
    return picked(b, data, positions(b, condition), positive(axis, len(data.shape)))

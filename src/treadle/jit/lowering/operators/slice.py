"""Slices of an axis whose bounds may be computed at run time."""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Constant, Elementwise, Node, Number
from treadle.jit.kernel.views import axis_slice
from treadle.jit.lowering.operators.gather_scatter import picked, steps

Bound = int | Node

_MAX_STEP = 2**62
"""The greatest step: a longer one reaches no second element, and its products would overflow."""
"""A step beyond any extent."""


def sliced(
    builder: KernelBuilder, node: Node, axis: int, start: Bound, end: Bound, step: int
) -> Node:
    """x[start:end:step] along the axis."""
    extent = node.shape[axis]
    if step == 0:
        raise Declined("a Slice of step 0")
    step = max(-_MAX_STEP, min(step, _MAX_STEP))
    if isinstance(extent, int) and isinstance(start, int) and isinstance(end, int):
        low = -extent - 1 if step < 0 else -extent
        taken = range(extent)[slice(max(start, -extent), max(end, low), step)]
        return axis_slice(builder, node, axis, taken[0] if taken else 0, step, len(taken))
    if step == -1 and start == -1 and isinstance(end, int) and end <= -(2**31):
        return axis_slice(builder, node, axis, builder.minus(extent, 1), -1, extent)
    width = _width(start, end)
    if step == 1 and width is not None and width > 0:
        first = builder.extent(_scalar(builder, start))
        last = builder.number(builder.map("sub", builder.dim(extent), builder.dim(width)))
        builder.expect(builder.compare("less_equal", first, last))
        return axis_slice(builder, node, axis, first, 1, width)
    item = _single_item(builder, extent, start, end) if step == 1 else None
    if item is not None:
        return axis_slice(builder, node, axis, item, 1, 1)
    first, count = _bounds(builder, extent, start, end, step)
    return axis_slice(builder, node, axis, first, step, count)


def _single_item(builder: KernelBuilder, extent: Number, start: Bound, end: Bound) -> Number | None:
    """The position of a single item between constant bounds, assuming that it exists.

    Otherwise a slice of a possibly empty axis would have an extent that cannot broadcast.
    """
    if not (isinstance(start, int) and isinstance(end, int)) or isinstance(extent, int):
        return None
    is_last = start == -1 and end >= 2**31 - 1
    if not is_last and (end - start != 1 or end == 0):
        return None
    needed = -start if start < 0 else end
    if not builder.assume(builder.compare("greater_equal", extent, needed)):
        return None
    return (
        start
        if start >= 0
        else builder.number(builder.map("add", builder.dim(extent), builder.dim(start)))
    )


def strided(
    builder: KernelBuilder, node: Node, axis: int, start: Bound, end: Bound, step: Node
) -> Node:
    """x[start:end:step] along the axis for a nonzero step computed at run time."""
    extent = node.shape[axis]
    beyond = builder.plus(extent, 1)
    by = builder.map(
        "max",
        builder.map("min", step, builder.dim(beyond)),
        builder.map("neg", builder.dim(beyond)),
    )
    zero = builder.dim(0)
    builder.expect(builder.map("not_equal", by, zero))
    is_back = builder.map("less", by, zero)
    low = builder.map("where", is_back, builder.dim(-1), zero)
    high = builder.map("add", low, builder.dim(extent))
    first = _within(builder, extent, _scalar(builder, start), zero, high)
    last = _within(builder, extent, _scalar(builder, end), low, high)
    forth, back = builder.map("sub", last, first), builder.map("sub", first, last)
    long = builder.map("max", builder.map("where", is_back, back, forth), zero)
    size = builder.number(builder.map("max", builder.map("abs", by), builder.dim(1)))
    count = times_within(builder, builder.number(long), size)
    places = builder.map("add", builder.map("mul", steps(builder, 1, 0, count), by), first)
    return picked(builder, node, places, axis)


def times_within(builder: KernelBuilder, extent: Number, size: Number) -> Number:
    """ceil(extent / size): the number of parts of a positive size that cover the extent."""
    if isinstance(extent, int) and isinstance(size, int):
        return -(-extent // size)
    more = builder.minus(builder.plus(extent, size), 1)
    return builder.number(builder.map("div", builder.dim(more), builder.dim(size)))


def _within(builder: KernelBuilder, extent: Number, bound: Node, low: Node, high: Node) -> Node:
    """A bound counted from the front, clamped to [low, high]."""
    below = builder.map("less", bound, builder.dim(0))
    moved = builder.map("add", bound, builder.dim(extent))
    index = builder.map("where", below, moved, bound)
    return builder.map("min", builder.map("max", index, low), high)


def _scalar(builder: KernelBuilder, bound: Bound) -> Node:
    return builder.scalar(bound, DType.INT64) if isinstance(bound, int) else bound


def _width(start: Bound, end: Bound) -> int | None:
    """The difference of the bounds, if it is a known number and the start is dynamic."""
    if isinstance(start, int) or isinstance(end, int):
        return None
    (first, less), (second, more) = _offset(start), _offset(end)
    return more - less if first is second else None


def _offset(node: Node) -> tuple[Node, int]:
    """The node as another node plus a constant."""
    if isinstance(node.op, Elementwise) and node.op.function in ("add", "sub"):
        left, right = node.operands
        if isinstance(right.op, Constant):
            added = int(right.op.array.item())
            return left, added if node.op.function == "add" else -added
        if isinstance(left.op, Constant) and node.op.function == "add":
            return right, int(left.op.array.item())
    return node, 0


def _bounds(
    builder: KernelBuilder, extent: Number, start: Bound, end: Bound, step: int
) -> tuple[Number, Number]:
    """The first item and the number of items, with bounds clamped as in the standard."""
    if step > 0:
        first, last = (_clamped(builder, extent, bound, 0, extent) for bound in (start, end))
        long = builder.minus(last, first) if first != 0 else last
    else:
        above = builder.minus(extent, 1)
        first = _clamped(builder, extent, start, 0, above)
        last = _clamped(builder, extent, end, -1, above)
        long = builder.least(builder.minus(first, last), extent)
    count = builder.most(long, 0) if first != 0 or step < 0 else long
    if abs(step) > 1:
        count = times_within(builder, count, abs(step))
    return first, count


def _clamped(
    builder: KernelBuilder, extent: Number, bound: Bound, low: Number, high: Number
) -> Number:
    """A bound counted from the front, clamped to [low, high]."""
    if isinstance(bound, int):
        if bound >= 2**31 - 1:
            return high
        if bound <= -(2**31):
            return low
        if bound < 0 and low == 0:  # as the rest of x[c:], so that x[:-c] has its extent
            return builder.minus(extent, builder.least(-bound, extent))
        if bound < 0:
            found = builder.number(builder.map("add", builder.dim(extent), builder.dim(bound)))
            return builder.most(found, low)
        return builder.least(bound, high) if bound or low else 0
    return builder.number(_within(builder, extent, bound, builder.dim(low), builder.dim(high)))

"""Parts of an axis whose bounds may only be known when the kernel runs."""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import Axis, Constant, Elementwise, Node, Number
from treadle.jit.kernel.node_builder import Declined
from treadle.jit.lowering.operators.gather_scatter import picked, steps

Bound = int | Node

_MAX_STEP = 2**62
"""A longer step reaches no second element, and its products do not overflow."""
"""A step beyond any extent."""


def axis_slice(
    builder: KernelBuilder, node: Node, axis: int, start: Number, step: int, count: Number
) -> Node:
    """Every `step`-th item along an axis, `count` of them from `start`."""
    shape = list(node.shape)
    axes = [Axis(0, ((k, 1),)) for k in range(len(shape))]
    axes[axis], shape[axis] = Axis(start, ((axis, step),)), count
    return builder.view(node, shape, axes)


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
    width = _width(builder, start, end)
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
    """Where the one item is between constant bounds, if it may be assumed that there is one.

    Of an axis that may be empty the slice would have an extent that broadcasts with no other.
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
    """x[start:end:step] along the axis for a step that only the run tells; none of 0."""
    extent = node.shape[axis]
    beyond = builder.plus(extent, 1)
    by = builder.map(
        "max",
        builder.map("min", step, builder.dim(beyond)),
        builder.map("neg", builder.dim(beyond)),
    )
    zero = builder.dim(0)
    builder.expect(builder.map("not_equal", by, zero, dtype=DType.BOOL))
    is_back = builder.map("less", by, zero, dtype=DType.BOOL)
    low = builder.map("where", is_back, builder.dim(-1), zero, dtype=DType.INT64)
    high = builder.map("add", low, builder.dim(extent))
    first = _within(builder, extent, _scalar(builder, start), zero, high)
    last = _within(builder, extent, _scalar(builder, end), low, high)
    forth, back = builder.map("sub", last, first), builder.map("sub", first, last)
    long = builder.map("max", builder.map("where", is_back, back, forth, dtype=DType.INT64), zero)
    size = builder.number(builder.map("max", builder.map("abs", by), builder.dim(1)))
    count = times_within(builder, builder.number(long), size)
    places = builder.map("add", builder.map("mul", steps(builder, 1, 0, count), by), first)
    return picked(builder, node, places, axis)


def times_within(builder: KernelBuilder, extent: Number, size: Number) -> Number:
    """How many parts of the size it takes to reach the extent; the size is above 0."""
    if isinstance(extent, int) and isinstance(size, int):
        return -(-extent // size)
    more = builder.minus(builder.plus(extent, size), 1)
    return builder.number(builder.map("div", builder.dim(more), builder.dim(size)))


def _within(builder: KernelBuilder, extent: Number, bound: Node, low: Node, high: Node) -> Node:
    """A bound counted from the front, between low and high."""
    below = builder.map("less", bound, builder.dim(0), dtype=DType.BOOL)
    moved = builder.map("add", bound, builder.dim(extent))
    place = builder.map("where", below, moved, bound, dtype=DType.INT64)
    return builder.map("min", builder.map("max", place, low), high)


def _scalar(builder: KernelBuilder, bound: Bound) -> Node:
    return builder.scalar(bound, DType.INT64) if isinstance(bound, int) else bound


def _width(builder: KernelBuilder, start: Bound, end: Bound) -> int | None:
    """Their difference where it is surely one number and the start only the run tells."""
    if isinstance(start, int) or isinstance(end, int):
        return None
    (first, less), (second, more) = _offset(start), _offset(end)
    return more - less if first is second else None


def _offset(node: Node) -> tuple[Node, int]:
    """The node as another one and a number that is added."""
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
    """The first item and how many there are, bounds out of range cut as the standard does."""
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
    """A bound counted from the front, between low and high."""
    if isinstance(bound, int):
        if bound >= 2**31 - 1:
            return high
        if bound <= -(2**31):
            return low
        if bound < 0:
            found = builder.number(builder.map("add", builder.dim(extent), builder.dim(bound)))
            return builder.most(found, low)
        return builder.least(bound, high) if bound or low else 0
    return builder.number(_within(builder, extent, bound, builder.dim(low), builder.dim(high)))

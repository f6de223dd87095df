"""Parts of an axis whose bounds may only be known when the kernel runs."""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Axis, Constant, Map, Node, Number
from treadle.jit.lower.index import picked, steps
from treadle.jit.nodes import Declined

Bound = int | Node

_LONGEST = 2**62
"""A step beyond any extent."""


def part(b: Building, x: Node, axis: int, start: Number, step: int, count: Number) -> Node:
    """Every `step`-th item along an axis, `count` of them from `start`."""
    shape = list(x.shape)
    axes = [Axis(0, ((k, 1),)) for k in range(len(shape))]
    axes[axis], shape[axis] = Axis(start, ((axis, step),)), count
    return b.view(x, shape, axes)


def sliced(b: Building, x: Node, axis: int, start: Bound, end: Bound, step: int) -> Node:
    """x[start:end:step] along the axis."""
    extent = x.shape[axis]
    if step == 0:
        raise Declined("a Slice of step 0")
    step = max(-_LONGEST, min(step, _LONGEST))
    if isinstance(extent, int) and isinstance(start, int) and isinstance(end, int):
        low = -extent - 1 if step < 0 else -extent
        taken = range(extent)[slice(max(start, -extent), max(end, low), step)]
        return part(b, x, axis, taken[0] if taken else 0, step, len(taken))
    width = _width(b, start, end)
    if step == 1 and width is not None and width > 0:
        first = b.extent(_scalar(b, start))
        last = b.number(b.map("sub", b.dim(extent), b.dim(width)))
        b.expect(b.compare("less_equal", first, last))
        return part(b, x, axis, first, 1, width)
    item = _single_item(b, extent, start, end) if step == 1 else None
    if item is not None:
        return part(b, x, axis, item, 1, 1)
    first, count = _bounds(b, extent, start, end, step)
    return part(b, x, axis, first, step, count)


def _single_item(b: Building, extent: Number, start: Bound, end: Bound) -> Number | None:
    """Where the one item is between constant bounds, if it may be assumed that there is one.

    Of an axis that may be empty the slice would have an extent that broadcasts with no other.
    """
    if not (isinstance(start, int) and isinstance(end, int)) or isinstance(extent, int):
        return None
    is_last = start == -1 and end >= 2**31 - 1
    if not is_last and (end - start != 1 or end == 0):
        return None
    needed = -start if start < 0 else end
    if not b.assume(b.compare("greater_equal", extent, needed)):
        return None
    return start if start >= 0 else b.number(b.map("add", b.dim(extent), b.dim(start)))


def strided(b: Building, x: Node, axis: int, start: Bound, end: Bound, step: Node) -> Node:
    """x[start:end:step] along the axis for a step that only the run tells; none of 0."""
    extent = x.shape[axis]
    beyond = b.plus(extent, 1)
    by = b.map("max", b.map("min", step, b.dim(beyond)), b.map("neg", b.dim(beyond)))
    zero = b.dim(0)
    b.expect(b.map("not_equal", by, zero, dtype=DType.BOOL))
    is_back = b.map("less", by, zero, dtype=DType.BOOL)
    low = b.map("where", is_back, b.dim(-1), zero, dtype=DType.INT64)
    high = b.map("add", low, b.dim(extent))
    first = _within(b, extent, _scalar(b, start), zero, high)
    last = _within(b, extent, _scalar(b, end), low, high)
    forth, back = b.map("sub", last, first), b.map("sub", first, last)
    long = b.map("max", b.map("where", is_back, back, forth, dtype=DType.INT64), zero)
    size = b.number(b.map("max", b.map("abs", by), b.dim(1)))
    count = times_within(b, b.number(long), size)
    places = b.map("add", b.map("mul", steps(b, 1, 0, count), by), first)
    return picked(b, x, places, axis)


def times_within(b: Building, extent: Number, size: Number) -> Number:
    """How many parts of the size it takes to reach the extent; the size is above 0."""
    if isinstance(extent, int) and isinstance(size, int):
        return -(-extent // size)
    more = b.minus(b.plus(extent, size), 1)
    return b.number(b.map("div", b.dim(more), b.dim(size)))


def _within(b: Building, extent: Number, bound: Node, low: Node, high: Node) -> Node:
    """A bound counted from the front, between low and high."""
    below = b.map("less", bound, b.dim(0), dtype=DType.BOOL)
    moved = b.map("add", bound, b.dim(extent))
    place = b.map("where", below, moved, bound, dtype=DType.INT64)
    return b.map("min", b.map("max", place, low), high)


def _scalar(b: Building, bound: Bound) -> Node:
    return b.scalar(bound, DType.INT64) if isinstance(bound, int) else bound


def _width(b: Building, start: Bound, end: Bound) -> int | None:
    """Their difference where it is surely one number and the start only the run tells."""
    if isinstance(start, int) or isinstance(end, int):
        return None
    (first, less), (second, more) = _offset(start), _offset(end)
    return more - less if first is second else None


def _offset(node: Node) -> tuple[Node, int]:
    """The node as another one and a number that is added."""
    if isinstance(node.op, Map) and node.op.function in ("add", "sub"):
        left, right = node.operands
        if isinstance(right.op, Constant):
            added = int(right.op.array.item())
            return left, added if node.op.function == "add" else -added
        if isinstance(left.op, Constant) and node.op.function == "add":
            return right, int(left.op.array.item())
    return node, 0


def _bounds(
    b: Building, extent: Number, start: Bound, end: Bound, step: int
) -> tuple[Number, Number]:
    """The first item and how many there are, bounds out of range cut as the standard does."""
    if step > 0:
        first, last = (_clamped(b, extent, bound, 0, extent) for bound in (start, end))
        long = b.minus(last, first) if first != 0 else last
    else:
        above = b.minus(extent, 1)
        first = _clamped(b, extent, start, 0, above)
        last = _clamped(b, extent, end, -1, above)
        long = b.least(b.minus(first, last), extent)
    count = b.most(long, 0) if first != 0 or step < 0 else long
    if abs(step) > 1:
        count = times_within(b, count, abs(step))
    return first, count


def _clamped(b: Building, extent: Number, bound: Bound, low: Number, high: Number) -> Number:
    """A bound counted from the front, between low and high."""
    if isinstance(bound, int):
        if bound >= 2**31 - 1:
            return high
        if bound <= -(2**31):
            return low
        if bound < 0:
            found = b.number(b.map("add", b.dim(extent), b.dim(bound)))
            return b.most(found, low)
        return b.least(bound, high) if bound or low else 0
    return b.number(_within(b, extent, bound, b.dim(low), b.dim(high)))

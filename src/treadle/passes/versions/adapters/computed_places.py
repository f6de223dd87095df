"""Slice, TopK and Pad by numbers computed at run time: a Gather of computed positions on each axis.

    Slice(x, starts, ends, axes, steps)    Gather(x, start + step * [0, 1, ..., count - 1])
    TopK(x, k)                             TopK <k = extent> (x), of which the first k are kept
    Pad <mode = "edge"> (x, pads)          Gather(x, clip([-before, ..., extent - 1 + behind]))

A number that the operator refuses ends the run here too: an index is out of bounds.
"""

from __future__ import annotations

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.orders import ordered
from treadle.passes.versions.adapters.steps import first, operand
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import NoForm

_FAR = 2**31


def sliced(at: Rewriter, step: Leaf) -> Value:
    """A slice whose starts, ends, axes or steps are computed."""
    x, starts, ends = first(step), operand(step, 1), operand(step, 2)
    axes, steps = operand(step, 3), operand(step, 4)
    if starts is None or ends is None:
        raise NoForm("an operand is absent")
    known = at.array(axes)
    # the rank matters only for axes that count from the end
    rank = at.rank(x) if known is None or (known < 0).any() else int(known.max(initial=0)) + 1
    starts, ends = at.cast(starts, DType.INT64), at.cast(ends, DType.INT64)
    count = at.extent(starts, 0)
    along = places(at, count) if axes is None else _axes(at, axes, rank)
    by = at.op("ConstantOfShape", count, value=np.ones(1, np.int64))
    by = by if steps is None else _nonzero(at, at.cast(steps, DType.INT64))
    touched = range(rank) if known is None else sorted({int(axis) % rank for axis in known})
    for axis in touched:
        x = _along(at, x, axis, (along, starts, ends, by))
    return x


def _along(at: Rewriter, x: Value, axis: int, given: tuple[Value, Value, Value, Value]) -> Value:
    axes, starts, ends, steps = given
    extent, zero, one = at.extent(x, axis), at.ints(0), at.ints(1)
    here = at.op("Equal", axes, at.ints(axis))

    def entry(values: Value) -> Value:
        return at.reduce("ReduceSum", at.op("Where", here, values, zero), [0])

    is_sliced = at.op("Greater", entry(at.op("ConstantOfShape", at.op("Shape", axes),
                                             value=np.ones(1, np.int64))), zero)  # fmt: skip
    step = _limited(at, at.op("Where", is_sliced, entry(steps), one), at.ints(-_FAR), at.ints(_FAR))
    is_back = at.op("Less", step, zero)
    last = at.op("Sub", extent, one)
    low = at.op("Where", is_back, at.ints(-1), zero)
    high = at.op("Where", is_back, last, extent)
    start = _from_end(at, at.op("Where", is_sliced, entry(starts), zero), extent)
    end = _from_end(at, at.op("Where", is_sliced, entry(ends), extent), extent)
    start = _limited(at, start, zero, high)
    end = _limited(at, end, low, high)
    way = at.op("Where", is_back, at.ints(-1), one)
    size = at.op("Mul", step, way)
    reach = at.op("Mul", at.op("Sub", end, start), way)
    count = at.op("Div", at.op("Add", reach, at.op("Sub", size, one)), size)
    count = at.op("Where", at.op("Less", reach, one), zero, count)
    index = at.op("Add", start, at.op("Mul", places(at, count), step))
    return at.op("Gather", x, index, axis=axis)


def _from_end(at: Rewriter, bound: Value, extent: Value) -> Value:
    below = at.op("Less", bound, at.ints(0))
    return at.op("Where", below, at.op("Add", bound, extent), bound)


def _limited(at: Rewriter, x: Value, low: Value, high: Value) -> Value:
    x = at.op("Where", at.op("Less", x, low), low, x)
    return at.op("Where", at.op("Less", x, high), x, high)


def _axes(at: Rewriter, axes: Value, rank: int) -> Value:
    """Axes from the start; one that is out of range ends the run."""
    index = at.op("Add", at.cast(axes, DType.INT64), at.ints(rank))
    index = at.op("Where", at.op("Less", index, at.ints(0)), at.ints(2 * rank), index)
    return at.op("Gather", at.ints(*range(rank), *range(rank)), index, axis=0)


def _nonzero(at: Rewriter, steps: Value) -> Value:
    """The steps; a step of 0 ends the run."""
    is_zero = at.cast(at.op("Equal", steps, at.ints(0)), DType.INT64)
    return at.op("Mul", steps, at.op("Gather", at.ints(1), is_zero, axis=0))


def largest(at: Rewriter, step: Leaf) -> tuple[Value, ...]:
    """The first K of all items in order, for a K computed at run time."""
    x, count = first(step), operand(step, 1)
    axis = at.attributes(step)["axis"]
    extent = at.dim(x, axis)
    if count is None or not isinstance(extent, int) or extent < 1:
        return ordered(at, step)
    axis %= at.rank(x)
    found = at.ops("TopK", 2, x, axis=axis, k=extent)
    wanted = at.reshape(count, 1)
    wanted = at.op("Where", at.op("Less", wanted, at.ints(0)), at.ints(extent + 1), wanted)
    kept = at.op("Gather", at.ints(*range(extent + 1)), wanted, axis=0)
    index = places(at, kept)
    return tuple(at.op("Gather", each, index, axis=axis) for each in found)


def padded(at: Rewriter, x: Value, pads: Value, mode: str) -> Value:
    """Pads of all axes in a mode that repeats items: edge, reflect or wrap.

    Negative pads cut items off before others are repeated.
    """
    rank, zero = at.rank(x), at.ints(0)
    far, none = at.ints(_FAR), at.ints(-_FAR)
    for axis in range(rank):
        given = [at.op("Gather", pads, at.ints(k)) for k in (axis, axis + rank)]
        cuts = [_limited(at, each, none, zero) for each in given]
        before, behind = (_limited(at, each, zero, far) for each in given)
        extent = at.op("Add", at.op("Add", at.extent(x, axis), cuts[0]), cuts[1])
        count = at.op("Add", at.op("Add", extent, before), behind)
        index = _inside(at, at.op("Sub", places(at, count), before), extent, mode)
        x = at.op("Gather", x, at.op("Sub", index, cuts[0]), axis=axis)
    return x


def _inside(at: Rewriter, index: Value, extent: Value, mode: str) -> Value:
    """The position of the item that stands at an index outside of the tensor."""
    last = at.op("Sub", extent, at.ints(1))
    if mode == "edge":
        return _limited(at, index, at.ints(0), last)
    if mode == "wrap":
        return _modulo(at, index, extent)
    around = at.op("Mul", last, at.ints(2))
    index = _modulo(at, index, around)
    return at.op("Where", at.op("Greater", index, last), at.op("Sub", around, index), index)


def _modulo(at: Rewriter, index: Value, period: Value) -> Value:
    one = at.ints(1)
    period = at.op("Where", at.op("Less", period, one), one, period)
    rest = at.op("Sub", index, at.op("Mul", at.op("Div", index, period), period))
    return at.op("Where", at.op("Less", rest, at.ints(0)), at.op("Add", rest, period), rest)

"""Orders by comparisons: Unique before opset 11, and what TopK before opset 11 does not take.

A loop compares every item with one of them at a time, so that memory grows with their number only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.repeat import Turn, repeated
from treadle.passes.versions.adapters.steps import first
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down

_FAR = 2**31
_NARROW = (DType.FLOAT16, DType.BFLOAT16)
_FLOATS = (DType.FLOAT32, DType.FLOAT64)


@down("Unique", 11)
def distinct(at: Rewriter, step: Leaf) -> Adapted:
    """The first of equal items, in the order of how many are less, or of where they stand."""
    x, given = first(step), at.attributes(step)
    if at.dtype(x) is DType.STRING:
        raise NoForm("no older operator compares strings with each other")
    axis = given.get("axis")
    if axis is None:
        x, axis = at.reshape(x, -1), 0
    axis %= at.rank(x)
    rows = _rows(at, x, axis)
    less, start, count = _compared(at, rows)
    order = less if given["sorted"] else start
    trip = at.extent(rows, 0)
    zeros = at.op("ConstantOfShape", trip, value=np.zeros(1, np.int64))

    def by_order(values: Value) -> Value:
        return at.op("Scatter", zeros, order, values, axis=0)

    ones = at.op("Add", zeros, at.ints(1))
    found = at.reshape(at.op("NonZero", by_order(ones)), -1)
    index = at.op("Gather", by_order(start), found, axis=0)
    number = at.op("Scatter", zeros, found, places(at, at.extent(found, 0)), axis=0)
    inverse = at.op("Gather", number, order, axis=0)
    counts = at.op("Gather", by_order(count), found, axis=0)
    return at.op("Gather", x, index, axis=axis), index, inverse, counts


def _rows(at: Rewriter, x: Value, axis: int) -> Value:
    """The items along an axis, [items, numbers], in a type and form that orders them all.

    A float becomes two numbers: whether it is NaN, and the float or 0: NaN is the greatest. Items
    that are tensors have another number, so that empty ones have one: that of the item if there is
    a NaN in it, since such items equal no others; else 0.
    """
    is_single = at.rank(x) == 1
    order = [axis, *(k for k in range(at.rank(x)) if k != axis)]
    moved = x if axis == 0 else at.op("Transpose", x, perm=order)
    count, width = at.extent(moved, 0), at.ints(1)
    if not is_single:
        width = at.reduce("ReduceProd", at.slice(at.shape_of(moved), 1, _FAR, 0), [0])
    flat = _comparable(at, at.reshape(moved, count, width))
    zero = at.op("ConstantOfShape", at.concat(count, at.ints(1)), value=np.zeros(1, np.int64))
    if at.dtype(flat) not in _FLOATS:
        return flat if is_single else at.concat(flat, zero, axis=1)
    is_nan = at.op("IsNaN", flat)
    parts = [at.cast(is_nan, at.dtype(flat)), flat]
    parts[1] = at.op("Where", is_nan, at.scalar_like(flat, 0), flat)
    pairs = at.concat(*(at.unsqueeze(part, 2) for part in parts), axis=2)
    pairs = at.reshape(pairs, count, at.op("Add", width, width))
    if is_single:
        return pairs
    nans = at.reduce("ReduceSum", at.cast(is_nan, DType.FLOAT32), [1])
    number = at.unsqueeze(places(at, count), 1)
    number = at.op("Where", at.op("Greater", nans, at.const(np.float32(0))), number, zero)
    return at.concat(pairs, at.cast(number, at.dtype(flat)), axis=1)


def _comparable(at: Rewriter, x: Value) -> Value:
    """The numbers in an element type that has comparisons, in the same order."""
    dtype = at.dtype(x)
    if dtype in _FLOATS:
        return x
    if dtype in _NARROW:
        return at.cast(x, DType.FLOAT32)
    wide = at.cast(x, DType.INT64)
    if dtype is DType.UINT64:  # the upper half became negative
        return at.op("Add", wide, at.const(np.int64(-(2**63))))
    return wide


def _compared(at: Rewriter, rows: Value) -> tuple[Value, Value, Value]:
    """For each row: how many are less, the first that is equal, and how many are equal."""
    columns = places(at, at.extent(rows, 1))

    def compare(inner: Rewriter, i: Value, _: Sequence[Value]) -> Turn:
        row = inner.op("Gather", rows, inner.reshape(i, 1), axis=0)
        less, more = inner.op("Less", rows, row), inner.op("Greater", rows, row)
        differs = inner.cast(inner.op("Or", less, more), DType.INT32)
        place = inner.op("ArgMax", differs, axis=1)
        decides = inner.op("And", inner.op("Equal", columns, place), less)
        is_less = inner.reduce("ReduceSum", inner.cast(decides, DType.INT32), [1], keepdims=False)
        total = inner.reduce("ReduceSum", differs, [1], keepdims=False)
        is_equal = inner.cast(inner.op("Equal", total, inner.const(np.int32(0))), DType.INT32)
        start = inner.op("ArgMax", is_equal, axis=0, keepdims=0)
        return Turn([], [_total(inner, is_less), start, _total(inner, is_equal)])

    trip = at.squeeze(at.extent(rows, 0), 0)
    less, start, count = repeated(at, trip, [], compare)
    return less, start, count


def _total(at: Rewriter, flags: Value) -> Value:
    return at.cast(at.reduce("ReduceSum", flags, [0], keepdims=False), DType.INT64)


def ordered(at: Rewriter, step: Leaf) -> tuple[Value, Value]:
    """TopK of any numbers: each item goes to the place that says how many come before it."""
    x, count, given = first(step), step.operands[1], at.attributes(step)
    assert count is not None, "the operator requires K"
    is_largest, axis = given.get("largest", 1), given["axis"]
    kept = at.reshape(count, 1)
    if at.shape(x) is not None:
        return _first_along(at, x, axis % at.rank(x), kept, is_largest)
    if axis != -1:
        raise NoForm("the rank of its operand is not known", "declare its shape")
    shape, last = at.op("Shape", x), at.op("Size", at.op("Shape", x))
    last = at.reshape(at.op("Sub", last, at.const(np.int64(1))), 1)
    extent = at.op("Gather", shape, last, axis=0)
    rows = at.op("Reshape", x, at.concat(at.ints(-1), extent))
    made = _first_along(at, rows, 1, kept, is_largest)
    whole = at.concat(at.slice(shape, 0, -1, 0), kept)
    return at.op("Reshape", made[0], whole), at.op("Reshape", made[1], whole)


def _first_along(
    at: Rewriter, x: Value, axis: int, count: Value, is_largest: int
) -> tuple[Value, Value]:
    rank = at.rank(x)
    order = [axis, *(k for k in range(rank) if k != axis)]
    moved = x if axis == 0 else at.op("Transpose", x, perm=order)
    items = _comparable(at, moved)
    numbers = at.unsqueeze(places(at, at.extent(items, 0)), *range(1, rank))

    def rank_one(inner: Rewriter, i: Value, _: Sequence[Value]) -> Turn:
        item = inner.op("Gather", items, inner.reshape(i, 1), axis=0)
        more, less = _is_greater(inner, items, item), _is_greater(inner, item, items)
        before, behind = (more, less) if is_largest else (less, more)
        tie = inner.op("And", inner.op("Less", numbers, i), inner.op("Not", behind))
        return Turn([], [_total(inner, inner.cast(inner.op("Or", before, tie), DType.INT32))])

    place = repeated(at, at.squeeze(at.extent(items, 0), 0), [], rank_one)[0]
    place = at.op("Reshape", place, at.shape_of(items))  # without items its extents are not known
    zeros = at.op("ConstantOfShape", at.shape_of(items), value=np.zeros(1, np.int64))
    index = at.op("Scatter", zeros, place, at.op("Add", zeros, numbers), axis=0)
    values = at.op("Scatter", moved, place, moved, axis=0)
    # places beyond the items end the run, as TopK does
    kept = places(at, count)
    back = [order.index(k) for k in range(rank)]
    made = [at.op("Gather", each, kept, axis=0) for each in (values, index)]
    if axis:
        made = [at.op("Transpose", each, perm=back) for each in made]
    return made[0], made[1]


def _is_greater(at: Rewriter, a: Value, b: Value) -> Value:
    """Whether an item is greater than another; NaN is the greatest."""
    made = at.op("Greater", a, b)
    if at.dtype(a) not in _FLOATS:
        return made
    return at.op("Or", made, at.op("And", at.op("IsNaN", a), at.op("Not", at.op("IsNaN", b))))

"""Operators that look for elements along an axis: extremes, the k largest, running sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Axis, Fetch, Iota, Node, Number, Running
from treadle.jit.lower.index import positive, same
from treadle.jit.lower.layout import whole_numbers
from treadle.jit.lower.reduce import reduced
from treadle.jit.lower.registry import NARROW, lowers
from treadle.jit.lower.repeat import Nodes, repeat
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]
_MOST_COMPARED = 65_536
_MOST_TAKEN = 1024


def steps(b: Building, rank: int, axis: int, extent: Number) -> Node:
    """The numbers 0, 1, ... along an axis."""
    if isinstance(extent, int):
        numbers = b.constant(np.arange(extent, dtype=np.int64))
    else:
        numbers = b.add(Iota(), DType.INT64, (extent,))
    return b.reshape(numbers, [extent if k == axis else 1 for k in range(rank)])


def ordered(b: Building, x: Node) -> Node:
    """Whole numbers in the order of the elements; NaN is the largest, 0 and -0 are one."""
    if x.dtype in NARROW:
        x = b.cast(x, DType.FLOAT32)
    if x.dtype is DType.FLOAT32:
        return b.map("order", x, dtype=DType.INT32)
    if x.dtype is DType.FLOAT64:
        return b.map("order", x, dtype=DType.INT64)
    return b.cast(x, DType.UINT8) if x.dtype is DType.BOOL else x


def first_of(
    b: Building, keys: Node, function: str, axis: int, *, keep: bool, last: bool = False
) -> Node:
    """Where the extreme along the axis is: of equal ones the first, or the last."""
    extent = keys.shape[axis]
    best = reduced(b, function, keys, [axis], keep=True)
    is_best = b.map("equal", keys, best, dtype=DType.BOOL)
    where = steps(b, len(keys.shape), axis, extent)
    none = b.dim(-1 if last else extent)
    found = b.map("where", is_best, where, none, dtype=DType.INT64)
    return reduced(b, "max" if last else "min", found, [axis], keep=keep)


def _extreme(function: str, b: Building, operands: Nodes, attributes: Attributes) -> Node:
    x = operands[0]
    axis = positive(attributes["axis"], len(x.shape))
    if not x.shape:
        return b.scalar(0, DType.INT64)
    keys = ordered(b, x)
    if function == "min" and x.dtype.numpy.kind not in "iub":
        keys = _nan_first(b, x, keys)
    is_last = bool(attributes.get("select_last_index"))
    keep = bool(attributes["keepdims"])
    return first_of(b, keys, function, axis, keep=keep, last=is_last)


def _nan_first(b: Building, x: Node, keys: Node) -> Node:
    """The smallest is NaN too, as numpy has it."""
    is_nan = b.map("not_equal", x, x, dtype=DType.BOOL)
    lowest = b.scalar(np.iinfo(keys.dtype.numpy.name).min, keys.dtype)
    return b.map("where", is_nan, lowest, keys, dtype=keys.dtype)


for _op, _function in (("ArgMax", "max"), ("ArgMin", "min")):
    lowers(_op, 1, 11, 12, 13)(partial(_extreme, _function))


@lowers("Hardmax", 13)
def hardmax(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """1 at the first largest element along the axis, 0 elsewhere."""
    x = operands[0]
    axis = positive(attributes["axis"], len(x.shape))
    if not x.shape or 0 in x.shape:
        return x
    where = first_of(b, ordered(b, x), "max", axis, keep=True)
    is_it = b.map("equal", steps(b, len(x.shape), axis, x.shape[axis]), where, dtype=DType.BOOL)
    hot = b.map("where", is_it, b.scalar(1, x.dtype), b.scalar(0, x.dtype), dtype=x.dtype)
    return b.expand(hot, x.shape)


@lowers("TopK", 11, 24)
def top_k(b: Building, operands: Nodes, attributes: Attributes) -> Sequence[Node]:
    """The k largest, or smallest, in order, and where they are; of equal ones the first."""
    return _selected(b, operands[0], _count(operands), attributes)


@lowers("TopK", 10)
def top_k_10(b: Building, operands: Nodes, attributes: Attributes) -> Sequence[Node]:
    """The largest only."""
    return _selected(b, operands[0], _count(operands), {**attributes, "largest": 1})


@lowers("TopK", 1)
def top_k_1(b: Building, operands: Nodes, attributes: Attributes) -> Sequence[Node]:
    """K is an attribute."""
    return _selected(b, operands[0], attributes["k"], {**attributes, "largest": 1})


def _count(operands: Nodes) -> int:
    counts = whole_numbers(operands[1], "k")
    assert counts is not None
    return counts[0]


def _selected(b: Building, x: Node, count: int, attributes: Attributes) -> Sequence[Node]:
    """One walk along the axis for each of the k: the best of those after the one before."""
    given, rank = x.shape, len(x.shape)
    axis = positive(attributes["axis"], rank)
    if not rank or not 0 < count <= _MOST_TAKEN:
        raise Declined("a TopK of too many, or of none")
    _expect_few(b, count, given[axis])
    keys = ordered(b, x)
    if attributes["largest"]:
        keys = b.map("not", keys)
    places = steps(b, rank, axis, given[axis])
    one = tuple(1 if k == axis else extent for k, extent in enumerate(given))
    lowest = b.expand(b.scalar(np.iinfo(keys.dtype.numpy.name).min, keys.dtype), one)
    before = b.expand(b.scalar(-1, DType.INT64), one)

    def best(_: Node, states: Nodes) -> tuple[Nodes, Nodes]:
        key, place = states
        found = _after(b, keys, places, key, place)
        least = reduced(b, "min", b.map("where", found, keys, _most(b, keys), dtype=keys.dtype),
                        [axis], keep=True)  # fmt: skip
        is_it = b.map("and", found, b.map("equal", keys, least, dtype=DType.BOOL))
        end = b.dim(given[axis])
        where = b.map("where", is_it, places, end, dtype=DType.INT64)
        where = reduced(b, "min", where, [axis], keep=True)
        return (least, where), (b.reshape(where, [e for k, e in enumerate(given) if k != axis]),)

    _, (order,) = repeat(b, count, (lowest, before), best)
    index = _moved(b, order, axis)
    taken = tuple(0 if k == axis else same(k) for k in range(rank))
    return b.add(Fetch(taken), x.dtype, index.shape, x, index), index


def _expect_few(b: Building, count: int, extent: Number) -> None:
    """As many as are taken are there, and not so many that numpy would be faster."""
    if isinstance(extent, int):
        if not count <= extent <= _MOST_COMPARED // count:
            raise Declined("a TopK of too many, or of more than there are")
        return
    b.expect(b.compare("greater_equal", extent, count))
    b.expect(b.compare("less_equal", extent, _MOST_COMPARED // count))


def _most(b: Building, keys: Node) -> Node:
    return b.scalar(np.iinfo(keys.dtype.numpy.name).max, keys.dtype)


def _after(b: Building, keys: Node, places: Node, key: Node, place: Node) -> Node:
    """Whether an element comes after another one: a larger key, or the same further on."""
    is_larger = b.map("greater", keys, key, dtype=DType.BOOL)
    is_same = b.map("equal", keys, key, dtype=DType.BOOL)
    is_later = b.map("greater", places, place, dtype=DType.BOOL)
    return b.map("or", is_larger, b.map("and", is_same, is_later))


def _moved(b: Building, x: Node, axis: int) -> Node:
    """The first axis put at `axis`."""
    first, *rest = x.shape
    axes = [Axis(0, ((axis, 1),)), *(same(k if k < axis else k + 1) for k in range(len(rest)))]
    return b.view(x, (*rest[:axis], first, *rest[axis:]), axes)


def flipped(b: Building, x: Node, axis: int) -> Node:
    """The elements along an axis from the last to the first."""
    last = b.minus(b.most(x.shape[axis], 1), 1)
    axes = [Axis(last, ((k, -1),)) if k == axis else same(k) for k in range(len(x.shape))]
    return b.view(x, x.shape, axes)


def _running(function: str, b: Building, operands: Nodes, attributes: Attributes) -> Node:
    x, along = operands[0], whole_numbers(operands[1], "an axis")
    assert along is not None
    axis = positive(along[0], len(x.shape))
    if not x.shape or x.dtype is DType.BOOL:
        raise Declined(f"running sums of {x.dtype}{list(x.shape)}")
    given = flipped(b, x, axis) if attributes["reverse"] else x
    op = Running(function, axis, bool(attributes["exclusive"]))
    made = b.add(op, x.dtype, x.shape, given)
    return flipped(b, made, axis) if attributes["reverse"] else made


for _op, _function, *_versions in (("CumSum", "add", 11, 14), ("CumProd", "mul", 26)):
    lowers(_op, *_versions)(partial(_running, _function))

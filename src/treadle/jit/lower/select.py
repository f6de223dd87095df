"""Operators that look for elements along an axis: extremes, the k largest, running sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Axis, Fetch, Node, Number, Running, Top
from treadle.jit.lower.index import positive, same, steps
from treadle.jit.lower.reduce import reduced
from treadle.jit.lower.registry import NARROW, lowers
from treadle.jit.lower.repeat import Nodes
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]
_MOST_PLACES = 2**31


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
    return _selected(b, operands[0], _count(b, operands), attributes)


@lowers("TopK", 10)
def top_k_10(b: Building, operands: Nodes, attributes: Attributes) -> Sequence[Node]:
    """The largest only."""
    return _selected(b, operands[0], _count(b, operands), {**attributes, "largest": 1})


@lowers("TopK", 1)
def top_k_1(b: Building, operands: Nodes, attributes: Attributes) -> Sequence[Node]:
    """K is an attribute."""
    return _selected(b, operands[0], attributes["k"], {**attributes, "largest": 1})


def _count(b: Building, operands: Nodes) -> Number:
    counts = b.elements(operands[1], "k")
    (count,) = counts
    return count if isinstance(count, int) else b.extent(count)


def _selected(b: Building, x: Node, count: Number, attributes: Attributes) -> Sequence[Node]:
    given, rank = x.shape, len(x.shape)
    axis = positive(attributes["axis"], rank)
    if not rank or (isinstance(count, int) and count < 1):
        raise Declined("a TopK of none, or of a scalar")
    b.expect(b.compare("less_equal", count, given[axis]))
    b.expect(b.compare("less_equal", given[axis], _MOST_PLACES))
    keys = ordered(b, x)
    if attributes["largest"]:
        keys = b.map("not", keys)
    shape = tuple(count if k == axis else extent for k, extent in enumerate(given))
    index = b.add(Top(axis), DType.INT64, shape, keys)
    taken = tuple(0 if k == axis else same(k) for k in range(rank))
    return b.add(Fetch(taken), x.dtype, index.shape, x, index), index


def flipped(b: Building, x: Node, axis: int) -> Node:
    """The elements along an axis from the last to the first."""
    last = b.minus(b.most(x.shape[axis], 1), 1)
    axes = [Axis(last, ((k, -1),)) if k == axis else same(k) for k in range(len(x.shape))]
    return b.view(x, x.shape, axes)


def _axis(b: Building, along: Node, rank: int) -> int:
    """The axis, counted from the front; of a rank of 1 it may be one that only the run tells."""
    (axis,) = b.elements(along, "an axis")
    if isinstance(axis, int):
        return positive(axis, rank)
    if rank != 1:
        raise Declined("an axis that only the run tells")
    ends = (b.map("equal", axis, b.dim(n), dtype=DType.BOOL) for n in (0, -1))
    b.expect(b.map("or", *ends))
    return 0


def _running(function: str, b: Building, operands: Nodes, attributes: Attributes) -> Node:
    x = operands[0]
    if not x.shape or x.dtype is DType.BOOL:
        raise Declined(f"running sums of {x.dtype}{list(x.shape)}")
    axis = _axis(b, operands[1], len(x.shape))
    given = flipped(b, x, axis) if attributes["reverse"] else x
    op = Running(function, axis, bool(attributes["exclusive"]))
    made = b.add(op, x.dtype, x.shape, given)
    return flipped(b, made, axis) if attributes["reverse"] else made


for _op, _function, *_versions in (("CumSum", "add", 11, 14), ("CumProd", "mul", 26)):
    lowers(_op, *_versions)(partial(_running, _function))

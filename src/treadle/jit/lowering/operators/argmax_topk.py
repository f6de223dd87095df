"""ArgMax, ArgMin, TopK, Hardmax and cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import ArgTopK, Axis, Cumulative, Gather, Node, Number
from treadle.jit.kernel.views import same
from treadle.jit.lowering.operators.axes import nonnegative_axis
from treadle.jit.lowering.operators.gather_scatter import steps
from treadle.jit.lowering.operators.reduce import reduced
from treadle.jit.lowering.registry import NARROW, Attributes, Operands, lowers

_MAX_EXTENT = 2**31
"""The greatest extent of the axis: positions fit into half of a 64-bit sort key."""
_SHORT_ROW, _SHORT_COLUMN = 16, 8
"""The greatest extents at which the extreme is found first, and then its position."""
_POSITION_BITS = 32
_PACKED = frozenset(
    (DType.INT8, DType.INT16, DType.INT32, DType.UINT8, DType.UINT16)
)  # fmt: skip
"""Keys that fit into a number of 64 bits beside a position."""


def ordered(builder: KernelBuilder, node: Node) -> Node:
    """Integers in the order of the elements; NaN is the largest, 0 and -0 are equal."""
    if node.dtype in NARROW:
        node = builder.cast(node, DType.FLOAT32)
    if node.dtype is DType.FLOAT32:
        return builder.map("order", node, dtype=DType.INT32)
    if node.dtype is DType.FLOAT64:
        return builder.map("order", node, dtype=DType.INT64)
    return builder.cast(node, DType.UINT8) if node.dtype is DType.BOOL else node


def first_of(
    builder: KernelBuilder, keys: Node, function: str, axis: int, *, keep: bool, last: bool = False
) -> Node:
    """The index of the extreme along the axis; of equal ones the first, or the last."""
    extent = keys.shape[axis]
    short = _SHORT_ROW if axis == len(keys.shape) - 1 else _SHORT_COLUMN
    is_long = not isinstance(extent, int) or short < extent < _MAX_EXTENT
    if is_long and keys.dtype in _PACKED:
        builder.expect(builder.compare("less_equal", extent, _MAX_EXTENT - 1))
        return _packed(builder, keys, function, axis, keep=keep, last=last)
    best = reduced(builder, function, keys, [axis], keep=True)
    is_best = builder.map("equal", keys, best)
    where = steps(builder, len(keys.shape), axis, extent)
    none = builder.dim(-1 if last else extent)
    if isinstance(extent, int) and extent < _MAX_EXTENT:
        where, none = builder.cast(where, DType.INT32), builder.cast(none, DType.INT32)
    found = builder.map("where", is_best, where, none)
    index = reduced(builder, "max" if last else "min", found, [axis], keep=keep)
    return builder.cast(index, DType.INT64)


def _packed(
    builder: KernelBuilder, keys: Node, function: str, axis: int, *, keep: bool, last: bool
) -> Node:
    """The index from one reduction of numbers with the key in front and the position behind.

    Positions count down where the greatest number must be the first: ~i in place of i.
    """
    key = builder.map("shl", builder.cast(keys, DType.INT64), builder.dim(_POSITION_BITS))
    at = steps(builder, len(keys.shape), axis, keys.shape[axis])
    is_turned = last != (function == "max")
    mask = builder.dim(2**_POSITION_BITS - 1)
    at = builder.map("sub", mask, at) if is_turned else at
    found = reduced(builder, function, builder.map("or", key, at), [axis], keep=keep)
    index = builder.map("and", found, mask)
    return builder.map("sub", mask, index) if is_turned else index


def _extreme(
    function: str, builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node:
    x = operands[0]
    axis = nonnegative_axis(attributes["axis"], len(x.shape))
    if not x.shape:
        return builder.scalar(0, DType.INT64)
    keys = ordered(builder, x)
    if function == "min" and x.dtype.numpy.kind not in "iub":
        keys = _nan_first(builder, x, keys)
    is_last = bool(attributes.get("select_last_index"))
    keep = bool(attributes["keepdims"])
    return first_of(builder, keys, function, axis, keep=keep, last=is_last)


def _nan_first(builder: KernelBuilder, node: Node, keys: Node) -> Node:
    """Treat NaN as the smallest too, as numpy does."""
    is_nan = builder.map("not_equal", node, node)
    lowest = builder.scalar(np.iinfo(keys.dtype.numpy.name).min, keys.dtype)
    return builder.map("where", is_nan, lowest, keys)


for _op, _function in (("ArgMax", "max"), ("ArgMin", "min")):
    lowers(_op, 1, 11, 12, 13)(partial(_extreme, _function))


@lowers("Hardmax", 13)
def hardmax(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """1 at the first largest element along the axis, 0 elsewhere."""
    x: Node = operands[0]
    axis = nonnegative_axis(attributes["axis"], len(x.shape))
    if not x.shape or 0 in x.shape:
        return x
    where = first_of(builder, ordered(builder, x), "max", axis, keep=True)
    is_it = builder.map("equal", steps(builder, len(x.shape), axis, x.shape[axis]), where)
    hot = builder.map("where", is_it, builder.scalar(1, x.dtype), builder.scalar(0, x.dtype))
    return builder.expand(hot, x.shape)


@lowers("TopK", 11, 24)
def top_k(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Sequence[Node]:
    """The k largest or smallest in order, and their indices; equal ones by index."""
    return _selected(builder, operands[0], _count(builder, operands), attributes)


@lowers("TopK", 10)
def top_k_10(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Sequence[Node]:
    """TopK before opset 11: the largest only."""
    return _selected(builder, operands[0], _count(builder, operands), {**attributes, "largest": 1})


@lowers("TopK", 1)
def top_k_1(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Sequence[Node]:
    """TopK-1: k is an attribute."""
    return _selected(builder, operands[0], attributes["k"], {**attributes, "largest": 1})


def _count(builder: KernelBuilder, operands: Operands) -> Number:
    counts = builder.elements(operands[1], "k")
    (count,) = counts
    return count if isinstance(count, int) else builder.extent(count)


def _selected(
    builder: KernelBuilder, node: Node, count: Number, attributes: Attributes
) -> Sequence[Node]:
    given, rank = node.shape, len(node.shape)
    axis = nonnegative_axis(attributes["axis"], rank)
    if not rank or (isinstance(count, int) and count < 1):
        raise Declined(
            f"{count} items of a tensor of rank {rank}: at least one item and axis are needed"
        )
    builder.expect(builder.compare("less_equal", count, given[axis]))
    builder.expect(builder.compare("less_equal", given[axis], _MAX_EXTENT))
    keys = ordered(builder, node)
    if count == 1:
        function = "max" if attributes["largest"] else "min"
        index = first_of(builder, keys, function, axis, keep=True)
    else:
        keys = builder.map("not", keys) if attributes["largest"] else keys
        shape = tuple(count if k == axis else extent for k, extent in enumerate(given))
        index = builder.add(ArgTopK(axis), DType.INT64, shape, keys)
    taken = tuple(0 if k == axis else same(k) for k in range(rank))
    return builder.add(Gather(taken), node.dtype, index.shape, node, index), index


def flipped(builder: KernelBuilder, node: Node, axis: int) -> Node:
    """Reverse the elements along an axis."""
    last = builder.minus(builder.most(node.shape[axis], 1), 1)
    axes = [Axis(last, ((k, -1),)) if k == axis else same(k) for k in range(len(node.shape))]
    return builder.view(node, node.shape, axes)


def _axis(builder: KernelBuilder, along: Node, rank: int) -> int:
    """The axis, counted from the front; for rank 1 it may be computed at run time."""
    (axis,) = builder.elements(along, "an axis")
    if isinstance(axis, int):
        return nonnegative_axis(axis, rank)
    if rank != 1:
        raise Declined("an axis that is not constant")
    ends = (builder.map("equal", axis, builder.dim(n)) for n in (0, -1))
    builder.expect(builder.map("or", *ends))
    return 0


def _running(
    function: str, builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node:
    x = operands[0]
    if not x.shape or x.dtype is DType.BOOL:
        raise Declined(
            f"cumulative sums of {x.dtype}{list(x.shape)}: a numeric type and an axis are needed"
        )
    axis = _axis(builder, operands[1], len(x.shape))
    given = flipped(builder, x, axis) if attributes["reverse"] else x
    op = Cumulative(function, axis, bool(attributes["exclusive"]))
    made = builder.add(op, x.dtype, x.shape, given)
    return flipped(builder, made, axis) if attributes["reverse"] else made


for _op, _function, *_versions in (("CumSum", "add", 11, 14), ("CumProd", "mul", 26)):
    lowers(_op, *_versions)(partial(_running, _function))

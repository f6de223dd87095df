"""Reading and writing by index. What an index from data says is checked when the kernel runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import (
    Axis,
    Constant,
    Extent,
    Fetch,
    Iota,
    Node,
    Number,
    Pick,
    Places,
    Put,
    Shape,
)
from treadle.jit.lower.registry import lowers
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]
_WHOLE = (DType.INT64, DType.INT32)


def positive(axis: int, rank: int) -> int:
    """The axis counted from the front; Declined where the rank has it not."""
    if not -rank <= axis < max(rank, 1):
        raise Declined(f"axis {axis} of a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def same(axis: int) -> Axis:
    """The place along an axis that is the result's own."""
    return Axis(0, ((axis, 1),))


def steps(b: Building, rank: int, axis: int, extent: Number) -> Node:
    """The numbers 0, 1, ... along an axis."""
    if isinstance(extent, int):
        numbers = b.constant(np.arange(extent, dtype=np.int64))
    else:
        numbers = b.add(Iota(), DType.INT64, (extent,))
    return b.reshape(numbers, [extent if k == axis else 1 for k in range(rank)])


@lowers("Gather", 1, 11, 13)
def gather(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """np.take(data, indices, axis)."""
    data, indices = operands
    axis = attributes["axis"] % max(len(data.shape), 1)
    if not data.shape or indices.dtype not in _WHOLE:
        raise Declined("a Gather that does not fit")
    return picked(b, data, indices, axis)


def picked(b: Building, data: Node, indices: Node, axis: int) -> Node:
    """np.take(data, indices, axis): a view where it is one item that is known to be there."""
    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    if isinstance(indices.op, Constant) and indices.size == 1:
        return _at(b, data, axis, int(indices.op.array.item()), shape)
    return b.add(Pick(axis), data.dtype, shape, data, indices)


def _at(b: Building, data: Node, axis: int, index: int, shape: Shape) -> Node:
    given = data.shape[axis]
    least = -index if index < 0 else index + 1
    if isinstance(given, int) and given < least:
        raise Declined("a Gather out of range")
    if isinstance(given, Extent):
        b.expect(b.compare("greater_equal", given, least))
    shift = len(shape) - len(data.shape)
    axes = [Axis(0, ((k if k < axis else k + shift, 1),)) for k in range(len(data.shape))]
    axes[axis] = Axis(b.minus(given, -index) if index < 0 else index)
    return b.view(data, shape, axes)


def _along(b: Building, data: Node, indices: Node, axis: int) -> Places:
    """The places of GatherElements: the index along one axis, its own place along the others."""
    rank = len(data.shape)
    axis = positive(axis, rank)
    if not rank or len(indices.shape) != rank or indices.dtype not in _WHOLE:
        raise Declined("indices that do not fit")
    for k, (found, given) in enumerate(zip(indices.shape, data.shape, strict=True)):
        if k != axis:
            _expect_within(b, found, given)
    return tuple(0 if k == axis else same(k) for k in range(rank))


def _expect_within(b: Building, found: Number, given: Number) -> None:
    if isinstance(found, int) and isinstance(given, int):
        if found > given:
            raise Declined("indices that do not fit")
    elif found is not given:
        b.expect(b.compare("less_equal", found, given))


@lowers("GatherElements", 11, 13)
def gather_elements(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """result[i][j] = x[indices[i][j]][j] for axis 0."""
    data, indices = operands
    places = _along(b, data, indices, attributes["axis"])
    return b.add(Fetch(places), data.dtype, indices.shape, data, indices)


@lowers("Scatter", 9, 11)
@lowers("ScatterElements", 11, 13, 16, 18)
def scatter_elements(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """X with result[indices[i][j]][j] = updates[i][j] for axis 0."""
    data, indices, updates = operands
    places = _along(b, data, indices, attributes["axis"])
    b.expect_shape(updates.shape, indices.shape, "updates that do not fit")
    return put(b, attributes.get("reduction", "none"), places, data, updates, [indices])


def put(
    b: Building, reduction: str, places: Places, data: Node, updates: Node, indices: Sequence[Node]
) -> Node:
    """Operand 0 with the updates put in."""
    if data.dtype != updates.dtype:
        raise Declined("updates of another dtype")
    function = "" if reduction == "none" else reduction
    return b.add(Put(function, places), data.dtype, data.shape, data, updates, *indices)


def _columns(b: Building, data: Node, indices: Node, batch: int) -> tuple[Places, list[Node]]:
    """The places of GatherND: what each number of an index tuple says, and the slice it names."""
    given, (*around, count) = data.shape, indices.shape
    if not isinstance(count, int) or indices.dtype not in _WHOLE:
        raise Declined("indices that do not fit")
    rest = len(given) - batch - count
    if rest < 0:
        raise Declined("indices that do not fit")
    b.expect_shape(tuple(around[:batch]), given[:batch], "indices that do not fit")
    shape = (*around, *(1,) * rest)
    own = [same(k) for k in range(len(around))]
    columns = [b.view(indices, shape, (*own, Axis(k))) for k in range(count)]
    behind = [same(len(around) + k) for k in range(rest)]
    return (*map(same, range(batch)), *range(count), *behind), columns


@lowers("GatherND", 11, 12, 13)
def gather_nd(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """Slices of x at index tuples, batch by batch."""
    data, indices = operands
    batch = attributes.get("batch_dims") or 0
    places, columns = _columns(b, data, indices, batch)
    *around, count = indices.shape
    assert isinstance(count, int)
    shape = (*around, *data.shape[batch + count :])
    return b.add(Fetch(places), data.dtype, shape, data, *columns)


@lowers("ScatterND", 11, 13, 16, 18)
def scatter_nd(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """X with slices at index tuples replaced."""
    data, indices, updates = operands
    places, columns = _columns(b, data, indices, 0)
    *around, count = indices.shape
    assert isinstance(count, int)
    b.expect_shape(updates.shape, (*around, *data.shape[count:]), "updates that do not fit")
    return put(b, attributes.get("reduction", "none"), places, data, updates, columns)


@lowers("ReverseSequence", 10, 28)
def reverse_sequence(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """The first lengths[b] time steps of batch b backwards, the rest as they are."""
    x, lengths = operands
    given, rank = x.shape, len(x.shape)
    batch, time = (positive(attributes[name], rank) for name in ("batch_axis", "time_axis"))
    ends = b.reshape(lengths, [given[k] if k == batch else 1 for k in range(rank)])
    now = steps(b, rank, time, given[time])
    turned = b.map("sub", b.map("sub", ends, b.scalar(1, DType.INT64)), now)
    is_turned = b.map("less", now, ends, dtype=DType.BOOL)
    index = b.map("where", is_turned, turned, now, dtype=DType.INT64)
    places = tuple(0 if k == time else same(k) for k in range(rank))
    return b.add(Fetch(places), x.dtype, given, x, index)

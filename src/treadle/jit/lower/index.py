"""Reading and writing by index. What an index from data says is checked when the kernel runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle.ir import DType
from treadle.jit.building import Building, Declined, extents_of
from treadle.jit.kernel_ir import Axis, Constant, Fetch, Node, Pick, Places, Put
from treadle.jit.lower.registry import lowers

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


@lowers("Gather", 1, 11, 13)
def gather(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """np.take(data, indices, axis)."""
    data, indices = operands
    given = extents_of(data)
    axis = attributes["axis"] % max(len(given), 1)
    if not given or indices.dtype not in _WHOLE:
        raise Declined("a Gather that does not fit")
    shape = (*given[:axis], *extents_of(indices), *given[axis + 1 :])
    if isinstance(indices.op, Constant) and indices.size == 1:
        return _at(b, data, axis, int(indices.op.array.item()), shape)
    return b.add(Pick(axis), data.dtype, shape, data, indices)


def _at(b: Building, data: Node, axis: int, index: int, shape: Sequence[int]) -> Node:
    given = extents_of(data)
    if not -given[axis] <= index < given[axis]:
        raise Declined("a Gather out of range")
    shift = len(shape) - len(given)
    axes = [
        Axis(index % given[axis]) if k == axis else Axis(0, ((k if k < axis else k + shift, 1),))
        for k in range(len(given))
    ]
    return b.view(data, shape, axes)


def _along(data: Node, indices: Node, axis: int) -> Places:
    """The places of GatherElements: the index along one axis, its own place along the others."""
    rank = len(data.shape)
    axis = positive(axis, rank)
    fits = all(
        k == axis or found <= given
        for k, (found, given) in enumerate(zip(extents_of(indices), extents_of(data), strict=False))
    )
    if not rank or len(indices.shape) != rank or not fits or indices.dtype not in _WHOLE:
        raise Declined("indices that do not fit")
    return tuple(0 if k == axis else same(k) for k in range(rank))


@lowers("GatherElements", 11, 13)
def gather_elements(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """result[i][j] = x[indices[i][j]][j] for axis 0."""
    data, indices = operands
    places = _along(data, indices, attributes["axis"])
    return b.add(Fetch(places), data.dtype, extents_of(indices), data, indices)


@lowers("Scatter", 9, 11)
@lowers("ScatterElements", 11, 13, 16, 18)
def scatter_elements(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """X with result[indices[i][j]][j] = updates[i][j] for axis 0."""
    data, indices, updates = operands
    places = _along(data, indices, attributes["axis"])
    if extents_of(updates) != extents_of(indices):
        raise Declined("updates that do not fit")
    return put(b, attributes.get("reduction", "none"), places, data, updates, [indices])


def put(
    b: Building, reduction: str, places: Places, data: Node, updates: Node, indices: Sequence[Node]
) -> Node:
    """Operand 0 with the updates put in."""
    if data.dtype != updates.dtype:
        raise Declined("updates of another dtype")
    function = "" if reduction == "none" else reduction
    return b.add(Put(function, places), data.dtype, extents_of(data), data, updates, *indices)


def _columns(b: Building, data: Node, indices: Node, batch: int) -> tuple[Places, list[Node]]:
    """The places of GatherND: what each number of an index tuple says, and the slice it names."""
    given, (*around, count) = extents_of(data), extents_of(indices)
    rest = len(given) - batch - count
    if rest < 0 or indices.dtype not in _WHOLE or tuple(around[:batch]) != given[:batch]:
        raise Declined("indices that do not fit")
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
    *around, count = extents_of(indices)
    shape = (*around, *extents_of(data)[batch + count :])
    return b.add(Fetch(places), data.dtype, shape, data, *columns)


@lowers("ScatterND", 11, 13, 16, 18)
def scatter_nd(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """X with slices at index tuples replaced."""
    data, indices, updates = operands
    places, columns = _columns(b, data, indices, 0)
    *around, count = extents_of(indices)
    if extents_of(updates) != (*around, *extents_of(data)[count:]):
        raise Declined("updates that do not fit")
    return put(b, attributes.get("reduction", "none"), places, data, updates, columns)


@lowers("ReverseSequence", 10, 28)
def reverse_sequence(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """The first lengths[b] time steps of batch b backwards, the rest as they are."""
    x, lengths = operands
    given, rank = extents_of(x), len(x.shape)
    batch, time = (positive(attributes[name], rank) for name in ("batch_axis", "time_axis"))
    ends = b.reshape(lengths, [given[k] if k == batch else 1 for k in range(rank)])
    steps = np.arange(given[time], dtype=np.int64)
    now = b.constant(steps.reshape([-1 if k == time else 1 for k in range(rank)]))
    turned = b.map("sub", b.map("sub", ends, b.scalar(1, DType.INT64)), now)
    is_turned = b.map("less", now, ends, dtype=DType.BOOL)
    index = b.map("where", is_turned, turned, now, dtype=DType.INT64)
    places = tuple(0 if k == time else same(k) for k in range(rank))
    return b.add(Fetch(places), x.dtype, given, x, index)

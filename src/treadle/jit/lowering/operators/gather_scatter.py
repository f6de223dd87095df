"""Reading and writing by index; computed indices are checked at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import (
    Axis,
    Concat,
    Constant,
    Gather,
    IndexTuple,
    Iota,
    Node,
    Number,
    Scatter,
    Shape,
    SymbolicDim,
    Take,
    show_node,
)
from treadle.jit.kernel.views import same
from treadle.jit.lowering.operators.axes import nonnegative_axes, nonnegative_axis
from treadle.jit.lowering.registry import Attributes, Operands, lowers

_MOST_RUNS = 8
"""Runs of constant indices that are as many views."""
_ML = "ai.onnx.ml"
_WHOLE = (DType.INT64, DType.INT32)


def steps(builder: KernelBuilder, rank: int, axis: int, extent: Number) -> Node:
    """The numbers 0, 1, ... along an axis."""
    if isinstance(extent, int):
        numbers = builder.constant(np.arange(extent, dtype=np.int64))
    else:
        numbers = builder.add(Iota(), DType.INT64, (extent,))
    return builder.reshape(numbers, [extent if k == axis else 1 for k in range(rank)])


@lowers("Gather", 1, 11, 13)
def gather(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """np.take(data, indices, axis)."""
    data, indices = operands
    axis = nonnegative_axis(attributes["axis"], len(data.shape))
    if not data.shape or indices.dtype not in _WHOLE:
        raise Declined(
            f"data {show_node(data)} and indices {show_node(indices)}: an axis and int32 or int64"
            " indices are needed"
        )
    return picked(builder, data, indices, axis)


@lowers("ArrayFeatureExtractor", 1, domain=_ML)
def array_feature_extractor(
    builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node:
    """x[..., indices.ravel()]; a vector becomes a row of a table."""
    data, indices = operands
    if not data.shape or indices.dtype not in _WHOLE:
        raise Declined(f"data {show_node(data)} and indices {show_node(indices)}")
    places = builder.reshape(indices, (builder.product(indices.shape),))
    found = picked(builder, data, places, len(data.shape) - 1)
    return found if len(found.shape) > 1 else builder.reshape(found, (1, *found.shape))


def picked(builder: KernelBuilder, data: Node, indices: Node, axis: int) -> Node:
    """np.take(data, indices, axis): views where constant indices run in even steps."""
    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    if isinstance(indices.op, Constant) and indices.size == 1:
        return _at(builder, data, axis, int(indices.op.array.item()), shape)
    if isinstance(indices.op, Constant) and len(indices.shape) == 1:
        runs = _runs(indices.op.array, data.shape[axis])
        if runs:
            views = [_run(builder, data, axis, *each) for each in runs]
            joined = len(views) > 1
            return builder.add(Concat(axis), data.dtype, shape, *views) if joined else views[0]
    return builder.add(Take(axis), data.dtype, shape, data, indices)


def _runs(indices: np.ndarray, extent: Number) -> list[tuple[int, int, int]]:
    """The first index, the step and the length of few runs of even steps; [] if there are more.

    A roll has two runs, a reversed axis one, every second item one.
    """
    if not isinstance(extent, int) or not indices.size:
        return []
    if indices.min() < -extent or indices.max() >= extent:
        return []
    rest, found = np.where(indices < 0, indices + extent, indices), list[tuple[int, int, int]]()
    while rest.size and len(found) <= _MOST_RUNS:
        step = int(rest[1] - rest[0]) if rest.size > 1 else 0
        uneven = np.flatnonzero(np.diff(rest) != step)
        length = int(uneven[0]) + 1 if uneven.size else rest.size
        length = 1 if length == 2 and abs(step) > 1 else length
        found.append((int(rest[0]), step, length))
        rest = rest[length:]
    return found if len(found) <= _MOST_RUNS else []


def _run(builder: KernelBuilder, data: Node, axis: int, first: int, step: int, length: int) -> Node:
    axes = [same(k) for k in range(len(data.shape))]
    axes[axis] = Axis(first, ((axis, step),) if step and length > 1 else ())
    return builder.view(data, (*data.shape[:axis], length, *data.shape[axis + 1 :]), axes)


def _at(builder: KernelBuilder, data: Node, axis: int, index: int, shape: Shape) -> Node:
    given = data.shape[axis]
    least = -index if index < 0 else index + 1
    if isinstance(given, int) and given < least:
        raise Declined(f"index {index} of an axis of {given} items")
    if isinstance(given, SymbolicDim):
        builder.expect(builder.compare("greater_equal", given, least))
    shift = len(shape) - len(data.shape)
    axes = [Axis(0, ((k if k < axis else k + shift, 1),)) for k in range(len(data.shape))]
    axes[axis] = Axis(builder.minus(given, -index) if index < 0 else index)
    return builder.view(data, shape, axes)


def _along(builder: KernelBuilder, data: Node, indices: Node, axis: int) -> IndexTuple:
    """The positions of GatherElements: the index along one axis, its own one along the others."""
    rank = len(data.shape)
    axis = nonnegative_axis(axis, rank)
    if not rank or len(indices.shape) != rank or indices.dtype not in _WHOLE:
        raise Declined(
            f"indices {show_node(indices)} of data {show_node(data)}: equal ranks"
            " and int32 or int64 indices are needed"
        )
    for k, (found, given) in enumerate(zip(indices.shape, data.shape, strict=True)):
        if k != axis:
            _expect_within(builder, found, given)
    return tuple(0 if k == axis else same(k) for k in range(rank))


def _expect_within(builder: KernelBuilder, found: Number, given: Number) -> None:
    if isinstance(found, int) and isinstance(given, int):
        if found > given:
            raise Declined(f"an index tensor of extent {found} over data of extent {given}")
    elif found is not given:
        builder.expect(builder.compare("less_equal", found, given))


@lowers("GatherElements", 11, 13)
def gather_elements(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """result[i][j] = x[indices[i][j]][j] for axis 0."""
    data, indices = operands
    places = _along(builder, data, indices, attributes["axis"])
    return builder.add(Gather(places), data.dtype, indices.shape, data, indices)


@lowers("Scatter", 9, 11)
@lowers("ScatterElements", 11, 13, 16, 18)
def scatter_elements(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """X with result[indices[i][j]][j] = updates[i][j] for axis 0."""
    data, indices, updates = operands
    places = _along(builder, data, indices, attributes["axis"])
    builder.expect_shape(
        updates.shape, indices.shape, "updates that have another shape than the indices name"
    )
    return scatter(builder, attributes.get("reduction", "none"), places, data, updates, [indices])


def scatter(
    builder: KernelBuilder,
    reduction: str,
    places: IndexTuple,
    data: Node,
    updates: Node,
    indices: Sequence[Node],
) -> Node:
    """Operand 0 with the updates written to it."""
    if data.dtype != updates.dtype:
        raise Declined(f"updates of {updates.dtype} into data of {data.dtype}: one dtype is needed")
    function = "" if reduction == "none" else reduction
    return builder.add(Scatter(function, places), data.dtype, data.shape, data, updates, *indices)


def _columns(
    builder: KernelBuilder, data: Node, indices: Node, batch: int
) -> tuple[IndexTuple, list[Node]]:
    """The positions of GatherND: the numbers of an index tuple, and the slice they select."""
    given, (*around, count) = data.shape, indices.shape
    if not isinstance(count, int) or indices.dtype not in _WHOLE:
        raise Declined(
            f"indices {show_node(indices)}: a static last extent and int32 or int64 are needed"
        )
    rest = len(given) - batch - count
    if rest < 0:
        raise Declined(f"index tuples of {count} numbers for data of rank {len(given) - batch}")
    builder.expect_shape(
        tuple(around[:batch]), given[:batch], "indices whose batch extents differ from the data's"
    )
    shape = (*around, *(1,) * rest)
    own = [same(k) for k in range(len(around))]
    columns = [builder.view(indices, shape, (*own, Axis(k))) for k in range(count)]
    behind = [same(len(around) + k) for k in range(rest)]
    return (*map(same, range(batch)), *range(count), *behind), columns


@lowers("GatherND", 11, 12, 13)
def gather_nd(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Slices of x at index tuples, batch by batch."""
    data, indices = operands
    batch = attributes.get("batch_dims") or 0
    if not batch and indices.shape[-1:] == (1,) and data.shape and indices.dtype in _WHOLE:
        return picked(builder, data, builder.reshape(indices, indices.shape[:-1]), 0)
    places, columns = _columns(builder, data, indices, batch)
    *around, count = indices.shape
    assert isinstance(count, int)
    shape = (*around, *data.shape[batch + count :])
    return builder.add(Gather(places), data.dtype, shape, data, *columns)


@lowers("ScatterND", 11, 13, 16, 18)
def scatter_nd(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """X with slices at index tuples replaced."""
    data, indices, updates = operands
    places, columns = _columns(builder, data, indices, 0)
    *around, count = indices.shape
    assert isinstance(count, int)
    builder.expect_shape(
        updates.shape,
        (*around, *data.shape[count:]),
        "updates that have another shape than the indices name",
    )
    return scatter(builder, attributes.get("reduction", "none"), places, data, updates, columns)


@lowers("ReverseSequence", 10, 28)
def reverse_sequence(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Reverse the first lengths[b] time steps of batch b; a length below 0 gives no position."""
    x, lengths = operands
    given, rank = x.shape, len(x.shape)
    batch, time = nonnegative_axes((attributes["batch_axis"], attributes["time_axis"]), rank)
    builder.expect_shape(lengths.shape, (given[batch],), "lengths of another number than batches")
    builder.expect(builder.compare("less_equal", 1, given[time]), is_of_shapes=True)
    ends = builder.reshape(lengths, [given[k] if k == batch else 1 for k in range(rank)])
    now = steps(builder, rank, time, given[time])
    turned = builder.map("sub", builder.map("sub", ends, builder.scalar(1, DType.INT64)), now)
    is_turned = builder.map("less", now, ends)
    is_wrong = builder.map("less", ends, builder.scalar(0, DType.INT64))
    index = builder.map("where", is_wrong, turned, builder.map("where", is_turned, turned, now))
    places = tuple(0 if k == time else same(k) for k in range(rank))
    return builder.add(Gather(places), x.dtype, given, x, index)

"""Adapters for Gather and Scatter of elements: by positions in the flattened tensor."""

from __future__ import annotations

import numpy as np

from treadle import ops
from treadle.ir import (
    Block,
    BlockBuilder,
    Carried,
    DType,
    Invariant,
    Iteration,
    Leaf,
    Role,
    Value,
    attribute,
)
from treadle.passes.versions.adapters.steps import first, having, operand
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down

_COMBINE = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


def _three(step: Leaf) -> tuple[Value, Value, Value]:
    data, indices, updates = step.operands
    if data is None or indices is None or updates is None:
        raise NoForm("an operand is absent")
    return data, indices, updates


def coordinates(at: Rewriter, shape: Value, rank: int) -> Value:
    """The coordinates of every element of this shape, int64[rank, count], in order."""
    if rank == 0:
        raise NoForm("a scalar has no coordinates")
    return at.op("NonZero", at.op("ConstantOfShape", shape, value=np.ones(1, np.int64)))


def _strides(at: Rewriter, x: Value, count: int) -> list[Value]:
    """The strides of the first `count` axes, each int64[1]."""
    strides = [at.ints(1)]
    for axis in range(count - 1, 0, -1):
        strides.insert(0, at.op("Mul", strides[0], at.extent(x, axis)))
    return strides


def _places(at: Rewriter, x: Value, rows: list[Value]) -> Value:
    """Positions in the flattened first axes of x; each row has the coordinates of one axis."""
    total: Value | None = None
    for axis, (row, stride) in enumerate(zip(rows, _strides(at, x, len(rows)), strict=True)):
        extent = at.extent(x, axis)
        below = at.op("Less", row, at.ints(0))
        row = at.op("Where", below, at.op("Add", row, extent), row)
        part = at.op("Mul", row, stride)
        total = part if total is None else at.op("Add", total, part)
    assert total is not None
    return total


@down("GatherElements", 11)
def gather_flat(at: Rewriter, step: Leaf) -> Adapted:
    """Gather from the flattened operand."""
    x, indices = first(step), operand(step, 1)
    assert indices is not None
    if at.shape(x) is None:
        return _gather_of_any_rank(at, step, x, indices)
    rank = at.rank(x)
    axis = at.attributes(step)["axis"] % rank
    shape = at.shape_of(indices)
    where = coordinates(at, shape, rank)
    rows = [at.op("Gather", where, at.ints(k), axis=0) for k in range(rank)]
    rows = [at.reshape(row, -1) for row in rows]
    rows[axis] = at.reshape(at.cast(indices, DType.INT64), -1)
    places = _places(at, x, rows)
    return at.op("Reshape", at.op("Gather", at.reshape(x, -1), places, axis=0), shape)


def _gather_of_any_rank(at: Rewriter, step: Leaf, x: Value, indices: Value) -> Value:
    """The same with the coordinates of all axes in one tensor, int64[rank, count]."""
    axis, extents, shape = at.attributes(step)["axis"], at.op("Shape", x), at.op("Shape", indices)
    rank = at.op("Shape", extents)
    along = at.ints(axis) if axis >= 0 else at.op("Add", rank, at.ints(axis))
    number = at.reshape(coordinates(at, rank, 1), -1)
    flat = at.unsqueeze(at.reshape(at.cast(indices, DType.INT64), -1), 0)
    extent = at.op("Gather", extents, along, axis=0)
    flat = at.op("Where", at.op("Less", flat, at.ints(0)), at.op("Add", flat, extent), flat)
    is_axis = at.unsqueeze(at.op("Equal", number, along), 1)
    where = at.op("NonZero", at.op("ConstantOfShape", shape, value=np.ones(1, np.int64)))
    where = at.op("Where", is_axis, flat, where)
    is_behind = at.op("Less", at.unsqueeze(number, 1), number)
    strides = at.op("Where", is_behind, extents, at.ints(1))
    strides = at.reduce("ReduceProd", strides, [1])
    places = at.reduce("ReduceSum", at.op("Mul", where, strides), [0], keepdims=False)
    return at.op("Reshape", at.op("Gather", at.reshape(x, -1), places, axis=0), shape)


@down("GatherND", 12)
def gather_in_batches(at: Rewriter, step: Leaf) -> Adapted:
    """Turn batches into entries of the indices."""
    x, indices = first(step), operand(step, 1)
    batches = at.attributes(step)["batch_dims"]
    if not batches:
        return having(step, batch_dims=None)
    assert indices is not None
    rank = at.rank(indices)
    shape = at.shape_of(indices)
    kept = at.concat(at.slice(shape, 0, rank - 1, 0), at.ints(1))
    where = coordinates(at, kept, rank)
    rows = at.op("Transpose", at.slice(where, 0, batches, 0), perm=[1, 0])
    each = at.slice(shape, 0, rank - 1, 0)
    batch = at.op("Reshape", rows, at.concat(each, at.ints(batches)))
    return at.op("GatherND", x, at.concat(batch, indices, axis=rank - 1))


@down("GatherND", 11)
def gather_rows(at: Rewriter, step: Leaf) -> Adapted:
    """Gather rows of the operand with its first axes flattened."""
    x, indices = first(step), operand(step, 1)
    assert indices is not None
    count = at.dim(indices, -1)
    if not isinstance(count, int):
        raise NoForm("how many axes GatherND looks up is not known", "fix the last extent")
    places = _row_places(at, x, indices, count)
    is_deeper = at.shape(x) is None or at.rank(x) > count
    rest = at.slice(at.shape_of(x), count, 2**31, 0) if is_deeper else None
    flat = at.op("Reshape", x, at.concat(at.ints(-1), *([rest] if rest else [])))
    return at.op("Gather", flat, places, axis=0)


def _row_places(at: Rewriter, x: Value, indices: Value, count: int) -> Value:
    """The positions of the rows that the last axis of the indices names."""
    last = at.rank(indices) - 1
    rows = [at.op("Gather", indices, at.const(np.array(k)), axis=last) for k in range(count)]
    return _places(at, x, rows)


@down("ScatterElements", 11)
def renamed(at: Rewriter, step: Leaf) -> Adapted:
    """Rename to Scatter, which lacks negative indices and axes."""
    data, indices, updates = _three(step)
    rank = at.rank(data)
    axis = at.attributes(step)["axis"] % rank
    array = at.array(indices)
    if array is None or (array < 0).any():
        zero = at.scalar_like(indices, 0)
        extent = at.cast(at.extent(data, axis), at.dtype(indices))
        below = at.op("Less", indices, zero)
        indices = at.op("Where", below, at.op("Add", indices, extent), indices)
    return at.op("Scatter", data, indices, updates, axis=axis)


@down("ScatterND", 11)
def scatter_rows(at: Rewriter, step: Leaf) -> Adapted:
    """ScatterElements of rows of the operand with its first axes flattened."""
    data, indices, updates = _three(step)
    count = at.dim(indices, -1)
    if not isinstance(count, int):
        raise NoForm("how many axes ScatterND looks up is not known", "fix the last extent")
    places = at.reshape(_row_places(at, data, indices, count), -1, 1)
    rows = at.reshape(data, *_flat_rows(at, data, count))
    new = at.reshape(updates, *_flat_rows(at, updates, at.rank(indices) - 1))
    wide = at.op("Expand", places, at.op("Shape", new))
    made = at.op("Scatter", rows, wide, new, axis=0)
    return at.op("Reshape", made, at.shape_of(data))


def _flat_rows(at: Rewriter, x: Value, count: int) -> tuple[Value, Value]:
    shape, known = at.shape_of(x), at.shape(x)

    def product(start: int, end: int) -> Value:
        if start >= end:
            return at.ints(1)
        extents = at.slice(shape, start, end, 0)
        if known is None:  # there may be none
            extents = at.concat(at.ints(1), extents)
        return at.reduce("ReduceProd", extents, [0])

    return product(0, count), product(count, 2**31 if known is None else len(known))


@down("ScatterND", 18)
@down("ScatterElements", 18)
def no_extremes(at: Rewriter, step: Leaf) -> Adapted:
    """Raise NoForm for the reductions max and min, which version 18 added."""
    if at.attributes(step)["reduction"] in ("max", "min"):
        return _one_by_one(at, step)
    return step


@down("ScatterND", 16)
@down("ScatterElements", 16)
def no_reduction(at: Rewriter, step: Leaf) -> Adapted:
    """Apply the updates one after the other."""
    if at.attributes(step)["reduction"] == "none":
        return having(step, reduction=None)
    return _one_by_one(at, step)


def _one_by_one(at: Rewriter, step: Leaf) -> Value:
    """A Loop that combines one update at a time with the element at its position."""
    data, indices, updates = _three(step)
    op = _COMBINE[at.attributes(step)["reduction"]]
    if step.op == "ScatterElements":
        indices = _full_indices(at, step, data, indices)
        updates = at.reshape(updates, -1)
    else:
        count = at.dim(indices, -1)
        if not isinstance(count, int):
            raise NoForm("how many axes ScatterND looks up is not known", "fix the last extent")
        before = at.rank(indices) - 1
        rest = (
            at.slice(at.shape_of(updates), before, 2**31, 0) if at.rank(updates) > before else None
        )
        indices = at.reshape(indices, -1, count)
        updates = at.op("Reshape", updates, at.concat(at.ints(-1), *([rest] if rest else [])))
    trip = at.squeeze(at.extent(indices, 0), 0)
    return at.loop(trip, *_update(at, op, data, indices, updates))[0]


def _full_indices(at: Rewriter, step: Leaf, data: Value, indices: Value) -> Value:
    """The indices of ScatterElements as those of ScatterND, int64[count, rank]."""
    rank = at.rank(data)
    axis = at.attributes(step)["axis"] % rank
    where = coordinates(at, at.shape_of(indices), rank)
    rows = [at.reshape(at.op("Gather", where, at.ints(k), axis=0), -1, 1) for k in range(rank)]
    rows[axis] = at.reshape(at.cast(indices, DType.INT64), -1, 1)
    return at.concat(*rows, axis=1)


def _update(
    at: Rewriter, op: str, data: Value, indices: Value, updates: Value
) -> tuple[Block, tuple[Role, ...], tuple[Value, ...]]:
    inner = BlockBuilder("update")

    def fresh(hint: str) -> str:
        return at.names.fresh(f"{at.prefix}/{hint}")

    def leaf(name: str, *operands: Value, **attributes: object) -> Value:
        version = ops.since_version("", name, at.opset) or 1
        named = {key: attribute(key, each) for key, each in attributes.items()}
        return inner.leaf(name, version, *operands, result=fresh(name.lower()), attributes=named)

    i = inner.param(fresh("iteration"))
    old = inner.param(fresh(data.name))
    every, given = inner.param(fresh(indices.name)), inner.param(fresh(updates.name))
    one = inner.constant(np.array([1]), fresh("one"))
    row = leaf("Reshape", i, one)
    index = leaf("Gather", every, row, axis=0)
    update = leaf("Gather", given, row, axis=0)
    combined = leaf(op, leaf("GatherND", old, index), update)
    new = leaf("ScatterND", old, index, combined)
    body = inner.build(None, new)
    roles: tuple[Role, ...] = (Iteration(), Carried(), Invariant(), Invariant())
    return body, roles, (data, indices, updates)

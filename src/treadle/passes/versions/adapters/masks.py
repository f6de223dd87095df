"""Adapters for operators that compare positions: Trilu, TensorScatter, ReverseSequence."""

from __future__ import annotations

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.places import coordinates
from treadle.passes.versions.adapters.steps import first, operand
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down


def places(at: Rewriter, extent: Value) -> Value:
    """The positions 0, 1, 2 ... below an extent, which is int64[1]."""
    known = at.array(extent)
    if known is not None:
        return at.const(np.arange(int(known.item())))
    return at.reshape(coordinates(at, extent, 1), -1)


@down("Range", 11)
def counted(at: Rewriter, step: Leaf) -> Adapted:
    """Range: start + k * delta for each k below the count."""
    start, limit, delta = (at.reshape(value, 1) for value in step.operands if value is not None)
    dtype = at.dtype(start)
    wide = [at.cast(value, DType.FLOAT64) for value in (limit, start, delta)]
    exact = at.op("Div", at.op("Sub", wide[0], wide[1]), wide[2])
    if dtype is DType.INT64:
        exact = _quotient(at, limit, start, delta)
    count = at.cast(at.op("Ceil", exact), DType.INT64)
    count = at.op("Where", at.op("Less", count, at.ints(0)), at.ints(0), count)
    steps = at.cast(places(at, count), dtype)
    return at.op("Add", start, at.op("Mul", steps, delta))


def _quotient(at: Rewriter, limit: Value, start: Value, delta: Value) -> Value:
    """(limit - start) / delta as float64; only the part above an integer matters."""
    way = at.op("Sub", limit, start)
    whole = at.op("Div", way, delta)
    rest = at.op("Sub", way, at.op("Mul", whole, delta))
    return at.op(
        "Add",
        at.cast(whole, DType.FLOAT64),
        at.op("Div", at.cast(rest, DType.FLOAT64), at.cast(delta, DType.FLOAT64)),
    )


@down("Trilu", 14)
def triangle(at: Rewriter, step: Leaf) -> Adapted:
    """Keep elements whose column is not below (upper) or not above (lower) the row plus k."""
    x, k = first(step), operand(step, 1)
    dtype, rank = at.dtype(x), at.rank(x)
    rows = at.unsqueeze(places(at, at.extent(x, rank - 2)), 1)
    columns = places(at, at.extent(x, rank - 1))
    edge = at.op("Add", rows, at.reshape(k, 1)) if k is not None else rows
    upper = at.attributes(step)["upper"]
    outside = at.op("Less", columns, edge) if upper else at.op("Greater", columns, edge)
    if dtype is DType.BOOL:
        return at.op("And", at.op("Not", outside), x)
    return at.op("Where", outside, at.scalar_like(x, 0), x)


@down("ReverseSequence", 10)
def reversed_places(at: Rewriter, step: Leaf) -> Adapted:
    """Gather the items of each batch, the first ones in reverse."""
    x, lengths, given = first(step), operand(step, 1), at.attributes(step)
    time, batch, rank = given["time_axis"], given["batch_axis"], at.rank(x)
    if lengths is None or {time, batch} != {0, 1}:
        raise NoForm("the axes of ReverseSequence are not the first two")
    steps = at.unsqueeze(places(at, at.extent(x, time)), 1)
    limits = at.unsqueeze(lengths, 0)
    back = at.op("Sub", at.op("Sub", limits, steps), at.ints(1))
    taken = at.op("Where", at.op("Less", steps, limits), back, steps)
    which = places(at, at.extent(x, batch))
    width = at.extent(x, 1)
    if time == 0:
        flat = at.op("Add", at.op("Mul", taken, width), at.unsqueeze(which, 0))
    else:
        taken = at.op("Transpose", taken, perm=[1, 0])
        flat = at.op("Add", at.op("Mul", at.unsqueeze(which, 1), width), taken)
    rest = [at.slice(at.shape_of(x), 2, 2**31, 0)] if rank > 2 else []
    rows = at.op("Reshape", x, at.concat(at.ints(-1), *rest))
    return at.op("Gather", rows, flat, axis=0)


@down("TensorScatter", 24)
def written_rows(at: Rewriter, step: Leaf) -> Adapted:
    """ScatterElements along the axis, at positions that start at each batch's index."""
    cache, update, starts = first(step), operand(step, 1), operand(step, 2)
    assert update is not None
    given, rank = at.attributes(step), at.rank(cache)
    axis = given["axis"] % rank
    count = at.extent(update, axis)
    where = at.unsqueeze(places(at, count), *range(1, rank - axis))
    where = at.unsqueeze(where, *range(axis))
    if starts is not None:
        where = at.op("Add", where, at.unsqueeze(starts, *range(1, rank)))
    if given["mode"] == "circular":
        extent = at.extent(cache, axis)
        where = at.op("Mod", where, extent)
    wide = at.op("Expand", where, at.shape_of(update))
    return at.op("ScatterElements", cache, wide, update, axis=axis)


@down("BitCast", 26)
def same_width(at: Rewriter, step: Leaf) -> Adapted:
    """A Cast between integers of one width, or bools and bytes, keeps the bits."""
    x = first(step)
    old, new = at.dtype(x), at.dtype(step.results[0])
    if old is new:
        return at.op("Identity", x)
    if not {old.numpy.kind, new.numpy.kind} <= {"b", "i", "u"}:
        narrow = next((each for each in (old, new) if each.numpy.kind not in "biu"), old)
        raise NoForm(f"no older operator keeps the bits of a NaN of {narrow}")
    return at.cast(x, new)

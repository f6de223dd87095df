"""Det before opset 11, and MelWeightMatrix before opset 17: their arithmetic, written out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.repeat import Turn, repeated
from treadle.passes.versions.adapters.steps import first, float_for
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down

_SCALE, _CORNER = 2595.0, 700.0
"""A frequency of f Hz is 2595 * log10(1 + f / 700) mel."""


@down("Det", 11)
def eliminated(at: Rewriter, step: Leaf) -> Adapted:
    """The product of the pivots of Gaussian elimination, a column in each iteration of a loop.

    A pivot is the greatest number of its column in the rows not used; rows stay where they are, and
    the sign changes for every row before it that is not used yet.
    """
    x = first(step)
    dtype, rank = at.dtype(x), at.rank(x)
    if rank < 2:
        raise NoForm("its operand is no matrix")
    wide = float_for(dtype)
    last, size = rank - 1, at.extent(x, rank - 1)
    numbers = places(at, size)
    one, zero = at.const(1.0, wide), at.const(0.0, wide)

    def eliminate(inner: Rewriter, k: Value, carried: Sequence[Value]) -> Turn:
        rows, free, product = carried
        column = inner.op("Gather", rows, k, axis=last)
        pivot, is_pivot, parity = _pivot(inner, column, free, numbers)
        left = inner.op("And", free, inner.op("Not", is_pivot))
        chosen = inner.op("Where", inner.unsqueeze(is_pivot, last), rows, zero)
        row = inner.reduce("ReduceSum", chosen, [last - 1])
        is_large = inner.op("Greater", inner.op("Abs", pivot), zero)
        factor = inner.op("Div", column, inner.op("Where", is_large, pivot, one))
        factor = inner.op("Where", left, factor, zero)
        rows = inner.op("Sub", rows, inner.op("Mul", inner.unsqueeze(factor, last), row))
        product = inner.op("Mul", product, inner.op("Mul", pivot, parity))
        return Turn([rows, left, product])

    shape = at.slice(at.shape_of(x), 0, last, 0)
    outer = [at.slice(shape, 0, rank - 2, 0)] if rank > 2 else []
    free = at.op("ConstantOfShape", shape, value=np.ones(1, np.bool_))
    units = at.op("ConstantOfShape", at.concat(*outer, at.ints(1)), value=np.ones(1, wide.numpy))
    trip, start = at.squeeze(size, 0), [at.cast(x, wide), free, units]
    return at.cast(at.squeeze(repeated(at, trip, start, eliminate)[2], rank - 2), dtype)


def _pivot(at: Rewriter, column: Value, free: Value, numbers: Value) -> tuple[Value, Value, Value]:
    """The pivot of each matrix, [..., 1], where it stands, and the sign that its row brings."""
    last = at.rank(free) - 1
    wide = at.dtype(column)
    size = at.op("Where", free, at.op("Abs", column), at.const(-1.0, wide))
    place = at.op("ArgMax", size, axis=last)
    is_pivot = at.op("Equal", numbers, place)
    pivot = at.reduce("ReduceSum", at.op("Where", is_pivot, column, at.const(0.0, wide)), [last])
    passed = at.op("And", free, at.op("Less", numbers, place))
    total = at.cast(at.reduce("ReduceSum", at.cast(passed, DType.FLOAT32), [last]), DType.INT64)
    two = at.const(np.int64(2))
    odd = at.op("Sub", total, at.op("Mul", at.op("Div", total, two), two))
    parity = at.op("Sub", at.ints(1), at.op("Mul", odd, two))
    return pivot, is_pivot, at.cast(parity, wide)


@down("MelWeightMatrix", 17)
def mel_weights(at: Rewriter, step: Leaf) -> Adapted:
    """Triangles over the bins of a spectrum, whose corners are even steps of the mel scale."""
    bands, length, rate, *edges = (_double(at, value) for value in step.operands)
    one, two = at.const(1.0, DType.FLOAT64), at.const(2.0, DType.FLOAT64)
    low, high = (_mel(at, edge) for edge in edges)
    corners = at.op("Add", bands, two)
    width = at.op("Div", at.op("Sub", high, low), corners)
    numbers = at.cast(places(at, at.cast(corners, DType.INT64)), DType.FLOAT64)
    hertz = _hertz(at, at.op("Add", at.op("Mul", numbers, width), low))
    bins = at.op("Floor", at.op("Div", at.op("Mul", at.op("Add", length, one), hertz), rate))
    count = at.op("Add", at.op("Floor", at.op("Div", length, two)), one)
    return at.cast(_triangles(at, bands, bins, count), at.dtype(step.results[0]))


def _triangles(at: Rewriter, bands: Value, bins: Value, count: Value) -> Value:
    """[bins of the spectrum, bands]: a rise from one corner to the next, and a fall behind it."""
    zero, one = at.const(0.0, DType.FLOAT64), at.const(1.0, DType.FLOAT64)
    which = places(at, at.cast(bands, DType.INT64))
    start, peak, end = (
        at.op("Gather", bins, at.op("Add", which, at.ints(k)), axis=0) for k in range(3)
    )
    peak = _below(at, count, peak)
    end = _below(at, at.op("Add", count, one), end)
    every = at.cast(places(at, at.cast(count, DType.INT64)), DType.FLOAT64)
    row = at.unsqueeze(every, 1)
    before, behind = at.op("Less", row, peak), at.op("Less", row, end)
    climb, fall = at.op("Sub", peak, start), at.op("Sub", end, peak)
    has_climb = at.op("Greater", climb, zero)
    rising = at.op("Div", at.op("Sub", row, start), at.op("Where", has_climb, climb, one))
    is_rising = at.op("And", before, at.op("Not", at.op("Less", row, start)))
    falling = at.op("Div", at.op("Sub", end, row),
                    at.op("Where", at.op("Greater", fall, zero), fall, one))  # fmt: skip
    is_peak = at.op("Not", at.op("Or", before, at.op("Greater", row, peak)))
    top = at.op("Where", at.op("Less", climb, zero), zero, one)
    made = at.op("Where", is_peak, top, at.op("Where", behind, falling, zero))
    return at.op("Where", before, at.op("Where", is_rising, rising, zero), made)


def _below(at: Rewriter, count: Value, numbers: Value) -> Value:
    """The numbers; one that is not below the count ends the run."""
    every = at.cast(places(at, at.cast(count, DType.INT64)), DType.FLOAT64)
    return at.op("Gather", every, at.cast(numbers, DType.INT64), axis=0)


def _double(at: Rewriter, value: Value | None) -> Value:
    assert value is not None, "the operator requires all of its operands"
    return at.cast(at.reshape(value, 1), DType.FLOAT64)


def _mel(at: Rewriter, hertz: Value) -> Value:
    ratio = at.op("Div", hertz, at.const(_CORNER, DType.FLOAT64))
    natural = at.op("Log", at.op("Add", at.const(1.0, DType.FLOAT64), ratio))
    return at.op("Mul", natural, at.const(_SCALE / np.log(10), DType.FLOAT64))


def _hertz(at: Rewriter, mel: Value) -> Value:
    power = at.op("Exp", at.op("Mul", mel, at.const(np.log(10) / _SCALE, DType.FLOAT64)))
    above = at.op("Sub", power, at.const(1.0, DType.FLOAT64))
    return at.op("Mul", above, at.const(_CORNER, DType.FLOAT64))

"""Adapters for powers and remainders that older operators do not compute exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle.ir import DType, Value
from treadle.passes.versions.adapters.repeat import Turn, any_of, repeated
from treadle.passes.versions.rewriter import Rewriter

_MOST_DOUBLINGS = 4200
"""More than the quotient of two float64 has bits."""
_BITS_OF_INT64 = 64


def float_remainder(at: Rewriter, x: Value, y: Value) -> Value:
    """The remainder of floats that has the sign of the dividend, exact, as by C's fmod.

    Long division in base 2: the divisor is doubled up to the dividend, then subtracted and halved.

        while 2 * t <= r: t *= 2
        while True: r -= t if t <= r else 0; t /= 2
    """
    dtype = at.dtype(x)
    if dtype not in (DType.FLOAT32, DType.FLOAT64):
        wide = (at.cast(value, DType.FLOAT32) for value in (x, y))
        return at.cast(float_remainder(at, *wide), dtype)
    zero, infinite = at.scalar_like(x, 0), at.scalar_like(x, np.inf)
    size, part = at.op("Abs", x), at.op("Abs", y)
    zeros = at.full_like(at.op("Less", x, y), 0, dtype)
    rest = at.op("Where", at.op("Less", size, infinite), size, zero)
    unit = at.op("Where", at.op("Greater", part, zero), part, at.scalar_like(x, 1))
    rest = _divided(at, at.op("Add", rest, zeros), at.op("Add", unit, zeros))
    # NaN for an infinite or no dividend, and for a divisor of 0 or NaN
    rest = at.op("Add", rest, at.op("Div", at.op("Mul", size, zero), part))
    return at.op("Mul", rest, sign(at, at.op("Div", at.scalar_like(x, 1), x)))


def sign(at: Rewriter, x: Value) -> Value:
    """-1 for negative numbers, else 1; as a factor it gives zeros a sign, which Where may lose."""
    one = at.scalar_like(x, 1)
    return at.op("Where", at.op("Less", x, at.scalar_like(x, 0)), at.op("Neg", one), one)


def _divided(at: Rewriter, rest: Value, unit: Value) -> Value:
    """The remainder of finite numbers, none negative, by positive ones of the same shape."""

    def double(inner: Rewriter, i: Value, carried: Sequence[Value]) -> Turn:
        part, _ = carried
        twice = inner.op("Add", part, part)
        fits = inner.op("Not", inner.op("Greater", twice, rest))
        count = inner.op("Add", i, inner.const(np.int64(1)))
        return Turn([inner.op("Where", fits, twice, part), count], go=any_of(inner, fits))

    def halve(inner: Rewriter, _: Value, carried: Sequence[Value]) -> Turn:
        left, part = carried
        fits = inner.op("Not", inner.op("Greater", part, left))
        left = inner.op("Where", fits, inner.op("Sub", left, part), left)
        half = inner.op("Mul", part, inner.scalar_like(unit, 0.5))
        return Turn([left, inner.op("Where", inner.op("Greater", part, unit), half, part)])

    most, none = at.const(np.int64(_MOST_DOUBLINGS)), at.const(np.int64(0))
    part, trip = repeated(at, most, [unit, none], double)
    return repeated(at, trip, [rest, part], halve)[0]


def whole_power(at: Rewriter, x: Value, y: Value) -> Value:
    """Powers of integers by repeated squaring, in int64, whose low bits are those of any type.

    A negative exponent gives 1 / x**-y without its fraction; the least number if x is 0.
    """
    dtype = at.dtype(x)
    base, exponent = at.cast(x, DType.INT64), y
    if at.dtype(y) is not DType.UINT64:
        exponent = at.cast(y, DType.INT64)
    zero, one = at.const(np.int64(0)), at.const(np.int64(1))
    two = at.scalar_like(exponent, 2)
    zeros = at.full_like(at.op("Less", base, at.cast(exponent, DType.INT64)), 0, DType.INT64)

    def square(inner: Rewriter, _: Value, carried: Sequence[Value]) -> Turn:
        made, factor, left = carried
        half = inner.op("Div", left, two)
        odd = inner.cast(inner.op("Sub", left, inner.op("Mul", half, two)), DType.BOOL)
        made = inner.op("Where", odd, inner.op("Mul", made, factor), made)
        go = any_of(inner, inner.cast(half, DType.BOOL))
        return Turn([made, inner.op("Mul", factor, factor), half], go=go)

    start = [at.op("Add", one, zeros), at.op("Add", base, zeros), exponent]
    power = repeated(at, at.const(np.int64(_BITS_OF_INT64)), start, square)[0]
    if at.dtype(exponent) is DType.UINT64:
        return at.cast(power, dtype)
    is_fraction = at.op("Less", exponent, zero)
    for unit in (1, -1):
        other = at.op("Not", at.op("Equal", base, at.const(np.int64(unit))))
        is_fraction = at.op("And", is_fraction, other)
    infinite = at.const(np.int64(-(2**63) if dtype is DType.INT64 else -(2**31)))
    inverse = at.op("Where", at.op("Equal", base, zero), infinite, zero)
    return at.cast(at.op("Where", is_fraction, inverse, power), dtype)

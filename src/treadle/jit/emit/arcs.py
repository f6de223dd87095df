"""Inverse and hyperbolic functions, erf, powers of a float32: inline, through float64.

float64 has 29 bits more, so formulas that lose a few are still within 0.51 ULP once rounded.

atan     of t in [-0.42, 0.42] by its series, after (a - 1) / (a + 1) or -1 / a
asin     atan(x / sqrt(1 - x^2));  acos  pi / 2 - asin(x)
sinh     (e - 1 / e) / 2, e = exp(|x|), near 0 by its series;  cosh  (e + 1 / e) / 2
asinh    log(|x| + sqrt(x^2 + 1)), and so on
erf      below 1 by a polynomial, else 1 - t * exp(-x^2 + p(t)), t = 2 / (2 + |x|); in float32
erfc     t * p(t) * exp(-x^2), 2 minus that below 0; in float32
pow      exp(y * log |x|), with the sign of an odd whole y
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from treadle.jit.emit.math import constant, exp, fma, log, polynomial
from treadle.jit.emit.types import F32, F64
from treadle.jit.emit.writer import Writer

_SMALL = 2.0**-12
_LAST, _LAST_TAIL = 4.0, 10.5
_ATAN = tuple((-1.0) ** k / (2 * k + 1) for k in range(12))
_SINH = tuple(1 / math.factorial(2 * k + 1) for k in range(6))


def wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of float32 operands, computed in float64 and rounded once."""

    def computed(w: Writer, *operands: Any) -> Any:
        given = [w.builder.fpext(operand, F64) for operand in operands]
        return w.builder.fptrunc(function(w, *given), F32)

    return computed


def _number(value: float) -> Any:
    return constant(F64, value)


def _size(w: Writer, x: Any) -> Any:
    return w.intrinsic("llvm.fabs", F64, x)


def _signed(w: Writer, size: Any, x: Any) -> Any:
    return w.intrinsic("llvm.copysign", F64, size, x)


def _odd(w: Writer, x: Any, coefficients: tuple[float, ...]) -> Any:
    return w.builder.fmul(x, polynomial(w, w.builder.fmul(x, x), coefficients))


def _near_zero(w: Writer, x: Any, size: Any, near: Any, far: Any, limit: float = _SMALL) -> Any:
    """One of two formulas; the far one has no sign yet."""
    b = w.builder
    return b.select(b.fcmp_ordered("<", size, _number(limit)), near, _signed(w, far, x))


def atan_wide(w: Writer, x: Any) -> Any:
    """The arc tangent of a float64, as exact as a float32 wants it."""
    b, a, one = w.builder, _size(w, x), _number(1.0)
    is_large = b.fcmp_ordered(">", a, _number(math.sqrt(2) + 1))
    is_middle = b.fcmp_ordered(">", a, _number(math.sqrt(2) - 1))
    upper = b.select(is_large, _number(-1.0), b.select(is_middle, b.fsub(a, one), a))
    lower = b.select(is_large, a, b.select(is_middle, b.fadd(a, one), one))
    start = b.select(is_large, _number(math.pi / 2),
                     b.select(is_middle, _number(math.pi / 4), _number(0.0)))  # fmt: skip
    found = b.fadd(start, _odd(w, b.fdiv(upper, lower), _ATAN))
    return _signed(w, found, x)


def asin_wide(w: Writer, x: Any) -> Any:
    """The arc sine of a float64, as exact as a float32 wants it."""
    b, one = w.builder, _number(1.0)
    other = w.intrinsic("llvm.sqrt", F64, b.fmul(b.fsub(one, x), b.fadd(one, x)))
    return atan_wide(w, b.fdiv(x, other))


@wide
def acos(w: Writer, x: Any) -> Any:
    """The arc cosine; NaN outside of [-1, 1]."""
    return w.builder.fsub(_number(math.pi / 2), asin_wide(w, x))


@wide
def sinh(w: Writer, x: Any) -> Any:
    """The hyperbolic sine."""
    b, a = w.builder, _size(w, x)
    power = exp(w, a)
    far = b.fmul(_number(0.5), b.fsub(power, b.fdiv(_number(1.0), power)))
    return _near_zero(w, x, a, _odd(w, x, _SINH), far, 0.5)


@wide
def cosh(w: Writer, x: Any) -> Any:
    """The hyperbolic cosine."""
    b = w.builder
    power = exp(w, _size(w, x))
    return b.fmul(_number(0.5), b.fadd(power, b.fdiv(_number(1.0), power)))


@wide
def asinh(w: Writer, x: Any) -> Any:
    """The inverse of the hyperbolic sine."""
    b, a = w.builder, _size(w, x)
    root = w.intrinsic("llvm.sqrt", F64, b.fadd(b.fmul(a, a), _number(1.0)))
    return _near_zero(w, x, a, _odd(w, x, (1.0, -1 / 6)), log(w, b.fadd(a, root)))


@wide
def acosh(w: Writer, x: Any) -> Any:
    """The inverse of the hyperbolic cosine; NaN below 1."""
    b, one = w.builder, _number(1.0)
    root = w.intrinsic("llvm.sqrt", F64, b.fmul(b.fsub(x, one), b.fadd(x, one)))
    is_inside = b.fcmp_ordered(">=", x, one)
    return b.select(is_inside, log(w, b.fadd(x, root)), _number(math.nan))


@wide
def atanh(w: Writer, x: Any) -> Any:
    """The inverse of the hyperbolic tangent; NaN outside of [-1, 1]."""
    b, a, one = w.builder, _size(w, x), _number(1.0)
    far = b.fmul(_number(0.5), log(w, b.fdiv(b.fadd(one, a), b.fsub(one, a))))
    return _near_zero(w, x, a, _odd(w, x, (1.0, 1 / 3)), far)


@wide
def expm1(w: Writer, x: Any) -> Any:
    """exp(x) - 1."""
    b = w.builder
    near = b.fmul(x, polynomial(w, x, (1.0, 0.5, 1 / 6)))
    is_near = b.fcmp_ordered("<", _size(w, x), _number(_SMALL))
    return b.select(is_near, near, b.fsub(exp(w, x), _number(1.0)))


def erf(w: Writer, x: Any) -> Any:
    """The Gauss error function, in float32 throughout: within 2 ULP."""
    b, a = w.builder, w.intrinsic("llvm.fabs", F32, x)
    last = constant(F32, _LAST)
    held = b.select(b.fcmp_ordered(">", a, last), last, a)
    two = constant(F32, 2.0)
    t = b.fdiv(two, b.fadd(held, two))
    power = b.fsub(polynomial(w, t, _complement()), b.fmul(held, held))
    far = b.fsub(constant(F32, 1.0), b.fmul(t, exp(w, power)))
    near = fma(w, x, polynomial(w, b.fmul(x, x), _quotient()), x)
    far = w.intrinsic("llvm.copysign", F32, far, x)
    return b.select(b.fcmp_ordered("<", a, constant(F32, 1.0)), near, far)


def erfc(w: Writer, x: Any) -> Any:
    """1 - erf(x), in float32 throughout: exact in its tail, too, where erf rounds to 1.

    The square is taken in two parts, so that exp does not magnify its rounding.
    """
    b, a = w.builder, w.intrinsic("llvm.fabs", F32, x)
    last, one, two = (constant(F32, value) for value in (_LAST_TAIL, 1.0, 2.0))
    held = b.select(b.fcmp_ordered(">", a, last), last, a)
    t = b.fdiv(two, b.fadd(held, two))
    square = b.fmul(held, held)
    lost = fma(w, held, held, b.fneg(square))
    power = b.fmul(exp(w, b.fneg(square)), b.fsub(one, lost))
    far = b.fmul(b.fmul(t, polynomial(w, t, _tail())), power)
    return b.select(b.fcmp_ordered("<", x, constant(F32, 0.0)), b.fsub(two, far), far)


@cache
def _tail() -> tuple[float, ...]:
    """The polynomial erfc(x) * exp(x^2) / t in t = 2 / (2 + x), for x from 0 to 10.5."""

    def exact(t: float) -> float:
        x = 2 / t - 2
        return math.erfc(x) * math.exp(x * x) / t

    return _fitted(exact, (2 / (2 + 10.5), 1.0), 9)


@cache
def _quotient() -> tuple[float, ...]:
    """The polynomial erf(x) / x - 1 in x^2, for x up to 1."""
    return _fitted(lambda u: math.erf(math.sqrt(u)) / math.sqrt(u) - 1, (1e-9, 1.0), 7)


@cache
def _complement() -> tuple[float, ...]:
    """The polynomial log(erfc(x) / t) + x^2 in t = 2 / (2 + x), for x from 0.9 to 4.2."""

    def exact(t: float) -> float:
        x = 2 / t - 2
        return math.log(math.erfc(x) / t) + x * x

    return _fitted(exact, (2 / (2 + 4.2), 2 / (2 + 0.9)), 8)


def _fitted(
    exact: Callable[[float], float], ends: tuple[float, float], degree: int
) -> tuple[float, ...]:
    """The polynomial that is the function at Chebyshev's points between the ends."""
    made = np.polynomial.Chebyshev.interpolate(np.vectorize(exact), degree, ends)
    return tuple(made.convert(kind=np.polynomial.Polynomial).coef.tolist())


@wide
def power(w: Writer, base: Any, exponent: Any) -> Any:
    """Base ** exponent, with the special cases of IEEE 754."""
    b, zero, one = w.builder, _number(0.0), _number(1.0)
    size = _size(w, base)
    found = exp(w, b.fmul(exponent, log(w, size)))
    is_bounded = b.fcmp_ordered("<", _size(w, exponent), _number(math.inf))
    is_whole = b.fcmp_ordered("==", w.intrinsic("llvm.rint", F64, exponent), exponent)
    half = b.fmul(exponent, _number(0.5))
    is_even = b.fcmp_ordered("==", w.intrinsic("llvm.rint", F64, half), half)
    is_odd = b.and_(is_bounded, b.and_(is_whole, b.not_(is_even)))
    found = b.select(is_odd, _signed(w, found, base), found)
    is_between = b.and_(is_bounded, b.not_(is_whole))
    is_below = b.and_(
        b.fcmp_ordered("<", base, zero), b.fcmp_ordered(">", base, _number(-math.inf))
    )
    found = b.select(b.and_(is_below, is_between), _number(math.nan), found)
    is_one = b.fcmp_ordered("==", size, one)
    is_endless = b.fcmp_ordered("==", _size(w, exponent), _number(math.inf))
    is_plain = b.or_(b.fcmp_ordered("==", exponent, zero), b.fcmp_ordered("==", base, one))
    return b.select(b.or_(is_plain, b.and_(is_one, is_endless)), one, found)


atan, asin = wide(atan_wide), wide(asin_wide)

"""Inverse and hyperbolic functions, erf and powers of float32: inline, through float64.

float64 has 29 more bits, so formulas that lose a few are within 0.51 ULP after rounding.

atan     of t in [-0.42, 0.42] by its series, after (a - 1) / (a + 1) or -1 / a
asin     to 0.5 its series, above pi / 2 - 2 asin(sqrt((1 - x) / 2));  acos  pi / 2 - asin(x)
sinh     (e - 1 / e) / 2, e = exp(|x|), near 0 by its series;  cosh  (e + 1 / e) / 2
asinh    log(|x| + sqrt(x^2 + 1)), and so on
erf      below 1 by a polynomial, else 1 - t * exp(-x^2 + p(t)), t = 2 / (2 + |x|); in float32
erfc     t * p(t) * exp(-x^2), 2 minus that below 0; in float32
pow      exp(y * log |x|), with the sign of an odd whole y; of a constant x, log x is a constant
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import F32, F64, I64, like
from treadle.jit.codegen.scalar.exp_log import constant, exp, fma, log, polynomial, raised
from treadle.jit.codegen.scalar.float64_powers import half_power
from treadle.jit.codegen.scalar.inverse_powers import inverse, inverse_root

_SMALL = 2.0**-12
_MAX_POWER, _ROOT = 32, 0.5
"""Largest constant exponent of a power that is computed by products; that of a square root."""
_MAGIC = 1.5 * 2.0**52
"""Added to a float64, it leaves the nearest whole number in the last bits."""
_BEYOND = 200.0
"""Powers of 2 beyond the range of float32."""
_LAST, _LAST_TAIL = 4.0, 10.5
_ATAN = tuple((-1.0) ** k / (2 * k + 1) for k in range(12))
_SINH = tuple(1 / math.factorial(2 * k + 1) for k in range(6))


def in_float64(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of float32 operands, computed in float64 and rounded once."""

    def computed(builder: FunctionBuilder, *operands: Any) -> Any:
        given = [builder.builder.fpext(operand, like(operand.type, F64)) for operand in operands]
        return builder.builder.fptrunc(function(builder, *given), operands[0].type)

    return computed


def _number(value: Any, number: float) -> Any:
    """A constant of the type of a value."""
    return constant(value.type, number)


def _size(builder: FunctionBuilder, value: Any) -> Any:
    return builder.intrinsic("llvm.fabs", value.type, value)


def _signed(builder: FunctionBuilder, size: Any, value: Any) -> Any:
    return builder.intrinsic("llvm.copysign", value.type, size, value)


def _odd(builder: FunctionBuilder, value: Any, coefficients: tuple[float, ...]) -> Any:
    return builder.builder.fmul(
        value, polynomial(builder, builder.builder.fmul(value, value), coefficients)
    )


def _near_zero(
    builder: FunctionBuilder, value: Any, size: Any, near: Any, far: Any, limit: float = _SMALL
) -> Any:
    """Select one of two formulas; the far one has no sign yet."""
    b = builder.builder
    return b.select(
        b.fcmp_ordered("<", size, _number(value, limit)), near, _signed(builder, far, value)
    )


@in_float64
def atan(builder: FunctionBuilder, value: Any) -> Any:
    """The arc tangent."""
    b, a, one = builder.builder, _size(builder, value), _number(value, 1.0)
    is_large = b.fcmp_ordered(">", a, _number(value, math.sqrt(2) + 1))
    is_middle = b.fcmp_ordered(">", a, _number(value, math.sqrt(2) - 1))
    upper = b.select(is_large, _number(value, -1.0), b.select(is_middle, b.fsub(a, one), a))
    lower = b.select(is_large, a, b.select(is_middle, b.fadd(a, one), one))
    middle = b.select(is_middle, _number(value, math.pi / 4), _number(value, 0.0))
    start = b.select(is_large, _number(value, math.pi / 2), middle)
    found = b.fadd(start, _odd(builder, b.fdiv(upper, lower), _ATAN))
    return _signed(builder, found, value)


@in_float64
def asin(builder: FunctionBuilder, value: Any) -> Any:
    """The arc sine; NaN outside of [-1, 1]."""
    b = builder.builder
    is_far, part = _arc(builder, value)
    far = b.fsub(_number(value, math.pi / 2), b.fadd(part, part))
    return _signed(builder, b.select(is_far, far, part), value)


@in_float64
def acos(builder: FunctionBuilder, value: Any) -> Any:
    """The arc cosine; NaN outside of [-1, 1]."""
    b = builder.builder
    is_far, part = _arc(builder, value)
    twice, is_negative = b.fadd(part, part), b.fcmp_ordered("<", value, _number(value, 0.0))
    far = b.select(is_negative, b.fsub(_number(value, math.pi), twice), twice)
    near = b.fsub(_number(value, math.pi / 2), _signed(builder, part, value))
    return b.select(is_far, far, near)


def _arc(builder: FunctionBuilder, value: Any) -> tuple[Any, Any]:
    """Whether |x| is over 0.5, and asin |x|, or then asin sqrt((1 - |x|) / 2), half of acos |x|."""
    b, a = builder.builder, _size(builder, value)
    is_far = b.fcmp_ordered(">", a, _number(value, 0.5))
    half = b.fmul(b.fsub(_number(value, 1.0), a), _number(value, 0.5))
    square = b.select(is_far, half, b.fmul(a, a))
    sine = b.select(is_far, _root_of_float32(builder, half), a)
    series = b.fmul(square, polynomial(builder, square, _arc_series()))
    return is_far, fma(builder, sine, series, sine)


def _root_of_float32(builder: FunctionBuilder, value: Any) -> Any:
    """The root of a float64 that is a float32, to 48 bits: that of float32, and a step of Newton's.

    Processors take the root of float32, and divide, in less than half the time of float64.
    """
    b, narrow = builder.builder, like(value.type, F32)
    root = builder.intrinsic("llvm.sqrt", narrow, b.fptrunc(value, narrow))
    least = builder.intrinsic("llvm.maxnum", narrow, root, constant(narrow, _SMALL**2))
    half = b.fpext(b.fdiv(constant(narrow, 0.5), least), value.type)
    found = b.fpext(root, value.type)
    return fma(builder, fma(builder, b.fneg(found), found, value), half, found)


@cache
def _arc_series() -> tuple[float, ...]:
    """(asin s / s - 1) / s^2 of s^2, to 5e-11."""
    return _fitted(lambda z: (math.asin(math.sqrt(z)) / math.sqrt(z) - 1) / z, (0.0, 0.25), 6)


@in_float64
def sinh(builder: FunctionBuilder, value: Any) -> Any:
    """The hyperbolic sine."""
    b, a = builder.builder, _size(builder, value)
    power = exp(builder, a)
    far = b.fmul(_number(value, 0.5), b.fsub(power, b.fdiv(_number(value, 1.0), power)))
    return _near_zero(builder, value, a, _odd(builder, value, _SINH), far, 0.5)


@in_float64
def cosh(builder: FunctionBuilder, value: Any) -> Any:
    """The hyperbolic cosine."""
    b = builder.builder
    power = exp(builder, _size(builder, value))
    return b.fmul(_number(value, 0.5), b.fadd(power, b.fdiv(_number(value, 1.0), power)))


@in_float64
def asinh(builder: FunctionBuilder, value: Any) -> Any:
    """The inverse of the hyperbolic sine."""
    b, a = builder.builder, _size(builder, value)
    root = builder.intrinsic("llvm.sqrt", value.type, b.fadd(b.fmul(a, a), _number(value, 1.0)))
    return _near_zero(
        builder, value, a, _odd(builder, value, (1.0, -1 / 6)), log(builder, b.fadd(a, root))
    )


@in_float64
def acosh(builder: FunctionBuilder, value: Any) -> Any:
    """The inverse of the hyperbolic cosine; NaN below 1."""
    b, one = builder.builder, _number(value, 1.0)
    root = builder.intrinsic(
        "llvm.sqrt", value.type, b.fmul(b.fsub(value, one), b.fadd(value, one))
    )
    is_inside = b.fcmp_ordered(">=", value, one)
    return b.select(is_inside, log(builder, b.fadd(value, root)), _number(value, math.nan))


@in_float64
def atanh(builder: FunctionBuilder, value: Any) -> Any:
    """The inverse of the hyperbolic tangent; NaN outside of [-1, 1]."""
    b, a, one = builder.builder, _size(builder, value), _number(value, 1.0)
    far = b.fmul(_number(value, 0.5), log(builder, b.fdiv(b.fadd(one, a), b.fsub(one, a))))
    return _near_zero(builder, value, a, _odd(builder, value, (1.0, 1 / 3)), far)


@in_float64
def expm1(builder: FunctionBuilder, value: Any) -> Any:
    """exp(x) - 1."""
    b = builder.builder
    near = b.fmul(value, polynomial(builder, value, (1.0, 0.5, 1 / 6)))
    is_near = b.fcmp_ordered("<", _size(builder, value), _number(value, _SMALL))
    return b.select(is_near, near, b.fsub(exp(builder, value), _number(value, 1.0)))


def erf(builder: FunctionBuilder, value: Any) -> Any:
    """The Gauss error function, in float32 throughout: within 2 ULP."""
    b, a = builder.builder, builder.intrinsic("llvm.fabs", value.type, value)
    last = constant(value.type, _LAST)
    bounded = b.select(b.fcmp_ordered(">", a, last), last, a)
    two = constant(value.type, 2.0)
    t = b.fdiv(two, b.fadd(bounded, two))
    power = b.fsub(polynomial(builder, t, _complement()), b.fmul(bounded, bounded))
    far = b.fsub(constant(value.type, 1.0), b.fmul(t, exp(builder, power)))
    near = fma(builder, value, polynomial(builder, b.fmul(value, value), _quotient()), value)
    far = builder.intrinsic("llvm.copysign", value.type, far, value)
    return b.select(b.fcmp_ordered("<", a, constant(value.type, 1.0)), near, far)


def erfc(builder: FunctionBuilder, operand: Any) -> Any:
    """1 - erf(x), in float32 throughout: exact in its tail, too, where erf rounds to 1.

    The square is computed in two parts, so that exp does not magnify its rounding.
    """
    bounded = _held(builder, operand, _LAST_TAIL)
    square = builder.builder.fmul(bounded, bounded)
    return _tail_of(builder, operand, bounded, square, _square_error(builder, bounded, square))


def normal_tail(builder: FunctionBuilder, operand: Any) -> Any:
    """erfc(x / sqrt(2)) in float32, twice the normal distribution beyond x.

    Its square is exactly half that of x: to round x / sqrt(2) first costs 180 ULP at x = 13.
    """
    b, half = builder.builder, constant(operand.type, 0.5)
    bounded = _held(builder, operand, _LAST_TAIL * math.sqrt(2))
    square = b.fmul(bounded, bounded)
    lost = b.fmul(_square_error(builder, bounded, square), half)
    root = b.fmul(bounded, constant(operand.type, math.sqrt(0.5)))
    return _tail_of(builder, operand, root, b.fmul(square, half), lost)


def _held(builder: FunctionBuilder, operand: Any, last: float) -> Any:
    """The absolute value, no larger than `last`."""
    b, a, most = (
        builder.builder,
        builder.intrinsic("llvm.fabs", operand.type, operand),
        constant(operand.type, last),
    )
    return b.select(b.fcmp_ordered(">", a, most), most, a)


def _tail_of(builder: FunctionBuilder, operand: Any, magnitude: Any, square: Any, lost: Any) -> Any:
    """Erfc of `magnitude`, or of its negative where the operand is negative.

    The square of `magnitude` is `square` + `lost`.
    """
    b, one, two = builder.builder, constant(operand.type, 1.0), constant(operand.type, 2.0)
    t = b.fdiv(two, b.fadd(magnitude, two))
    power = b.fmul(exp(builder, b.fneg(square)), b.fsub(one, lost))
    far = b.fmul(b.fmul(t, polynomial(builder, t, _tail())), power)
    return b.select(
        b.fcmp_ordered("<", operand, constant(operand.type, 0.0)), b.fsub(two, far), far
    )


def _square_error(builder: FunctionBuilder, value: Any, square: Any) -> Any:
    """The rounding error of the square of a float32, which float64 represents exactly."""
    b = builder.builder
    if builder.target.has_fma:
        return fma(builder, value, value, b.fneg(square))
    wide, type_ = b.fpext(value, like(value.type, F64)), value.type
    return b.fptrunc(b.fsub(b.fmul(wide, wide), b.fpext(square, wide.type)), type_)


@cache
def _tail() -> tuple[float, ...]:
    """The polynomial erfc(x) * exp(x^2) / t in t = 2 / (2 + x), for x from 0 to 10.5."""

    def exact(value: float) -> float:
        x = 2 / value - 2
        return math.erfc(x) * math.exp(x * x) / value

    return _fitted(exact, (2 / (2 + 10.5), 1.0), 9)


@cache
def _quotient() -> tuple[float, ...]:
    """The polynomial erf(x) / x - 1 in x^2, for x up to 1."""
    return _fitted(lambda u: math.erf(math.sqrt(u)) / math.sqrt(u) - 1, (1e-9, 1.0), 7)


@cache
def _complement() -> tuple[float, ...]:
    """The polynomial log(erfc(x) / t) + x^2 in t = 2 / (2 + x), for x from 0.9 to 4.2."""

    def exact(value: float) -> float:
        x = 2 / value - 2
        return math.log(math.erfc(x) / value) + x * x

    return _fitted(exact, (2 / (2 + 4.2), 2 / (2 + 0.9)), 8)


def _fitted(
    exact: Callable[[float], float], ends: tuple[float, float], degree: int
) -> tuple[float, ...]:
    """The polynomial that interpolates the function at Chebyshev points."""
    made = np.polynomial.Chebyshev.interpolate(np.vectorize(exact), degree, ends)
    return tuple(made.convert(kind=np.polynomial.Polynomial).coef.tolist())


def known_power(builder: FunctionBuilder, base: Any, exponent: float) -> Any:
    """Power by products if the exponent is a small integer, or half of one.

    float32 is computed in float64, and float64 in pairs of them.
    """
    b = builder.builder
    if exponent in (1.0, 2.0):
        return base if exponent == 1.0 else b.fmul(base, base)
    if not 0 < abs(exponent) <= _MAX_POWER or not (2 * exponent).is_integer():
        return None
    if exponent == _ROOT:
        return _root(builder, base)
    if base.type == F64:
        if exponent == 1 + _ROOT:
            return b.fmul(_size(builder, base), _root(builder, base))
        return half_power(builder, base, exponent) if builder.target.has_fma else None
    wide, left = b.fpext(base, like(base.type, F64)), int(abs(exponent))
    result, square, is_half = None, wide, left != abs(exponent)
    if exponent < 0:
        square = inverse_root(builder, wide) if is_half else inverse(builder, wide)
        left = int(2 * abs(exponent)) if is_half else left
    elif is_half:
        result, square = _root(builder, wide), _size(builder, wide)
    while left:
        if left % 2:
            result = square if result is None else b.fmul(result, square)
        left //= 2
        square = b.fmul(square, square) if left else square
    return b.fptrunc(result, base.type)


def _root(builder: FunctionBuilder, value: Any) -> Any:
    """The power x ** 0.5, which differs from the square root for -0 and -infinity."""
    b = builder.builder
    root = builder.intrinsic("llvm.sqrt", value.type, value)
    root = builder.intrinsic("llvm.fabs", value.type, root)
    is_lowest = b.fcmp_ordered("==", value, constant(value.type, -math.inf))
    return b.select(is_lowest, constant(value.type, math.inf), root)


@in_float64
def power(builder: FunctionBuilder, base: Any, exponent: Any) -> Any:
    """Base ** exponent, with the special cases of IEEE 754."""
    b, zero, one = builder.builder, _number(base, 0.0), _number(base, 1.0)
    size = _size(builder, base)
    found = exp(builder, b.fmul(exponent, log(builder, size)))
    is_bounded = b.fcmp_ordered("<", _size(builder, exponent), _number(base, math.inf))
    is_whole = b.fcmp_ordered("==", builder.intrinsic("llvm.rint", base.type, exponent), exponent)
    half = b.fmul(exponent, _number(base, 0.5))
    is_even = b.fcmp_ordered("==", builder.intrinsic("llvm.rint", base.type, half), half)
    is_odd = b.and_(is_bounded, b.and_(is_whole, b.not_(is_even)))
    found = b.select(is_odd, _signed(builder, found, base), found)
    is_between = b.and_(is_bounded, b.not_(is_whole))
    is_below = b.and_(
        b.fcmp_ordered("<", base, zero), b.fcmp_ordered(">", base, _number(base, -math.inf))
    )
    found = b.select(b.and_(is_below, is_between), _number(base, math.nan), found)
    is_one = b.fcmp_ordered("==", size, one)
    is_endless = b.fcmp_ordered("==", _size(builder, exponent), _number(base, math.inf))
    is_plain = b.or_(b.fcmp_ordered("==", exponent, zero), b.fcmp_ordered("==", base, one))
    return b.select(b.or_(is_plain, b.and_(is_one, is_endless)), one, found)


def power_of(base: float, builder: FunctionBuilder, exponent: Any) -> Any:
    """Base ** exponent in float32 for a constant base that is positive, finite and not 1.

    2 ** (n + r), n a whole number and r within half of one of 0, from y * log2 of the base.
    """
    b = builder.builder
    wide = b.fpext(exponent, like(exponent.type, F64))
    magic = _number(wide, _MAGIC)
    scaled = b.fmul(wide, _number(wide, math.log2(base)))
    for sign, limit in ((">", _BEYOND), ("<", -_BEYOND)):
        scaled = b.select(
            b.fcmp_ordered(sign, scaled, _number(wide, limit)), _number(wide, limit), scaled
        )
    shifted = b.fadd(scaled, magic)
    rest = b.fsub(scaled, b.fsub(shifted, magic))
    bits = like(wide.type, I64)
    whole = b.sub(b.bitcast(shifted, bits), b.bitcast(magic, bits))
    return b.fptrunc(
        raised(builder, polynomial(builder, rest, _two_to_the()), whole), exponent.type
    )


@cache
def _two_to_the() -> tuple[float, ...]:
    return _fitted(lambda each: 2.0**each, (-0.5, 0.5), 8)

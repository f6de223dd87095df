"""Sine, cosine and tangent of a float32 for every argument.

    |x| = m * 2 ** e        a turn is 2 pi: |x| / (2 pi) modulo 1 is m times bits of 1 / (2 pi)
                            modulo 2 ** 64: the 96 bits that begin at the exponent's
    half, rest              the nearest multiple of half a turn, and the remainder, in float64
    sin of the rest         a truncated series, negated in every other half

The cosine is the sine of a quarter turn more. Below 0.75 the rest of the sine is x itself. The
result is rounded once, from float64: within 0.51 ULP.

Up to a bound, x - k pi in float64 is precise, with pi in parts whose products with k are exact. It
takes less than half the time, with the same bits. Where the machine has a fused multiply-add, sine
and cosine are computed in float32 up to their own bound (`narrow_trigonometric.py`), which takes
half of that again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import F64, I32, I64, every, like
from treadle.jit.codegen.scalar.exp_log import constant, fma, polynomial
from treadle.jit.codegen.scalar.narrow_trigonometric import BOUND, TURNS
from treadle.jit.codegen.scalar.quarter_turns import sine_of
from treadle.jit.codegen.scalar.vector_function import RareArguments, called

Bound = Callable[[FunctionBuilder], float]
"""The size below which a function is computed by shorter code, for a machine."""
_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(9))
_QUARTER = 2**62
"""A quarter turn; a turn is 2 ** 64."""
_MAGIC = 1.5 * 2.0**52
"""Added to a float64, it leaves the nearest whole number in the last bits."""


def _sin(builder: FunctionBuilder, value: Any) -> Any:
    sine = builder.builder.fptrunc(_sine(builder, value), value.type)
    return _with_sign_of(builder, sine, value)


def _cos(builder: FunctionBuilder, value: Any) -> Any:
    return builder.builder.fptrunc(_cosine(builder, value), value.type)


def _tan(builder: FunctionBuilder, value: Any) -> Any:
    found = builder.builder.fdiv(_sine(builder, value), _cosine(builder, value))
    return _with_sign_of(builder, builder.builder.fptrunc(found, value.type), value)


def _near_tan(builder: FunctionBuilder, value: Any) -> Any:
    b = builder.builder
    wide = b.fpext(value, like(value.type, F64))
    found = b.fdiv(_near_sine(builder, wide), _near_cosine(builder, value))
    return b.fptrunc(found, value.type)


def _near_sine(builder: FunctionBuilder, wide: Any) -> Any:
    """The sine of a float64 that holds a float32 below the bound."""
    b, magic = builder.builder, constant(wide.type, _MAGIC)
    shifted = fma(builder, wide, constant(wide.type, 1 / math.pi), magic)
    return _of_halves(builder, wide, b.fsub(shifted, magic), shifted)


def _near_cosine(builder: FunctionBuilder, value: Any) -> Any:
    """The cosine of a float32 below the bound, the sine of x + pi / 2."""
    b, type_ = builder.builder, like(value.type, F64)
    wide = b.fpext(builder.intrinsic("llvm.fabs", value.type, value), type_)
    quotient = fma(builder, wide, constant(type_, 1 / math.pi), constant(type_, 0.5))
    shifted = b.fadd(quotient, constant(type_, _MAGIC))
    halves = b.fsub(b.fsub(shifted, constant(type_, _MAGIC)), constant(type_, 0.5))
    return _of_halves(builder, wide, halves, shifted)


def _of_halves(builder: FunctionBuilder, rest: Any, halves: Any, shifted: Any) -> Any:
    """The sine of x without this many times pi; negated if the last bit of `shifted` is set."""
    b, whole = builder.builder, like(rest.type, I64)
    for part in _reduction(builder).parts:
        rest = fma(builder, halves, constant(rest.type, -part), rest)
    return _signed(builder, b.shl(b.bitcast(shifted, whole), every(whole, 63)), rest)


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Pi in parts whose products with halves of turns are exact below a bound, but for the last."""

    bound: float
    parts: tuple[float, ...]


_REDUCTIONS = {
    True: _Reduction(2.0**30, (math.pi, float.fromhex("0x1.1a62633145c07p-53"))),
    False: _Reduction(2.0**20, tuple(map(float.fromhex, (
        "0x1.921fb544p+1", "0x1.0b4611a6p-33", "0x1.3198a2e037073p-68",
    )))),
}  # fmt: skip
"""By whether the machine has a fused multiply-add, which does not round its product."""


def _reduction(builder: FunctionBuilder) -> _Reduction:
    return _REDUCTIONS[builder.target.has_fma]


def _with_sign_of(builder: FunctionBuilder, found: Any, value: Any) -> Any:
    b, whole = builder.builder, like(value.type, I32)
    sign = b.and_(b.bitcast(value, whole), every(whole, -(2**31)))
    return b.bitcast(b.xor(b.bitcast(found, whole), sign), value.type)


def _sine(builder: FunctionBuilder, value: Any) -> Any:
    """The sine of |x| in float64."""
    b, size = builder.builder, builder.intrinsic("llvm.fabs", value.type, value)
    half, rest = _halved(builder, _turn_of(builder, size))
    is_small = b.fcmp_ordered("<", size, constant(value.type, 0.75))
    rest = b.select(is_small, b.fpext(size, rest.type), rest)
    half = b.select(is_small, every(half.type, 0), half)
    return _of_number(builder, size, _signed(builder, half, rest))


def _cosine(builder: FunctionBuilder, value: Any) -> Any:
    """The cosine of |x| in float64."""
    size, turn_type = builder.intrinsic("llvm.fabs", value.type, value), like(value.type, I64)
    turn = builder.builder.add(_turn_of(builder, size), every(turn_type, _QUARTER))
    return _of_number(builder, size, _signed(builder, *_halved(builder, turn)))


def _of_number(builder: FunctionBuilder, size: Any, found: Any) -> Any:
    """The result, or NaN for inf and NaN."""
    b = builder.builder
    is_number = b.fcmp_ordered("<", size, constant(size.type, math.inf))
    return b.select(is_number, found, constant(found.type, math.nan))


def _signed(builder: FunctionBuilder, half: Any, rest: Any) -> Any:
    """The sine of the rest; negated if the bit for half a turn is set."""
    b = builder.builder
    square = b.fmul(rest, rest)
    found = b.fmul(rest, polynomial(builder, square, _SINE))
    return b.bitcast(b.xor(b.bitcast(found, half.type), half), rest.type)


def _halved(builder: FunctionBuilder, turn: Any) -> tuple[Any, Any]:
    """The bit of the nearest half turn, and the remainder in float64."""
    b, type_ = builder.builder, like(turn.type, F64)
    near = b.add(turn, every(turn.type, _QUARTER))
    half = b.and_(near, every(turn.type, -(2**63)))
    rest = b.sitofp(b.sub(turn, half), type_)
    return half, b.fmul(rest, constant(type_, 2 * math.pi / 2.0**64))


def _turn_of(builder: FunctionBuilder, size: Any) -> Any:
    """|x| / (2 pi) modulo 1, times 2 ** 64."""
    b, type_ = builder.builder, like(size.type, I64)
    bits = b.zext(b.bitcast(size, like(size.type, I32)), type_)
    fraction = b.and_(bits, every(type_, 2**23 - 1))
    mantissa = b.or_(fraction, every(type_, 2**23))
    high, low = _window(builder, b.lshr(bits, every(type_, 23)))
    below = b.lshr(b.mul(mantissa, b.lshr(low, every(type_, 32))), every(type_, 32))
    return b.add(b.mul(mantissa, high), below)


def _window(builder: FunctionBuilder, exponent: Any) -> tuple[Any, Any]:
    """The first 64 bits, and the 64 after them, of 2 ** e / (2 pi) modulo 1.

    They begin at bit e of a string of words; three words are chosen, since loading them from a
    table takes vectors longer. Up to the second word, a turn is 0 in all bits that count.
    """
    b, type_ = builder.builder, exponent.type
    exponent = builder.intrinsic("llvm.umax", type_, exponent, every(type_, 64))
    is_third, is_last = (b.icmp_unsigned(">=", exponent, every(type_, 64 * k)) for k in (2, 3))
    shift = b.and_(exponent, every(type_, 63))
    words = [every(type_, word) for word in _words()]

    def chosen(first: int) -> Any:
        later = b.select(is_third, words[first + 1], words[first])
        return b.select(is_last, words[first + 2], later)

    first, second, third = map(chosen, range(3))
    high = builder.intrinsic("llvm.fshl", type_, first, second, shift)
    return high, builder.intrinsic("llvm.fshl", type_, second, third, shift)


@cache
def _words() -> tuple[int, ...]:
    """1 / (2 pi) behind 150 zeros, in words of 64 bits from the second on: bit e is 2 ** e's."""
    whole = _turn() >> 150
    return tuple(whole >> (400 - 64 * k) & (2**64 - 1) for k in range(2, 7))


@cache
def _turn() -> int:
    """1 / (2 pi) times 2 ** 400, by Machin's formula."""
    one = 1 << 440

    def arctan(inverse: int) -> int:
        total, power, number = 0, one // inverse, 1
        while power:
            total += power // number if number % 4 == 1 else -(power // number)
            power, number = power // inverse**2, number + 2
        return total

    pi = 4 * (4 * arctan(5) - arctan(239))
    return (one << 400) // (2 * pi)


def _near_sin(builder: FunctionBuilder, value: Any) -> Any:
    b, size = builder.builder, builder.intrinsic("llvm.fabs", value.type, value)
    if builder.target.has_fma:
        sine = sine_of(TURNS, 0, builder, size)
    else:
        wide = _near_sine(builder, b.fpext(size, like(value.type, F64)))
        sine = b.fptrunc(wide, value.type)
    return _with_sign_of(builder, sine, value)


def _near_cos(builder: FunctionBuilder, value: Any) -> Any:
    if builder.target.has_fma:
        return sine_of(TURNS, 1, builder, value)
    return builder.builder.fptrunc(_near_cosine(builder, value), value.type)


def _is_below(bound: Bound, builder: FunctionBuilder, value: Any) -> Any:
    size = builder.intrinsic("llvm.fabs", value.type, value)
    return builder.builder.fcmp_ordered("<", size, constant(value.type, bound(builder)))


def _bound_of_sine(builder: FunctionBuilder) -> float:
    return BOUND if builder.target.has_fma else _reduction(builder).bound


def _function(
    name: str, bound: Bound, near: Callable[..., Any], every_argument: Callable[..., Any]
) -> Any:
    return partial(called, RareArguments(name, partial(_is_below, bound), near, every_argument))


sin = _function("sin", _bound_of_sine, _near_sin, _sin)
cos = _function("cos", _bound_of_sine, _near_cos, _cos)
tan = _function("tan", lambda builder: _reduction(builder).bound, _near_tan, _tan)

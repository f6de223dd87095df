"""Sine, cosine and tangent of a float32, inline and without branches, for every argument.

    |x| = m * 2 ** e        a turn is 2 pi: |x| / (2 pi) modulo 1 is m times bits of 1 / (2 pi)
                            modulo 2 ** 64: the 96 bits that begin at the exponent's
    half, rest              the nearest multiple of half a turn, and the remainder, in float64
    sin of the rest         a truncated series, negated in every other half

The cosine is the sine of a quarter turn more. Below 0.75 the rest of the sine is x itself. The
result is rounded once, from float64: within 0.51 ULP.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import F32, F64, I32, I64
from treadle.jit.codegen.scalar.exp_log import polynomial

_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(9))
_QUARTER = 2**62
"""A quarter turn; a turn is 2 ** 64."""


def sin(builder: FunctionBuilder, value: Any) -> Any:
    """The sine."""
    return _with_sign_of(builder, builder.builder.fptrunc(_sine(builder, value), F32), value)


def cos(builder: FunctionBuilder, value: Any) -> Any:
    """The cosine."""
    return builder.builder.fptrunc(_cosine(builder, value), F32)


def tan(builder: FunctionBuilder, value: Any) -> Any:
    """The tangent."""
    found = builder.builder.fdiv(_sine(builder, value), _cosine(builder, value))
    return _with_sign_of(builder, builder.builder.fptrunc(found, F32), value)


def _with_sign_of(builder: FunctionBuilder, found: Any, value: Any) -> Any:
    b = builder.builder
    sign = b.and_(b.bitcast(value, I32), llvm.Constant(I32, -(2**31)))
    return b.bitcast(b.xor(b.bitcast(found, I32), sign), F32)


def _sine(builder: FunctionBuilder, value: Any) -> Any:
    """The sine of |x| in float64."""
    b, size = builder.builder, builder.intrinsic("llvm.fabs", F32, value)
    half, rest = _halved(builder, _turn_of(builder, size))
    is_small = b.fcmp_ordered("<", size, llvm.Constant(F32, 0.75))
    rest = b.select(is_small, b.fpext(size, F64), rest)
    half = b.select(is_small, llvm.Constant(I64, 0), half)
    return _of_number(builder, size, _signed(builder, half, rest))


def _cosine(builder: FunctionBuilder, value: Any) -> Any:
    """The cosine of |x| in float64."""
    size = builder.intrinsic("llvm.fabs", F32, value)
    turn = builder.builder.add(_turn_of(builder, size), llvm.Constant(I64, _QUARTER))
    return _of_number(builder, size, _signed(builder, *_halved(builder, turn)))


def _of_number(builder: FunctionBuilder, size: Any, found: Any) -> Any:
    """The result, or NaN for inf and NaN."""
    b = builder.builder
    is_number = b.fcmp_ordered("<", size, llvm.Constant(F32, math.inf))
    return b.select(is_number, found, llvm.Constant(F64, math.nan))


def _signed(builder: FunctionBuilder, half: Any, rest: Any) -> Any:
    """The sine of the rest; negated if the bit for half a turn is set."""
    b = builder.builder
    square = b.fmul(rest, rest)
    found = b.fmul(rest, polynomial(builder, square, _SINE))
    return b.bitcast(b.xor(b.bitcast(found, I64), half), F64)


def _halved(builder: FunctionBuilder, turn: Any) -> tuple[Any, Any]:
    """The bit of the nearest half turn, and the remainder in float64."""
    b = builder.builder
    near = b.add(turn, llvm.Constant(I64, _QUARTER))
    half = b.and_(near, llvm.Constant(I64, -(2**63)))
    rest = b.sitofp(b.sub(turn, half), F64)
    return half, b.fmul(rest, llvm.Constant(F64, 2 * math.pi / 2.0**64))


def _turn_of(builder: FunctionBuilder, size: Any) -> Any:
    """|x| / (2 pi) modulo 1, times 2 ** 64."""
    b = builder.builder
    bits = b.zext(b.bitcast(size, I32), I64)
    fraction = b.and_(bits, llvm.Constant(I64, 2**23 - 1))
    mantissa = b.or_(fraction, llvm.Constant(I64, 2**23))
    high, low = _window(builder, b.lshr(bits, llvm.Constant(I64, 23)))
    below = b.lshr(b.mul(mantissa, b.lshr(low, llvm.Constant(I64, 32))), llvm.Constant(I64, 32))
    return b.add(b.mul(mantissa, high), below)


def _window(builder: FunctionBuilder, exponent: Any) -> tuple[Any, Any]:
    """The first 64 bits, and the 64 after them, of 2 ** e / (2 pi) modulo 1.

    They begin at bit e of a string of words; three words are chosen, since loading them from a
    table takes vectors longer. Up to the second word, a turn is 0 in all bits that count.
    """
    b = builder.builder
    exponent = builder.intrinsic("llvm.umax", I64, exponent, _word(64))
    is_third, is_last = (b.icmp_unsigned(">=", exponent, _word(64 * k)) for k in (2, 3))
    shift = b.and_(exponent, _word(63))

    def chosen(first: int) -> Any:
        later = b.select(is_third, _word(_words()[first + 1]), _word(_words()[first]))
        return b.select(is_last, _word(_words()[first + 2]), later)

    first, second, third = map(chosen, range(3))
    high = builder.intrinsic("llvm.fshl", I64, first, second, shift)
    return high, builder.intrinsic("llvm.fshl", I64, second, third, shift)


def _word(number: int) -> Any:
    return llvm.Constant(I64, number)


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

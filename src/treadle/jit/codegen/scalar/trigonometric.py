"""Sine, cosine and tangent of a float32, inline and without branches, for every argument.

    |x| = m * 2 ** e        a turn is 2 pi: |x| / (2 pi) modulo 1 is m times bits of 1 / (2 pi)
                            modulo 2 ** 64, so a table has 96 bits for every exponent
    quarter, rest           the nearest multiple of a quarter turn, and the remainder, in float64
    sin, cos of the rest    truncated series, exchanged and negated by the quarter

Below pi / 4 the rest is x itself. The result is rounded once, from float64: within 0.51 ULP.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import F32, F64, I32, I64
from treadle.jit.codegen.scalar.exp_log import polynomial

_BITS = 64 + 32
_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(7))
_COSINE = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(8))


def sin(builder: FunctionBuilder, value: Any) -> Any:
    """The sine."""
    quarter, rest = _reduced(builder, value)
    b = builder.builder
    found = _signed(builder, quarter, _chosen(builder, quarter, rest))
    sign = b.and_(b.bitcast(value, I32), llvm.Constant(I32, -(2**31)))
    return b.bitcast(b.xor(b.bitcast(b.fptrunc(found, F32), I32), sign), F32)


def cos(builder: FunctionBuilder, value: Any) -> Any:
    """The cosine."""
    quarter, rest = _reduced(builder, value)
    turned = builder.builder.add(quarter, llvm.Constant(I64, 1))
    return builder.builder.fptrunc(_signed(builder, turned, _chosen(builder, turned, rest)), F32)


def tan(builder: FunctionBuilder, value: Any) -> Any:
    """The tangent."""
    quarter, rest = _reduced(builder, value)
    b = builder.builder
    turned = b.add(quarter, llvm.Constant(I64, 1))
    upper, lower = (_signed(builder, q, _chosen(builder, q, rest)) for q in (quarter, turned))
    found = b.fptrunc(b.fdiv(upper, lower), F32)
    sign = b.and_(b.bitcast(value, I32), llvm.Constant(I32, -(2**31)))
    return b.bitcast(b.xor(b.bitcast(found, I32), sign), F32)


def _chosen(builder: FunctionBuilder, quarter: Any, rest: Any) -> Any:
    """The cosine of the rest in odd quarters, its sine in even ones."""
    b = builder.builder
    square = b.fmul(rest, rest)
    sine = b.fmul(rest, polynomial(builder, square, _SINE))
    cosine = polynomial(builder, square, _COSINE)
    is_odd = b.icmp_signed("!=", b.and_(quarter, llvm.Constant(I64, 1)), llvm.Constant(I64, 0))
    return b.select(is_odd, cosine, sine)


def _signed(builder: FunctionBuilder, quarter: Any, value: Any) -> Any:
    """Negate in the second half of a turn."""
    b = builder.builder
    sign = b.shl(b.and_(quarter, llvm.Constant(I64, 2)), llvm.Constant(I64, 62))
    return b.bitcast(b.xor(b.bitcast(value, I64), sign), F64)


def _reduced(builder: FunctionBuilder, value: Any) -> tuple[Any, Any]:
    """The nearest quarter turn of |x|, and the remainder in float64; NaN for inf and NaN."""
    b = builder.builder
    size = builder.intrinsic("llvm.fabs", F32, value)
    bits = b.zext(b.bitcast(size, I32), I64)
    exponent = b.lshr(bits, llvm.Constant(I64, 23))
    fraction = b.and_(bits, llvm.Constant(I64, 2**23 - 1))
    mantissa = b.or_(fraction, llvm.Constant(I64, 2**23))
    high, low = (_word(builder, name, exponent) for name in ("high", "low"))
    below = b.lshr(b.mul(mantissa, low), llvm.Constant(I64, 32))
    turn = b.add(b.mul(mantissa, high), below)
    quarter = b.lshr(b.add(turn, llvm.Constant(I64, 2**61)), llvm.Constant(I64, 62))
    left = b.sub(turn, b.shl(quarter, llvm.Constant(I64, 62)))
    rest = b.fmul(b.sitofp(left, F64), llvm.Constant(F64, 2 * math.pi / 2.0**64))
    is_small = b.fcmp_ordered("<", size, llvm.Constant(F32, 0.75))
    rest = b.select(is_small, b.fpext(size, F64), rest)
    is_number = b.fcmp_ordered("<", size, llvm.Constant(F32, math.inf))
    rest = b.select(is_number, rest, llvm.Constant(F64, math.nan))
    return b.select(is_small, llvm.Constant(I64, 0), quarter), rest


def _word(builder: FunctionBuilder, which: str, exponent: Any) -> Any:
    """The first 64 bits, or the 32 after them, of 2 ** e / (2 pi) modulo 1."""
    b, type_ = builder.builder, llvm.ArrayType(I64, 256)
    name = f"turns.{which}"
    table = builder.module.globals.get(name)
    if table is None:
        table = llvm.GlobalVariable(builder.module, type_, name)
        table.global_constant, table.linkage = True, "internal"
        table.initializer = llvm.Constant(type_, list(_table(which)))
    address = b.gep(table, [llvm.Constant(I64, 0), exponent], inbounds=True, source_etype=type_)
    return b.load(address, typ=I64)


@cache
def _table(which: str) -> tuple[int, ...]:
    shift, mask = (32, 2**64 - 1) if which == "high" else (0, 2**32 - 1)
    found = []
    for exponent in range(256):
        scale = exponent - 150 + _BITS
        bits = _turn() << scale >> 400 if scale >= 0 else _turn() >> (400 - scale)
        found.append(bits >> shift & mask)
    return tuple(found)


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

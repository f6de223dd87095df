"""1 / x and 1 / sqrt(x) of float64, to 44 bits, which float32 needs: by steps of Newton's kind.

A processor divides or takes the root of eight float64 in 16 to 31 cycles, and computes the steps
for them in 6 to 8. The bits of a float64, taken as a whole number, are about its logarithm: half of
them, subtracted from a constant, are the bits of the first guess. A step takes y, whose error is
e = 1 - x * y, to y * (1 + e + e^2 + e^3), the start of the series of 1 / (1 - e).
"""

from __future__ import annotations

import math
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I64, every, like
from treadle.jit.codegen.scalar.exp_log import constant, fma

_INVERSE_BITS, _ROOT_BITS = 0x7FDE623822FC16E6, 0x5FE6EB50C7B537A9
"""The bits, or half of them, are subtracted from these: guesses are 12 and 3.5 percent off."""


def inverse(builder: FunctionBuilder, value: Any) -> Any:
    """1 / value, for a float64 whose inverse is in the range of float64."""
    b, one = builder.builder, constant(value.type, 1.0)
    size, minus = builder.intrinsic("llvm.fabs", value.type, value), b.fneg(value)
    bits = b.bitcast(size, like(value.type, I64))
    guess = b.bitcast(b.sub(every(bits.type, _INVERSE_BITS), bits), value.type)
    found = builder.intrinsic("llvm.copysign", value.type, guess, value)
    for _ in range(2):
        error = fma(builder, minus, found, one)
        square = b.fmul(error, error)
        first = fma(builder, found, error, found)
        found = fma(builder, first, square, first)
    is_zero = b.fcmp_ordered("==", value, constant(value.type, 0.0))
    is_endless = b.fcmp_ordered("==", size, constant(value.type, math.inf))
    far = b.select(is_zero, constant(value.type, math.inf), constant(value.type, 0.0))
    end = builder.intrinsic("llvm.copysign", value.type, far, value)
    return b.select(b.or_(is_zero, is_endless), end, found)


def inverse_root(builder: FunctionBuilder, value: Any) -> Any:
    """Value ** -0.5, for a float64 that is 0 or at least the smallest float32."""
    b, one = builder.builder, constant(value.type, 1.0)
    bits = b.bitcast(value, like(value.type, I64))
    half = b.lshr(bits, every(bits.type, 1))
    found = b.bitcast(b.sub(every(bits.type, _ROOT_BITS), half), value.type)
    for terms in ((5 / 16, 3 / 8, 1 / 2), (3 / 8, 1 / 2)):
        minus = b.fneg(b.fmul(value, found))
        error = fma(builder, minus, found, one)
        factor: Any = constant(value.type, terms[0])
        for term in terms[1:]:
            factor = fma(builder, factor, error, constant(value.type, term))
        found = fma(builder, b.fmul(found, error), factor, found)
    zero, end = constant(value.type, 0.0), constant(value.type, math.inf)
    size = builder.intrinsic("llvm.fabs", value.type, value)
    far = b.select(b.fcmp_ordered("==", value, zero), end, constant(value.type, math.nan))
    far = b.select(b.fcmp_ordered("==", size, end), zero, far)
    is_plain = b.and_(b.fcmp_ordered(">", value, zero), b.fcmp_ordered("<", value, end))
    return b.select(is_plain, found, far)

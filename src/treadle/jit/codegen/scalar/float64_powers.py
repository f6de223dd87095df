"""Powers of float64 by whole numbers and halves of them, in pairs of float64 whose sum they are.

A pair has twice the bits, so the sum of the last one is the power, rounded. Newton's step for
y = 1 / x, y + y * (1 - x * y), gives the second part of a pair. Where parts would leave the range
of float64, negative powers and halves are the C library's.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.scalar.exp_log import by_library, constant, fma
from treadle.jit.codegen.scalar.vector_function import RareArguments, by_lane, called

_REACH = 900
"""All parts of pairs are in the range of float64 for powers from 2 ** -900 to 2 ** 900."""
_Pair = tuple[Any, Any]


def half_power(builder: FunctionBuilder, base: Any, exponent: float) -> Any:
    """Base ** exponent for an exponent other than 0 that is a whole number or half of one."""
    if exponent > 0 and float(exponent).is_integer():
        return _whole_power(builder, base, int(exponent))
    if exponent == -1:
        return builder.builder.fdiv(constant(base.type, 1.0), base)
    return called(_function(exponent), builder, base)


def _whole_power(builder: FunctionBuilder, base: Any, exponent: int) -> Any:
    """Base ** exponent; the second part does not count where it is 0, infinite or NaN."""
    b = builder.builder
    high, low = _raised(builder, (base, constant(base.type, 0.0)), exponent)
    size = builder.intrinsic("llvm.fabs", low.type, low)
    is_some = b.fcmp_ordered(">", size, constant(base.type, 0.0))
    is_plain = b.and_(is_some, b.fcmp_ordered("<", size, constant(base.type, math.inf)))
    return b.select(is_plain, b.fadd(high, low), high)


@cache
def _function(exponent: float) -> RareArguments:
    """The function of a negative power, or of half of an odd one."""
    twice, most = int(2 * exponent), 2.0 ** min(_REACH / abs(exponent), _REACH)

    def is_usual(builder: FunctionBuilder, base: Any) -> Any:
        b = builder.builder
        size = base if twice % 2 else builder.intrinsic("llvm.fabs", base.type, base)
        is_above = b.fcmp_ordered(">", size, constant(base.type, 1 / most))
        return b.and_(is_above, b.fcmp_ordered("<", size, constant(base.type, most)))

    def usual(builder: FunctionBuilder, base: Any) -> Any:
        count = abs(twice) // (1 if twice % 2 else 2)
        return builder.builder.fadd(*_raised(builder, _first(builder, base, twice), count))

    def rare(builder: FunctionBuilder, base: Any) -> Any:
        def library(each: Any) -> Any:
            return by_library(builder, "pow", each, constant(each.type, exponent))

        return by_lane(builder, library, base)

    name = f"pow.{'minus.' * (twice < 0)}{abs(twice)}.halves"
    return RareArguments(name, is_usual, usual, rare)


def _first(builder: FunctionBuilder, value: Any, twice: int) -> _Pair:
    """The root, the inverse, or the root of the inverse, whose whole power the power is."""
    b, one, half = builder.builder, constant(value.type, 1.0), constant(value.type, 0.5)
    if twice % 2 == 0:
        found = b.fdiv(one, value)
        return found, b.fmul(found, fma(builder, b.fneg(value), found, one))
    root = builder.intrinsic("llvm.sqrt", value.type, value)
    inverse = b.fdiv(one, root)
    if twice > 0:
        error = fma(builder, b.fneg(root), root, value)
        return root, b.fmul(b.fmul(error, half), inverse)
    square = b.fmul(inverse, inverse)
    below = fma(builder, inverse, inverse, b.fneg(square))
    error = fma(builder, b.fneg(value), square, one)
    error = fma(builder, b.fneg(value), below, error)
    return inverse, b.fmul(b.fmul(inverse, error), half)


def _raised(builder: FunctionBuilder, pair: _Pair, exponent: int) -> _Pair:
    """The power of a pair by squaring."""
    found, left = None, exponent
    while left:
        if left % 2:
            found = pair if found is None else _product(builder, found, pair)
        left //= 2
        pair = _product(builder, pair, pair) if left else pair
    assert found is not None
    return found


def _product(builder: FunctionBuilder, one: _Pair, other: _Pair) -> _Pair:
    high = builder.builder.fmul(one[0], other[0])
    low = fma(builder, one[0], other[0], builder.builder.fneg(high))
    low = fma(builder, one[0], other[1], low)
    return high, fma(builder, one[1], other[0], low)

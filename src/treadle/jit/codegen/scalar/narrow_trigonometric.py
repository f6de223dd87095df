"""Sine and cosine of a float32 below 2 ** 17, in float32: within 1.6 ULP (numpy: 1.5).

A fused multiply-add makes the products of pi / 2, in three parts, without rounding them. Most of
the error is that of r, which is rounded twice; the polynomials minimise the relative error, 0.08
and 0.003 ULP.
"""

from __future__ import annotations

from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I32
from treadle.jit.codegen.scalar.exp_log import constant, fma, polynomial
from treadle.jit.codegen.scalar.quarter_turns import QuarterTurns

BOUND = 2.0**17
_HALF_PI = tuple(map(float.fromhex, ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50")))
_SINE = (-0.16666653752326965, 0.008332093246281147, -0.00019505145610310137)
_COSINE = (1.0, -0.5, 0.04166664183139801, -0.0013887140667065978, 2.4414022846031003e-05)


def _reduced(builder: FunctionBuilder, value: Any, count: Any) -> tuple[Any]:
    """A number without this many quarter turns."""
    for part in _HALF_PI:
        value = fma(builder, count, constant(value.type, -part), value)
    return (value,)


def _sine(builder: FunctionBuilder, rest: Any) -> Any:
    b = builder.builder
    square = b.fmul(rest, rest)
    series = polynomial(builder, square, _SINE)
    return fma(builder, series, b.fmul(square, rest), rest)


def _cosine(builder: FunctionBuilder, rest: Any) -> Any:
    return polynomial(builder, builder.builder.fmul(rest, rest), _COSINE)


TURNS = QuarterTurns(I32, 1.5 * 2.0**23, _reduced, _sine, _cosine)

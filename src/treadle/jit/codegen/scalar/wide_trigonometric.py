"""Sine and cosine of a float64, in vectors too: within 1 ULP.

pi / 2 has three parts, of which a fused multiply-add makes products without rounding them; the
rest is the sum of two numbers, and the polynomials are those of FreeBSD's msun (k_sin.c, k_cos.c).
From 2 ** 20 on, and without that instruction, the functions of the C library are called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.scalar.exp_log import by_library, constant, fma, polynomial
from treadle.jit.codegen.scalar.quarter_turns import QuarterTurns, sine_of
from treadle.jit.codegen.scalar.vector_function import RareArguments, by_lane, called

_BOUND = 2.0**20
_HALF_PI = tuple(
    map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"))
)
_SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def _reduced(builder: FunctionBuilder, value: Any, count: Any) -> tuple[Any, Any]:
    """A number without this many quarter turns, as a sum (Knuth's 2Sum of the second product)."""
    b = builder.builder
    first, second, third = (constant(value.type, part) for part in _HALF_PI)
    near = fma(builder, b.fneg(count), first, value)
    product = b.fmul(count, second)
    rest = b.fsub(near, product)
    other = b.fsub(rest, near)
    error = b.fsub(b.fsub(near, b.fsub(rest, other)), b.fadd(product, other))
    lost = b.fsub(error, fma(builder, count, second, b.fneg(product)))
    return rest, fma(builder, b.fneg(count), third, lost)


def _sine(builder: FunctionBuilder, rest: Any, lost: Any) -> Any:
    """The sine of rest + lost, up to pi / 4."""
    b, half = builder.builder, constant(rest.type, 0.5)
    square = b.fmul(rest, rest)
    cube = b.fmul(square, rest)
    series = _paired(builder, square, _SINE[1:])
    inner = fma(builder, half, lost, b.fneg(b.fmul(cube, series)))
    inner = fma(builder, square, inner, b.fneg(lost))
    return b.fsub(rest, fma(builder, cube, constant(rest.type, -_SINE[0]), inner))


def _cosine(builder: FunctionBuilder, rest: Any, lost: Any) -> Any:
    b, one = builder.builder, constant(rest.type, 1.0)
    square = b.fmul(rest, rest)
    series = b.fmul(square, _paired(builder, square, _COSINE))
    half = b.fmul(square, constant(rest.type, 0.5))
    near = b.fsub(one, half)
    error = b.fsub(b.fsub(one, near), half)
    inner = fma(builder, square, series, b.fneg(b.fmul(rest, lost)))
    return b.fadd(near, b.fadd(error, inner))


def _paired(builder: FunctionBuilder, value: Any, coefficients: tuple[float, ...]) -> Any:
    """A polynomial of the square of x with pairs of terms for coefficients: a shorter chain."""
    starts = range(0, len(coefficients), 2)
    pairs = [polynomial(builder, value, coefficients[k : k + 2]) for k in starts]
    square = builder.builder.fmul(value, value)
    return reduce(lambda found, pair: fma(builder, found, square, pair), reversed(pairs))


_TURNS = QuarterTurns(I64, 1.5 * 2.0**52, _reduced, _sine, _cosine)


def _is_near(builder: FunctionBuilder, value: Any) -> Any:
    size = builder.intrinsic("llvm.fabs", value.type, value)
    return builder.builder.fcmp_ordered("<", size, constant(value.type, _BOUND))


def _function(name: str, quarters: int) -> Callable[[FunctionBuilder, Any], Any]:
    near = partial(sine_of, _TURNS, quarters)

    def library(builder: FunctionBuilder, value: Any) -> Any:
        return by_lane(builder, lambda each: by_library(builder, name, each), value)

    made = RareArguments(name, _is_near, near, library)

    def emit(builder: FunctionBuilder, value: Any) -> Any:
        return called(made, builder, value) if builder.target.has_fma else library(builder, value)

    return emit


sin, cos = _function("sin", 0), _function("cos", 1)

"""The remainder of a division of floats, exact, with the sign of the dividend.

A quotient in float64 is close enough where it is small:

    x - trunc(x / y) * y    exact: of float32 in float64, of float64 by a fused multiply-add; and
                            y more where the quotient was rounded up
    fmod of the C library   for other quotients, and for float64 without that instruction
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import F32, F64, element_type, like
from treadle.jit.codegen.scalar.exp_log import by_library, constant, fma
from treadle.jit.codegen.scalar.vector_function import RareArguments, by_lane, called

_MOST = {F32: 2.0**28, F64: 2.0**50}
"""Quotients whose products with y are exact in float64, or whose remainders are."""


def fmod(builder: FunctionBuilder, left: Any, right: Any) -> Any:
    """The remainder."""
    if element_type(left.type) == F64 and not builder.target.has_fma:
        return _by_library(builder, left, right)
    return called(_FMOD, builder, left, right)


def _by_library(builder: FunctionBuilder, left: Any, right: Any) -> Any:
    return by_lane(builder, lambda *each: by_library(builder, "fmod", *each), left, right)


def _is_usual(builder: FunctionBuilder, left: Any, right: Any) -> Any:
    """Whether the quotient is below the bound, and the divisor finite; of one number, below 1."""
    b, type_ = builder.builder, left.type
    x, y = (builder.intrinsic("llvm.fabs", type_, each) for each in (left, right))
    if not isinstance(type_, llvm.VectorType):
        return b.fcmp_ordered("<", x, y)
    most = b.fmul(y, constant(type_, _MOST[element_type(type_)]))
    is_finite = b.fcmp_ordered("<", y, constant(type_, float("inf")))
    return b.and_(b.fcmp_ordered("<", x, most), is_finite)


def _usual(builder: FunctionBuilder, left: Any, right: Any) -> Any:
    """The remainder; of one number without a division: that of the C library takes less time."""
    return _divided(builder, left, right) if isinstance(left.type, llvm.VectorType) else left


def _divided(builder: FunctionBuilder, left: Any, right: Any) -> Any:
    b, type_ = builder.builder, left.type
    wide = like(type_, F64)
    x, y = (b.fpext(each, wide) if wide != type_ else each for each in (left, right))
    quotient = builder.intrinsic("llvm.trunc", wide, b.fdiv(x, y))
    rest = fma(builder, b.fneg(quotient), y, x)
    sign = builder.intrinsic("llvm.copysign", wide, constant(wide, 1.0), x)
    is_beyond = b.fcmp_ordered("<", b.fmul(rest, sign), constant(wide, 0.0))
    size = builder.intrinsic("llvm.fabs", wide, y)
    rest = builder.intrinsic("llvm.fabs", wide, rest)
    rest = b.select(is_beyond, b.fsub(size, rest), rest)
    found = b.fptrunc(rest, type_) if wide != type_ else rest
    return builder.intrinsic("llvm.copysign", type_, found, left)


_FMOD = RareArguments("fmod", _is_usual, _usual, _by_library)

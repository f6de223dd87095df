"""The scalar functions of Elementwise in LLVM, of an element or of a vector of elements.

kernel/scalar_functions.py says which have a form for vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import (
    F64,
    I1,
    I64,
    element_type,
    every,
    like,
    literal,
    register_type,
)
from treadle.jit.codegen.scalar import (
    exp_log,
    half,
    inverse_hyperbolic,
    remainder,
    trigonometric,
    wide_trigonometric,
)
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS, is_float, is_signed
from treadle.jit.kernel.scalar_functions import FUNCTIONS

Emit = Callable[..., Any]


def apply(
    builder: FunctionBuilder, function: str, dtypes: tuple[DType, ...], result: DType, *args: Any
) -> Any:
    """Apply the function to elements of the dtypes; the result has the dtype `result`."""
    if function == "cast":
        return cast(builder, args[0], dtypes[0], result)
    if function == "bits":
        type_ = like(args[0].type, register_type(result))
        return args[0] if args[0].type == type_ else builder.builder.bitcast(args[0], type_)
    if function == "where":
        return builder.builder.select(*args)
    made = _TABLE[function](builder, dtypes[0], *args)
    is_rounded = FUNCTIONS[function].rounds and result in SIXTEEN_BIT_FLOATS
    return half.rounded(builder, made, result) if is_rounded else made


def cast(builder: FunctionBuilder, value: Any, source: DType, target: DType) -> Any:
    """An element in another dtype, as numpy casts it."""
    b, type_ = builder.builder, like(value.type, register_type(target))
    if source == target:
        return value
    if target in SIXTEEN_BIT_FLOATS:
        whole = source if is_float(source) else DType.FLOAT32
        return half.rounded(builder, cast(builder, value, source, whole), target)
    if source in SIXTEEN_BIT_FLOATS:
        return cast(builder, value, DType.FLOAT32, target)
    if target is DType.BOOL:
        zero = literal(source, 0)
        return (
            b.fcmp_unordered("!=", value, zero)
            if is_float(source)
            else b.icmp_signed("!=", value, zero)
        )
    if is_float(source):
        return _from_float(builder, value, source, target)
    if is_float(target) and source is DType.BOOL:
        return b.select(value, llvm.Constant(type_, 1.0), llvm.Constant(type_, 0.0))
    if is_float(target):
        return b.sitofp(value, type_) if is_signed(source) else b.uitofp(value, type_)
    width, wanted = (element_type(each).width for each in (value.type, type_))
    if width > wanted:
        return b.trunc(value, type_)
    if width == wanted:
        return value
    return b.sext(value, type_) if is_signed(source) else b.zext(value, type_)


def _from_float(builder: FunctionBuilder, value: Any, source: DType, target: DType) -> Any:
    b, type_ = builder.builder, like(value.type, register_type(target))
    if is_float(target):
        wider = target is DType.FLOAT64
        return b.fpext(value, type_) if wider else b.fptrunc(value, type_)
    if target is DType.UINT64:
        half = literal(source, 2.0**63)
        is_high = b.fcmp_ordered(">=", value, half)
        part = _to_signed(builder, b.select(is_high, b.fsub(value, half), value), I64)
        raised = b.add(part, b.shl(b.zext(is_high, I64), llvm.Constant(I64, 63)))
        return raised
    if type_.width == 64 or target is DType.UINT32:
        whole = _to_signed(builder, value, I64)
        return whole if type_.width == 64 else b.trunc(whole, type_)
    whole = _to_signed(builder, value, llvm.IntType(32))
    return whole if type_.width == 32 else b.trunc(whole, type_)


def _to_signed(builder: FunctionBuilder, value: Any, type_: Any) -> Any:
    """Convert; out of range, and for NaN, to the least number, as the processor does."""
    b = builder.builder
    limit = llvm.Constant(value.type, 2.0 ** (type_.width - 1))
    fits = b.and_(b.fcmp_ordered("<", value, limit), b.fcmp_ordered(">=", value, b.fneg(limit)))
    safe = b.select(fits, value, llvm.Constant(value.type, 0.0))
    lowest = llvm.Constant(type_, -(2 ** (type_.width - 1)))
    return b.select(fits, b.fptosi(safe, type_), lowest)


def _by_kind(floating: str, whole: str, truth: str = "") -> Emit:
    def emit(builder: FunctionBuilder, dtype: DType, *args: Any) -> Any:
        name = floating if is_float(dtype) else truth if truth and dtype is DType.BOOL else whole
        return getattr(builder.builder, name)(*args)

    return emit


def _compare(sign: str, builder: FunctionBuilder, dtype: DType, left: Any, right: Any) -> Any:
    if is_float(dtype):
        if sign == "!=":
            return builder.builder.fcmp_unordered(sign, left, right)
        return builder.builder.fcmp_ordered(sign, left, right)
    if is_signed(dtype):
        return builder.builder.icmp_signed(sign, left, right)
    return builder.builder.icmp_unsigned(sign, left, right)


def _divide(builder: FunctionBuilder, dtype: DType, left: Any, right: Any) -> Any:
    """Divide; integers round toward zero; x / 0 is 0, and least / -1 wraps, as in numpy."""
    if is_float(dtype):
        return builder.builder.fdiv(left, right)
    if power := _power_of_two(dtype, right):
        return _shifted_down(builder, left, power)
    return _safely(builder, dtype, left, right, "sdiv", "udiv")


def _power_of_two(dtype: DType, divisor: Any) -> int:
    """Which power of two a divisor of signed numbers is; 0 for others, and for 1."""
    known = divisor.constant if is_signed(dtype) and isinstance(divisor, llvm.Constant) else 0
    return known.bit_length() - 1 if known > 1 and known.bit_count() == 1 else 0


def _shifted_down(builder: FunctionBuilder, value: Any, power: int) -> Any:
    """A signed number divided by 2 ** power, rounded toward zero.

    LLVM would make a branch of a choice between a division and something else.
    """
    b, type_ = builder.builder, value.type
    sign = b.ashr(value, llvm.Constant(type_, type_.width - 1))
    most = b.lshr(sign, llvm.Constant(type_, type_.width - power))
    return b.ashr(b.add(value, most), llvm.Constant(type_, power))


def _safely(
    builder: FunctionBuilder, dtype: DType, left: Any, right: Any, signed: str, unsigned: str
) -> Any:
    b = builder.builder
    zero, one = literal(dtype, 0), literal(dtype, 1)
    is_zero = b.icmp_signed("==", right, zero)
    divisor = b.select(is_zero, one, right)
    if not is_signed(dtype):
        return b.select(is_zero, zero, getattr(b, unsigned)(left, divisor))
    is_minus = b.icmp_signed("==", right, literal(dtype, -1))
    plain = getattr(b, signed)(left, b.select(is_minus, one, divisor))
    for_minus = b.sub(zero, left) if signed == "sdiv" else zero
    return b.select(is_zero, zero, b.select(is_minus, for_minus, plain))


def _fmod(builder: FunctionBuilder, dtype: DType, left: Any, right: Any) -> Any:
    if is_float(dtype):
        return remainder.fmod(builder, left, right)
    return _safely(builder, dtype, left, right, "srem", "urem")


def _mod(builder: FunctionBuilder, dtype: DType, left: Any, right: Any) -> Any:
    """The remainder with the sign of the divisor; for floats as in numpy."""
    b = builder.builder
    if _power_of_two(dtype, right):
        return b.and_(left, literal(dtype, right.constant - 1))
    rest = _fmod(builder, dtype, left, right)
    if not (is_float(dtype) or is_signed(dtype)):
        return rest
    zero = every(rest.type, literal(dtype, 0).constant)
    is_rest = _compare("!=", builder, dtype, rest, zero)
    below, right_below = (_compare("<", builder, dtype, each, zero) for each in (rest, right))
    is_other = b.and_(is_rest, b.xor(below, right_below))
    total = b.fadd(rest, right) if is_float(dtype) else b.add(rest, right)
    result = b.select(is_other, total, rest)
    if is_float(dtype):
        signed = builder.intrinsic("llvm.copysign", rest.type, zero, right)
        result = b.select(is_rest, result, signed)
    return result


def _extreme(sign: str, builder: FunctionBuilder, dtype: DType, left: Any, right: Any) -> Any:
    """The maximum or minimum.

    For floats NaN propagates, zeros of either sign are equal, as in numpy.
    """
    b = builder.builder
    if dtype is DType.BOOL:
        return b.or_(left, right) if sign == ">" else b.and_(left, right)
    if not is_float(dtype):
        return b.select(_compare(sign, builder, dtype, left, right), left, right)
    name = "llvm.maximum" if sign == ">" else "llvm.minimum"
    return builder.intrinsic(name, left.type, left, right, flags=("nsz",))


def _negate(builder: FunctionBuilder, dtype: DType, value: Any) -> Any:
    return builder.builder.fneg(value) if is_float(dtype) else builder.builder.neg(value)


def _absolute(builder: FunctionBuilder, dtype: DType, value: Any) -> Any:
    if is_float(dtype):
        return builder.intrinsic("llvm.fabs", value.type, value)
    if not is_signed(dtype):
        return value
    is_below = builder.builder.icmp_signed("<", value, llvm.Constant(value.type, None))
    return builder.builder.select(is_below, builder.builder.neg(value), value)


def _sign(builder: FunctionBuilder, dtype: DType, value: Any) -> Any:
    """-1, 0 or 1; NaN of NaN."""
    b, type_ = builder.builder, value.type
    least, zero, one = (every(type_, literal(dtype, each).constant) for each in (-1, 0, 1))
    above = b.select(_compare(">", builder, dtype, value, zero), one, zero)
    if not (is_signed(dtype) or is_float(dtype)):
        return above
    result = b.select(_compare("<", builder, dtype, value, zero), least, above)
    return (
        b.select(b.fcmp_unordered("uno", value, value), value, result)
        if is_float(dtype)
        else result
    )


def _power(builder: FunctionBuilder, _: DType, base: Any, exponent: Any) -> Any:
    """Power with exact special cases, which LLVM drops if the exponent is known."""
    if isinstance(exponent, llvm.Constant):
        known = inverse_hyperbolic.known_power(builder, base, exponent.constant)
        if known is not None:
            return known
    if base.type == F64:
        return exp_log.by_library(builder, "pow", base, exponent)
    if isinstance(base, llvm.Constant) and 0 < base.constant < math.inf and base.constant != 1:
        return inverse_hyperbolic.power_of(base.constant, builder, exponent)
    return inverse_hyperbolic.power(builder, base, exponent)


def _whole_power(builder: FunctionBuilder, dtype: DType, base: Any, exponent: Any) -> Any:
    """Integer power by squaring, modulo the width. The exponent has 64 bits."""
    b = builder.builder
    left, square = builder.variable(I64, exponent), builder.variable(base.type, base)
    result = builder.variable(base.type, literal(dtype, 1))
    one, zero = llvm.Constant(I64, 1), llvm.Constant(I64, 0)
    with builder.range(64):
        bits, factor, made = (
            b.load(each, typ=type_)
            for each, type_ in ((left, I64), (square, base.type), (result, base.type))
        )
        is_set = b.icmp_signed("!=", b.and_(bits, one), zero)
        b.store(b.select(is_set, b.mul(made, factor), made), result)
        b.store(b.mul(factor, factor), square)
        b.store(b.lshr(bits, one), left)
    return b.load(result, typ=base.type)


def _shift(name: str, builder: FunctionBuilder, dtype: DType, value: Any, distance: Any) -> Any:
    """Shift as numpy does: by the width or more, or by a negative number, all bits are lost."""
    b, type_ = builder.builder, value.type
    bits = element_type(type_).width
    none, width, most = (every(type_, number) for number in (0, bits, bits - 1))
    fits = b.icmp_unsigned("<", distance, width)
    if name == "shr" and is_signed(dtype):
        return b.ashr(value, b.select(fits, distance, most))
    shift = b.shl if name == "shl" else b.lshr
    return b.select(fits, shift(value, b.select(fits, distance, none)), none)


def _order(builder: FunctionBuilder, _: DType, value: Any) -> Any:
    """A signed integer that increases with the float: 0 and -0 are equal, NaN is the largest."""
    b, width = builder.builder, 64 if element_type(value.type) == F64 else 32
    type_ = like(value.type, llvm.IntType(width))
    bits = b.bitcast(b.fadd(value, every(value.type, 0.0)), type_)
    mask = every(type_, 2 ** (width - 1) - 1)
    is_below = b.ashr(bits, every(type_, width - 1))
    ordered = b.xor(bits, b.and_(is_below, mask))
    return b.select(b.fcmp_unordered("uno", value, value), mask, ordered)


def _intrinsic(name: str, builder: FunctionBuilder, _: DType, value: Any) -> Any:
    return builder.intrinsic(name, value.type, value)


def _inline(function: Emit, builder: FunctionBuilder, _: DType, value: Any) -> Any:
    return function(builder, value)


def _by_width(narrow: Emit, wide: Emit, builder: FunctionBuilder, _: DType, value: Any) -> Any:
    """One function for float32, another for float64."""
    return (wide if element_type(value.type) == F64 else narrow)(builder, value)


def _single(name: str, function: Emit, builder: FunctionBuilder, _: DType, value: Any) -> Any:
    """Inline for float32, the C library's function for float64."""
    return (
        exp_log.by_library(builder, name, value) if value.type == F64 else function(builder, value)
    )


def _reciprocal(builder: FunctionBuilder, _: DType, value: Any) -> Any:
    return builder.builder.fdiv(every(value.type, 1.0), value)


def _not(builder: FunctionBuilder, _: DType, value: Any) -> Any:
    ones = 1 if element_type(value.type) == I1 else -1
    return builder.builder.xor(value, every(value.type, ones))


_TABLE: Mapping[str, Emit] = {
    "add": _by_kind("fadd", "add", "or_"),
    "sub": _by_kind("fsub", "sub"),
    "mul": _by_kind("fmul", "mul", "and_"),
    "div": _divide,
    "mod": _mod,
    "fmod": _fmod,
    "pow": _power,
    "whole_pow": _whole_power,
    "shl": partial(_shift, "shl"),
    "shr": partial(_shift, "shr"),
    "order": _order,
    "max": partial(_extreme, ">"),
    "min": partial(_extreme, "<"),
    "neg": _negate,
    "abs": _absolute,
    "sign": _sign,
    "not": _not,
    "and": _by_kind("", "and_"),
    "or": _by_kind("", "or_"),
    "xor": _by_kind("", "xor"),
    "equal": partial(_compare, "=="),
    "not_equal": partial(_compare, "!="),
    "less": partial(_compare, "<"),
    "less_equal": partial(_compare, "<="),
    "greater": partial(_compare, ">"),
    "greater_equal": partial(_compare, ">="),
    "reciprocal": _reciprocal,
    "ceil": partial(_intrinsic, "llvm.ceil"),
    "floor": partial(_intrinsic, "llvm.floor"),
    "round": partial(_intrinsic, "llvm.rint"),
    "sqrt": partial(_intrinsic, "llvm.sqrt"),
    "exp": partial(_inline, exp_log.exp),
    "log": partial(_inline, exp_log.log),
    "tanh": partial(_inline, exp_log.tanh),
    "sigmoid": partial(_inline, exp_log.sigmoid),
    "softplus": partial(_inline, exp_log.softplus),
    "sin": partial(_by_width, trigonometric.sin, wide_trigonometric.sin),
    "cos": partial(_by_width, trigonometric.cos, wide_trigonometric.cos),
    **{
        name: partial(_single, name, function)
        for name, function in (
            ("tan", trigonometric.tan),
            ("asin", inverse_hyperbolic.asin),
            ("acos", inverse_hyperbolic.acos),
            ("atan", inverse_hyperbolic.atan),
            ("sinh", inverse_hyperbolic.sinh),
            ("cosh", inverse_hyperbolic.cosh),
            ("asinh", inverse_hyperbolic.asinh),
            ("acosh", inverse_hyperbolic.acosh),
            ("atanh", inverse_hyperbolic.atanh),
            ("erf", inverse_hyperbolic.erf),
            ("erfc", inverse_hyperbolic.erfc),
            ("normal_tail", inverse_hyperbolic.normal_tail),
            ("expm1", inverse_hyperbolic.expm1),
        )
    },
}

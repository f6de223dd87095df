"""The scalar functions of a Map, in LLVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.emit import arcs, math, narrow, turns
from treadle.jit.emit.types import F64, I1, I64, NARROW, in_register, is_float, is_signed, literal
from treadle.jit.emit.writer import Writer

Emit = Callable[..., Any]
_MOST_PRODUCTS, _ROOT = 32, 0.5


def apply(w: Writer, function: str, dtypes: tuple[DType, ...], result: DType, *args: Any) -> Any:
    """The function of elements of the dtypes; what it gives has the dtype `result`."""
    if function == "cast":
        return cast(w, args[0], dtypes[0], result)
    if function == "bits":
        same = args[0].type == in_register(result)
        return args[0] if same else w.builder.bitcast(args[0], in_register(result))
    if function == "where":
        return w.builder.select(*args)
    made = _TABLE[function](w, dtypes[0], *args)
    return narrow.rounded(w, made, result) if result in NARROW else made


def cast(w: Writer, x: Any, source: DType, target: DType) -> Any:
    """An element in another dtype, as numpy casts it."""
    b, type_ = w.builder, in_register(target)
    if source == target:
        return x
    if target in NARROW:
        whole = source if is_float(source) else DType.FLOAT32
        return narrow.rounded(w, cast(w, x, source, whole), target)
    if source in NARROW:
        return cast(w, x, DType.FLOAT32, target)
    if target is DType.BOOL:
        zero = literal(source, 0)
        return b.fcmp_unordered("!=", x, zero) if is_float(source) else b.icmp_signed("!=", x, zero)
    if is_float(source):
        return _from_float(w, x, source, target)
    if is_float(target):
        return b.sitofp(x, type_) if is_signed(source) else b.uitofp(x, type_)
    if x.type.width > type_.width:
        return b.trunc(x, type_)
    if x.type.width == type_.width:
        return x
    return b.sext(x, type_) if is_signed(source) else b.zext(x, type_)


def _from_float(w: Writer, x: Any, source: DType, target: DType) -> Any:
    b, type_ = w.builder, in_register(target)
    if is_float(target):
        wider = target is DType.FLOAT64
        return b.fpext(x, type_) if wider else b.fptrunc(x, type_)
    if target is DType.UINT64:
        half = literal(source, 2.0**63)
        is_high = b.fcmp_ordered(">=", x, half)
        part = _to_signed(w, b.select(is_high, b.fsub(x, half), x), I64)
        raised = b.add(part, b.shl(b.zext(is_high, I64), llvm.Constant(I64, 63)))
        return raised
    if type_.width == 64 or target is DType.UINT32:
        whole = _to_signed(w, x, I64)
        return whole if type_.width == 64 else b.trunc(whole, type_)
    whole = _to_signed(w, x, llvm.IntType(32))
    return whole if type_.width == 32 else b.trunc(whole, type_)


def _to_signed(w: Writer, x: Any, type_: Any) -> Any:
    """Out of range, and for NaN, the smallest number, as the processor has it."""
    b = w.builder
    limit = llvm.Constant(x.type, 2.0 ** (type_.width - 1))
    fits = b.and_(b.fcmp_ordered("<", x, limit), b.fcmp_ordered(">=", x, b.fneg(limit)))
    safe = b.select(fits, x, llvm.Constant(x.type, 0.0))
    lowest = llvm.Constant(type_, -(2 ** (type_.width - 1)))
    return b.select(fits, b.fptosi(safe, type_), lowest)


def _by_kind(floating: str, whole: str, truth: str = "") -> Emit:
    def emit(w: Writer, dtype: DType, *args: Any) -> Any:
        name = floating if is_float(dtype) else truth if truth and dtype is DType.BOOL else whole
        return getattr(w.builder, name)(*args)

    return emit


def _compare(sign: str, w: Writer, dtype: DType, left: Any, right: Any) -> Any:
    if is_float(dtype):
        if sign == "!=":
            return w.builder.fcmp_unordered(sign, left, right)
        return w.builder.fcmp_ordered(sign, left, right)
    if is_signed(dtype):
        return w.builder.icmp_signed(sign, left, right)
    return w.builder.icmp_unsigned(sign, left, right)


def _divide(w: Writer, dtype: DType, left: Any, right: Any) -> Any:
    """Whole numbers toward zero; by zero 0, and the smallest by -1 wraps, as in numpy."""
    if is_float(dtype):
        return w.builder.fdiv(left, right)
    return _safely(w, dtype, left, right, "sdiv", "udiv")


def _safely(w: Writer, dtype: DType, left: Any, right: Any, signed: str, unsigned: str) -> Any:
    b = w.builder
    zero, one = literal(dtype, 0), literal(dtype, 1)
    is_zero = b.icmp_signed("==", right, zero)
    divisor = b.select(is_zero, one, right)
    if not is_signed(dtype):
        return b.select(is_zero, zero, getattr(b, unsigned)(left, divisor))
    is_minus = b.icmp_signed("==", right, literal(dtype, -1))
    plain = getattr(b, signed)(left, b.select(is_minus, one, divisor))
    for_minus = b.sub(zero, left) if signed == "sdiv" else zero
    return b.select(is_zero, zero, b.select(is_minus, for_minus, plain))


def _fmod(w: Writer, dtype: DType, left: Any, right: Any) -> Any:
    if is_float(dtype):
        return math.by_library(w, "fmod", left, right)
    return _safely(w, dtype, left, right, "srem", "urem")


def _mod(w: Writer, dtype: DType, left: Any, right: Any) -> Any:
    """The sign of the divisor; of floats as numpy has it."""
    b = w.builder
    rest = _fmod(w, dtype, left, right)
    if not (is_float(dtype) or is_signed(dtype)):
        return rest
    zero = literal(dtype, 0)
    is_rest = _compare("!=", w, dtype, rest, zero)
    below, right_below = (_compare("<", w, dtype, each, zero) for each in (rest, right))
    is_other = b.and_(is_rest, b.xor(below, right_below))
    total = b.fadd(rest, right) if is_float(dtype) else b.add(rest, right)
    result = b.select(is_other, total, rest)
    if is_float(dtype):
        is_exact = b.fcmp_ordered("==", rest, zero)
        signed = w.intrinsic("llvm.copysign", rest.type, zero, right)
        result = b.select(is_exact, signed, result)
    return result


def _extreme(sign: str, w: Writer, dtype: DType, left: Any, right: Any) -> Any:
    """The larger or smaller; of floats NaN where either is NaN, of zeros either, as numpy."""
    b = w.builder
    if dtype is DType.BOOL:
        return b.or_(left, right) if sign == ">" else b.and_(left, right)
    if not is_float(dtype):
        return b.select(_compare(sign, w, dtype, left, right), left, right)
    name = "llvm.maximum" if sign == ">" else "llvm.minimum"
    return w.intrinsic(name, left.type, left, right, flags=("nsz",))


def _negate(w: Writer, dtype: DType, x: Any) -> Any:
    return w.builder.fneg(x) if is_float(dtype) else w.builder.neg(x)


def _absolute(w: Writer, dtype: DType, x: Any) -> Any:
    if is_float(dtype):
        return w.intrinsic("llvm.fabs", x.type, x)
    if not is_signed(dtype):
        return x
    return w.builder.select(_compare("<", w, dtype, x, literal(dtype, 0)), w.builder.neg(x), x)


def _sign(w: Writer, dtype: DType, x: Any) -> Any:
    """-1, 0 or 1; NaN of NaN."""
    b, zero = w.builder, literal(dtype, 0)
    above = b.select(_compare(">", w, dtype, x, zero), literal(dtype, 1), zero)
    if not (is_signed(dtype) or is_float(dtype)):
        return above
    result = b.select(_compare("<", w, dtype, x, zero), literal(dtype, -1), above)
    return b.select(b.fcmp_unordered("uno", x, x), x, result) if is_float(dtype) else result


def _power(w: Writer, _: DType, base: Any, exponent: Any) -> Any:
    """The plain cases are exact; LLVM drops the others where the exponent is known."""
    if isinstance(exponent, llvm.Constant):
        known = _known_power(w, base, exponent.constant)
        if known is not None:
            return known
    if base.type == F64:
        return math.by_library(w, "pow", base, exponent)
    return arcs.power(w, base, exponent)


def _known_power(w: Writer, base: Any, exponent: float) -> Any:
    """The power by products where the exponent is a small whole number, or half of one.

    Of a float32 in float64; of a float64 only the square, the root, and the two multiplied.
    """
    b = w.builder
    if exponent in (1.0, 2.0):
        return base if exponent == 1.0 else b.fmul(base, base)
    if not 0 < abs(exponent) <= _MOST_PRODUCTS or not (2 * exponent).is_integer():
        return None
    if exponent == _ROOT:
        return _root(w, base)
    if base.type == F64:
        return b.fmul(_size(w, base), _root(w, base)) if exponent == 1 + _ROOT else None
    wide = b.fpext(base, F64)
    result, square, left = None, wide, int(abs(exponent))
    if left != abs(exponent):
        result, square = _root(w, wide), _size(w, wide)
    while left:
        if left % 2:
            result = square if result is None else b.fmul(result, square)
        left //= 2
        square = b.fmul(square, square) if left else square
    if exponent < 0:
        result = b.fdiv(llvm.Constant(F64, 1.0), result)
    return b.fptrunc(result, base.type)


def _root(w: Writer, x: Any) -> Any:
    """X ** 0.5, which is not the square root of -0 and -infinity."""
    b, endless = w.builder, float("inf")
    root = _size(w, w.intrinsic("llvm.sqrt", x.type, x))
    is_lowest = b.fcmp_ordered("==", x, llvm.Constant(x.type, -endless))
    return b.select(is_lowest, llvm.Constant(x.type, endless), root)


def _size(w: Writer, x: Any) -> Any:
    return w.intrinsic("llvm.fabs", x.type, x)


def _whole_power(w: Writer, dtype: DType, base: Any, exponent: Any) -> Any:
    """Of whole numbers, by squaring; bits beyond the width are lost. The exponent has 64 bits."""
    b = w.builder
    left, square = w.variable(I64, exponent), w.variable(base.type, base)
    result = w.variable(base.type, literal(dtype, 1))
    one, zero = llvm.Constant(I64, 1), llvm.Constant(I64, 0)
    with w.range(64):
        bits, factor, made = (
            b.load(each, typ=type_)
            for each, type_ in ((left, I64), (square, base.type), (result, base.type))
        )
        is_set = b.icmp_signed("!=", b.and_(bits, one), zero)
        b.store(b.select(is_set, b.mul(made, factor), made), result)
        b.store(b.mul(factor, factor), square)
        b.store(b.lshr(bits, one), left)
    return b.load(result, typ=base.type)


def _shift(name: str, w: Writer, dtype: DType, value: Any, distance: Any) -> Any:
    """As numpy: by its width or more, or by less than nothing, all bits are gone."""
    b = w.builder
    width = literal(dtype, value.type.width)
    fits = b.icmp_unsigned("<", distance, width)
    if name == "shr" and is_signed(dtype):
        most = literal(dtype, value.type.width - 1)
        return b.ashr(value, b.select(fits, distance, most))
    shift = b.shl if name == "shl" else b.lshr
    return b.select(fits, shift(value, b.select(fits, distance, literal(dtype, 0))),
                    literal(dtype, 0))  # fmt: skip


def _order(w: Writer, dtype: DType, x: Any) -> Any:
    """A signed whole number that grows as the float does: 0 and -0 are one, NaN is the largest."""
    b = w.builder
    type_ = llvm.IntType(64 if dtype is DType.FLOAT64 else 32)
    bits = b.bitcast(b.fadd(x, literal(dtype, 0)), type_)
    mask = llvm.Constant(type_, 2 ** (type_.width - 1) - 1)
    is_below = b.icmp_signed("<", bits, llvm.Constant(type_, 0))
    turned = b.sub(llvm.Constant(type_, -1), b.and_(bits, mask))
    ordered = b.select(is_below, turned, bits)
    return b.select(b.fcmp_unordered("uno", x, x), mask, ordered)


def _intrinsic(name: str, w: Writer, _: DType, x: Any) -> Any:
    return w.intrinsic(name, x.type, x)


def _inline(function: Emit, w: Writer, _: DType, x: Any) -> Any:
    return function(w, x)


def _single(name: str, function: Emit, w: Writer, _: DType, x: Any) -> Any:
    """Inline for float32, by the C library for float64."""
    return math.by_library(w, name, x) if x.type == F64 else function(w, x)


def _reciprocal(w: Writer, dtype: DType, x: Any) -> Any:
    return w.builder.fdiv(literal(dtype, 1), x)


def _not(w: Writer, _: DType, x: Any) -> Any:
    return w.builder.xor(x, llvm.Constant(x.type, -1 if x.type != I1 else 1))


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
    "exp": partial(_inline, math.exp),
    "log": partial(_inline, math.log),
    "tanh": partial(_inline, math.tanh),
    "sigmoid": partial(_inline, math.sigmoid),
    "softplus": partial(_inline, math.softplus),
    **{
        name: partial(_single, name, function)
        for name, function in (
            ("sin", turns.sin), ("cos", turns.cos), ("tan", turns.tan), ("asin", arcs.asin),
            ("acos", arcs.acos), ("atan", arcs.atan), ("sinh", arcs.sinh), ("cosh", arcs.cosh),
            ("asinh", arcs.asinh), ("acosh", arcs.acosh), ("atanh", arcs.atanh),
            ("erf", arcs.erf), ("erfc", arcs.erfc), ("expm1", arcs.expm1),
        )
    },
}  # fmt: skip

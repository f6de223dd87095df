"""Float functions written inline and without branches, so that loops over them vectorise.

The same code computes an element or a vector of elements.

exp      x = n * ln 2 + r, |r| <= ln 2 / 2: a polynomial of r, times 2 ** n in two halves
log      x = m * 2 ** n, m in [sqrt 1/2, sqrt 2): 2 * atanh((m - 1) / (m + 1)), plus n * ln 2
tanh     an odd polynomial below 0.625, 1 - 2 / (exp(2 |x|) + 1) above
sigmoid  1 / (1 + e), or e / (1 + e) below 0, e = exp(-|x|), and the error of 1 + e taken out

The polynomials minimise the relative error in float32 (exp, tanh) or are truncated series; their
error is below that of the final roundings. n is obtained by adding 1.5 * 2 ** 23 (2 ** 52), which
leaves it in the lowest bits. Other functions are called in the C library.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder, i64
from treadle.jit.codegen.llvm_types import F32, F64, I32, I64, element_type, every, like

_LN2 = math.log(2)


def _float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _bits(type_: Any) -> tuple[Any, int, int]:
    """The integer type of its width, the number of fraction bits, and the exponent bias."""
    if element_type(type_) == F32:
        return like(type_, I32), 23, 127
    return like(type_, I64), 52, 1023


def _pattern(type_: Any, value: float) -> Any:
    """The bits of a float as an integer constant of its width."""
    code, whole = ("f", "i") if element_type(type_) == F32 else ("d", "q")
    return every(_bits(type_)[0], struct.unpack(whole, struct.pack(code, value))[0])


def constant(type_: Any, value: float) -> Any:
    """A float constant of the type."""
    return every(type_, _float32(value) if element_type(type_) == F32 else value)


def fma(builder: FunctionBuilder, left: Any, right: Any, addend: Any) -> Any:
    """Fused a * b + c: rounded once if the machine has the instruction, else twice."""
    if not builder.target.has_fma:
        return builder.builder.fadd(builder.builder.fmul(left, right), addend)
    return builder.intrinsic("llvm.fma", left.type, left, right, addend)


def polynomial(builder: FunctionBuilder, value: Any, coefficients: Sequence[float]) -> Any:
    """coefficients[0] + coefficients[1] * x + ..."""
    result = constant(value.type, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(builder, result, value, constant(value.type, coefficient))
    return result


def _high_and_low(type_: Any) -> tuple[float, float]:
    """Ln 2 in two parts; the first has zeros at its end, so products with n are exact."""
    if element_type(type_) == F32:
        return 0.693145751953125, 1.428606765330187e-06
    return 0.6931471803691238, 1.9082149292705877e-10


_EXP = {
    F32: (1.0, 1.0, 0.49999993050734604, 0.16666514791497886, 0.04166845678548351,
          0.008369418826552169, 0.0013813144593532282),
    F64: tuple(1 / math.factorial(k) for k in range(14)),
}  # fmt: skip


def exp(builder: FunctionBuilder, value: Any) -> Any:
    """E ** x: 0 and infinity beyond the range, NaN of NaN."""
    b, type_ = builder.builder, value.type
    integer, fraction, _ = _bits(type_)
    low, high = (-104.0, 89.0) if element_type(type_) == F32 else (-746.0, 710.0)
    clamped = value
    for sign, limit in ((">", high), ("<", low)):
        bound = constant(type_, limit)
        clamped = b.select(b.fcmp_ordered(sign, clamped, bound), bound, clamped)
    magic = constant(type_, 1.5 * 2.0**fraction)
    shifted = fma(builder, clamped, constant(type_, 1 / _LN2), magic)
    n = b.fsub(shifted, magic)
    big, small = _high_and_low(type_)
    r = fma(builder, n, constant(type_, -big), clamped)
    r = fma(builder, n, constant(type_, -small), r)
    whole = b.sub(b.bitcast(shifted, integer), _pattern(type_, 1.5 * 2.0**fraction))
    return raised(builder, polynomial(builder, r, _EXP[element_type(type_)]), whole)


def raised(builder: FunctionBuilder, value: Any, power: Any) -> Any:
    """Multiply by 2 ** power: one instruction if the processor has it, else two factors."""
    b, type_ = builder.builder, value.type
    integer, fraction, bias = _bits(type_)
    if builder.target.has_scale:
        whole = like(type_, I32)
        narrow = power if integer == whole else b.trunc(power, whole)
        name = f"llvm.ldexp.{i64(type_)}.{i64(whole)}"
        return b.call(builder.external(name, type_, type_, whole), [value, narrow])
    half = b.ashr(power, every(integer, 1))
    for part in (half, b.sub(power, half)):
        raised = b.add(part, every(integer, bias))
        value = b.fmul(value, b.bitcast(b.shl(raised, every(integer, fraction)), type_))
    return value


def log(builder: FunctionBuilder, value: Any) -> Any:
    """The natural logarithm: -infinity of 0, NaN below."""
    b, type_ = builder.builder, value.type
    integer, fraction, bias = _bits(type_)
    smallest = 2.0 ** (1 - bias)
    is_tiny = b.fcmp_ordered("<", value, constant(type_, smallest))
    lifted = b.select(is_tiny, b.fmul(value, constant(type_, 2.0**fraction)), value)
    bits = b.bitcast(lifted, integer)
    moved = b.sub(bits, _pattern(type_, math.sqrt(0.5)))
    exponent = b.ashr(moved, every(integer, fraction))
    mantissa = b.bitcast(b.sub(bits, b.shl(exponent, every(integer, fraction))), type_)
    n = b.sitofp(exponent, type_)
    n = b.fsub(n, b.select(is_tiny, constant(type_, float(fraction)), constant(type_, 0.0)))
    f = b.fsub(mantissa, constant(type_, 1.0))
    s = b.fdiv(f, b.fadd(mantissa, constant(type_, 1.0)))
    square = b.fmul(s, s)
    terms = 5 if element_type(type_) == F32 else 11
    series = polynomial(builder, square, [2 / (2 * k + 3) for k in range(terms)])
    half = b.fmul(b.fmul(f, f), constant(type_, 0.5))
    big, small = _high_and_low(type_)
    inner = b.fmul(s, fma(builder, square, series, half))
    inner = fma(builder, n, constant(type_, small), inner)
    result = fma(builder, n, constant(type_, big), b.fsub(f, b.fsub(half, inner)))
    infinity = constant(type_, math.inf)
    result = b.select(b.fcmp_ordered("==", value, infinity), value, result)
    result = b.select(
        b.fcmp_ordered("==", value, constant(type_, 0.0)), constant(type_, -math.inf), result
    )
    is_wrong = b.fcmp_unordered("<", value, constant(type_, 0.0))
    return b.select(is_wrong, constant(type_, math.nan), result)


_TANH = {
    F32: (-0.3333328194202186, 0.13331442198487686, -0.05373971511587378, 0.020639087354222915,
          -0.005704987126227758),
    F64: (-0.3333333333333333, 0.13333333333333333, -0.05396825396825397, 0.021869488536155203,
          -0.008863235529902197, 0.003592128036572481, -0.0014558343870513183,
          0.000590027440945586, -0.00023912911424355248, 9.691537956929451e-05,
          -3.927832388331683e-05, 1.5918905069328964e-05, -6.451689215655431e-06,
          2.6147711512907546e-06, -1.0597268320104654e-06, 4.294911078273806e-07,
          -1.7406618963571648e-07, 7.054636946400968e-08, -2.859136662305254e-08),
}  # fmt: skip
"""The coefficients of x^3, x^5 ... in tanh(x); those of float64 are of its series."""
_TANH_LIMIT = {F32: 0.625, F64: 0.55}


def tanh(builder: FunctionBuilder, value: Any) -> Any:
    """The hyperbolic tangent; its sign of zero is that of x."""
    b, type_ = builder.builder, value.type
    size = builder.intrinsic("llvm.fabs", type_, value)
    one = constant(type_, 1.0)
    power = exp(builder, b.fmul(size, constant(type_, 2.0)))
    large = b.fsub(one, b.fdiv(constant(type_, 2.0), b.fadd(power, one)))
    square = b.fmul(value, value)
    series = polynomial(builder, square, _TANH[element_type(type_)])
    small = fma(builder, b.fmul(size, square), series, size)
    limit = constant(type_, _TANH_LIMIT[element_type(type_)])
    result = b.select(b.fcmp_ordered("<", size, limit), small, large)
    result = builder.intrinsic("llvm.copysign", type_, result, value)
    return b.select(b.fcmp_unordered("uno", value, value), value, result)


def sigmoid(builder: FunctionBuilder, value: Any) -> Any:
    """1 / (1 + e) for x > 0, else e / (1 + e), where e = exp(-|x|).

    The rounding error of 1 + e is corrected afterwards.
    """
    b, one = builder.builder, constant(value.type, 1.0)
    power = exp(builder, b.fneg(builder.intrinsic("llvm.fabs", value.type, value)))
    is_below = b.fcmp_ordered("<", value, constant(value.type, 0.0))
    total = b.fadd(one, power)
    lost = b.fsub(power, b.fsub(total, one))
    result = b.fdiv(b.select(is_below, power, one), total)
    inverse = b.select(is_below, b.fsub(one, result), result)
    return fma(builder, b.fneg(b.fmul(result, inverse)), lost, result)


def softplus(builder: FunctionBuilder, value: Any) -> Any:
    """max(x, 0) + log1p(exp(-|x|))."""
    b, type_ = builder.builder, value.type
    power = exp(builder, b.fneg(builder.intrinsic("llvm.fabs", type_, value)))
    total = log1p(builder, power)
    zero = constant(type_, 0.0)
    highest = b.select(b.fcmp_ordered(">", value, zero), value, zero)
    result = b.fadd(highest, total)
    return b.select(b.fcmp_unordered("uno", value, value), value, result)


def log1p(builder: FunctionBuilder, value: Any) -> Any:
    """log(1 + x) for x from 0 to 1: log(u) + (x - (u - 1)) / u, u = 1 + x rounded."""
    b, type_ = builder.builder, value.type
    one = constant(type_, 1.0)
    u = b.fadd(one, value)
    lost = b.fsub(value, b.fsub(u, one))
    return b.fadd(log(builder, u), b.fdiv(lost, u))


def by_library(builder: FunctionBuilder, name: str, *operands: Any) -> Any:
    """A function of the C library; its float32 form ends in f."""
    type_ = operands[0].type
    symbol = f"{name}f" if type_ == F32 else name
    function = builder.external(symbol, type_, *(operand.type for operand in operands))
    return builder.builder.call(function, operands)

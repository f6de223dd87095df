"""Float functions written inline and without branches, so that loops over them vectorise.

The same code computes an element or a vector of elements.

exp      x = n * ln 2 + r, |r| <= ln 2 / 2: a polynomial of r, times 2 ** n in two factors
log      x = m * 2 ** n, m in [sqrt 1/2, sqrt 2): 2 * atanh((m - 1) / (m + 1)), plus n * ln 2
tanh     an odd polynomial below 0.625, 1 - 2 / (exp(2 |x|) + 1) above
sigmoid  1 / (1 + e), e = exp(-x), and the error of 1 + e taken out

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
    F32: (1.0, 1.0, 0.4999999701976776, 0.1666654646396637, 0.04166743531823158,
          0.00836626160889864, 0.0013870657421648502),
    F64: tuple(1 / math.factorial(k) for k in range(14)),
}  # fmt: skip
_EXP_RANGE = {F32: (-103.97208404541016, 89.0), F64: (-745.1332191019413, 710.0)}
"""The powers of e below which the result is 0, and from which it is infinite."""


def _at_most(builder: FunctionBuilder, value: Any, limit: float) -> Any:
    """The lesser of a value and a limit; NaN of NaN."""
    b, bound = builder.builder, constant(value.type, limit)
    return b.select(b.fcmp_ordered(">", value, bound), bound, value)


def _clamped(builder: FunctionBuilder, value: Any, low: float, high: float) -> Any:
    """The value within two limits; NaN of NaN."""
    b, bound = builder.builder, constant(value.type, low)
    value = _at_most(builder, value, high)
    return b.select(b.fcmp_ordered("<", value, bound), bound, value)


def _reduced(builder: FunctionBuilder, value: Any, bias: int) -> tuple[Any, Any]:
    """R and the bits of a float, of which the lowest are n + bias: the value is n * ln 2 + r."""
    b, type_ = builder.builder, value.type
    integer, fraction, _ = _bits(type_)
    magic = constant(type_, 1.5 * 2.0**fraction + bias)
    shifted = fma(builder, value, constant(type_, 1 / _LN2), magic)
    n = b.fsub(shifted, magic)
    for part in _high_and_low(type_):
        value = fma(builder, n, constant(type_, -part), value)
    return value, b.bitcast(shifted, integer)


def exp(builder: FunctionBuilder, value: Any) -> Any:
    """E ** x: 0 and infinity beyond the range, NaN of NaN.

    Below the range e ** 0 is computed and replaced by 0: Intel's processors take 150 cycles for a
    subnormal result, also for one that is rounded to 0. Masked scores are that low.
    """
    b, type_, kind = builder.builder, value.type, element_type(value.type)
    _, fraction, bias = _bits(type_)
    low, high = _EXP_RANGE[kind]
    zero, is_more = constant(type_, 0.0), b.fcmp_unordered(">=", value, constant(type_, low))
    within = b.select(is_more, _at_most(builder, value, high), zero)
    rest, shifted = _reduced(builder, within, 2 * bias)
    power = b.sub(shifted, _pattern(type_, 1.5 * 2.0**fraction + 2 * bias))
    return b.select(is_more, raised(builder, polynomial(builder, rest, _EXP[kind]), power), zero)


def raised(builder: FunctionBuilder, value: Any, power: Any) -> Any:
    """Multiply by 2 ** power: one instruction if the processor has it, else two factors."""
    b, type_ = builder.builder, value.type
    integer, fraction, bias = _bits(type_)
    if builder.target.has_scale:
        whole = like(type_, I32)
        narrow = power if integer == whole else b.trunc(power, whole)
        name = f"llvm.ldexp.{i64(type_)}.{i64(whole)}"
        return b.call(builder.external(name, type_, type_, whole), [value, narrow])
    biased = b.add(power, every(integer, 2 * bias))
    half = b.lshr(biased, every(integer, 1))
    for part in (half, b.sub(biased, half)):
        value = b.fmul(value, b.bitcast(b.shl(part, every(integer, fraction)), type_))
    return value


def _two_to_the(builder: FunctionBuilder, shifted: Any, type_: Any) -> Any:
    """2 ** n, where the lowest bits of an integer are n and the exponent's bias."""
    return builder.builder.bitcast(
        builder.builder.shl(shifted, every(shifted.type, _bits(type_)[1])), type_
    )


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
_TANH_ONE = {F32: 20.0, F64: 40.0}
"""Twice the numbers whose tanh is 1 when rounded."""


def tanh(builder: FunctionBuilder, value: Any) -> Any:
    """The hyperbolic tangent; its sign of zero is that of x."""
    b, type_, kind = builder.builder, value.type, element_type(value.type)
    size = builder.intrinsic("llvm.fabs", type_, value)
    one, limit = constant(type_, 1.0), constant(type_, _TANH_LIMIT[kind])
    twice = _at_most(builder, b.fadd(size, size), _TANH_ONE[kind])
    rest, shifted = _reduced(builder, twice, _bits(type_)[2])
    power = _two_to_the(builder, shifted, type_)
    total = fma(builder, polynomial(builder, rest, _EXP[kind]), power, one)
    large = b.fsub(one, b.fdiv(constant(type_, 2.0), total))
    square = b.fmul(value, value)
    series = polynomial(builder, square, _TANH[kind])
    small = fma(builder, b.fmul(size, square), series, size)
    result = b.select(b.fcmp_ordered(">", size, limit), large, small)
    return builder.intrinsic("llvm.copysign", type_, result, value)


_SIGMOID_RANGE = {F32: (-104.0, 30.0), F64: (-746.0, 60.0)}
_SIGMOID_SCALE = {F32: 64, F64: 512}


def sigmoid(builder: FunctionBuilder, value: Any) -> Any:
    """1 / (1 + exp(-x)), where exp(-x) is p + 1 times a power of two.

    The sum is rounded once, and the rounding is corrected afterwards. It is computed times a
    small constant: exp(-x) may be beyond the range where the result is not.
    """
    b, type_, kind = builder.builder, value.type, element_type(value.type)
    scale = _SIGMOID_SCALE[kind]
    one = constant(type_, 2.0**-scale)
    clamped = b.fneg(_clamped(builder, value, *_SIGMOID_RANGE[kind]))
    rest, shifted = _reduced(builder, clamped, _bits(type_)[2] - scale)
    power = _two_to_the(builder, shifted, type_)
    series = polynomial(builder, rest, _EXP[kind][2:])
    less_one = fma(builder, b.fmul(rest, rest), series, rest)
    total = fma(builder, less_one, power, b.fadd(power, one))
    lost = fma(builder, less_one, power, b.fadd(b.fsub(power, total), one))
    result = b.fdiv(one, total)
    relative = b.fmul(b.fmul(result, constant(type_, 2.0**scale)), lost)
    return fma(builder, b.fneg(relative), result, result)


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

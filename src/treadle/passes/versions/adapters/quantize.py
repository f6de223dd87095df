"""Adapters for quantization along an axis or in blocks, written out for older versions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle import ops
from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.numbers import rounded_to_even
from treadle.passes.versions.adapters.steps import first, having, operand, two, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down

_ROUND_SINCE = 11
_LIMITS = {
    DType.INT8: (-128, 127),
    DType.UINT8: (0, 255),
    DType.INT16: (-(2**15), 2**15 - 1),
    DType.UINT16: (0, 2**16 - 1),
}


@down("DequantizeLinear", 23)
def typed_by_scale(at: Rewriter, step: Leaf) -> Adapted:
    """Drop an `output_dtype` that equals the scale's type; add a Cast for another one."""
    given = at.attributes(step)
    wanted = given["output_dtype"]
    plain = without(step, "output_dtype")
    if not wanted or wanted == ops.element_to_proto(at.dtype(operand(step, 1))):
        return plain
    attributes = {name: given[name] for name in ("axis", "block_size")}
    made = at.op("DequantizeLinear", *step.operands, **attributes)
    return at.op("Cast", made, to=wanted)


@down("QuantizeLinear", 23)
def usual_precision(at: Rewriter, step: Leaf) -> Adapted:
    """Require the precision of the division to be that of the scale."""
    wanted = at.attributes(step)["precision"]
    scale = operand(step, 1)
    if not wanted or wanted == ops.element_to_proto(at.dtype(scale)):
        return without(step, "precision")
    if wanted != ops.element_to_proto(DType.FLOAT32):
        raise NoForm("the precision of its division cannot be set before opset 23")
    x = at.cast(first(step), DType.FLOAT32)
    assert scale is not None
    wide = at.cast(scale, DType.FLOAT32)
    return without(replace(step, operands=(x, wide, *step.operands[2:])), "precision")


@down("QuantizeLinear", 21)
def no_blocks_to_quantize(at: Rewriter, step: Leaf) -> Adapted:
    """Write out blocks; the zero point determines the type."""
    given = at.attributes(step)
    wanted, zero = given["output_dtype"], operand(step, 2)
    if given["block_size"]:
        return _quantized(at, step)
    plain = without(step, "block_size", "output_dtype")
    if zero is not None or not wanted:
        return plain
    dtype = at.dtype(step.results[0])
    scale = operand(step, 1)
    zeros = at.cast(at.op("Mul", scale, at.scalar_like(scale, 0)), dtype) if scale else None
    return replace(plain, operands=(*step.operands[:2], zeros))


@down("DequantizeLinear", 21)
def no_blocks_to_dequantize(at: Rewriter, step: Leaf) -> Adapted:
    """Write out blocks."""
    return (
        _dequantized(at, step) if at.attributes(step)["block_size"] else without(step, "block_size")
    )


@down("QuantizeLinear", 19)
def saturating(at: Rewriter, step: Leaf) -> Adapted:
    """Integers always saturate, as their limits require."""
    x, scale = two(step)
    plain = without(step, "saturate")
    wide = [at.cast(v, DType.FLOAT32) if at.dtype(v) is not DType.INT32 else v for v in (x, scale)]
    return replace(plain, operands=(*wide, *step.operands[2:]))


@down("DequantizeLinear", 19)
def from_float32(at: Rewriter, step: Leaf) -> Adapted:
    """Cast a scale other than float32, and the result back."""
    scale = operand(step, 1)
    dtype = at.dtype(scale)
    if scale is None or dtype is DType.FLOAT32:
        return step
    wide = at.cast(scale, DType.FLOAT32)
    axis = at.attributes(step)["axis"]
    made = at.op("DequantizeLinear", first(step), wide, *step.operands[2:], axis=axis)
    return at.cast(made, dtype)


@down("QuantizeLinear", 13)
def whole_tensor_to_quantize(at: Rewriter, step: Leaf) -> Adapted:
    """Write out a scale per item along an axis."""
    scale = at.shape(operand(step, 1))
    return having(step, axis=None) if scale == () else _quantized(at, step)


@down("DequantizeLinear", 13)
def whole_tensor_to_dequantize(at: Rewriter, step: Leaf) -> Adapted:
    """Write out a scale per item along an axis."""
    scale = at.shape(operand(step, 1))
    return having(step, axis=None) if scale == () else _dequantized(at, step)


@down("QuantizeLinear", 10)
def to_quantize(at: Rewriter, step: Leaf) -> Adapted:
    """Write the operator out in older ones."""
    return _quantized(at, step)


@down("DequantizeLinear", 10)
def to_dequantize(at: Rewriter, step: Leaf) -> Adapted:
    """Write the operator out in older ones."""
    return _dequantized(at, step)


def _dequantized(at: Rewriter, step: Leaf) -> Value:
    """(x - zero) * scale, with each scale broadcast over its items."""
    x, scale = two(step)
    dtype = at.dtype(scale)
    narrow = dtype in (DType.FLOAT16, DType.BFLOAT16)
    work = DType.FLOAT32 if narrow else dtype
    zero = operand(step, 2)
    x_ = at.cast(x, DType.INT32) if at.dtype(x) is not DType.INT32 else x
    if zero is not None:
        x_ = at.op("Sub", x_, at.cast(_over(at, step, zero), DType.INT32))
    made = at.op("Mul", at.cast(x_, work), at.cast(_over(at, step, scale), work))
    return at.cast(made, dtype) if narrow else made


def _quantized(at: Rewriter, step: Leaf) -> Value:
    """saturate(round(x / scale) + zero), with each scale broadcast over its items."""
    x, scale = two(step)
    zero, dtype = operand(step, 2), at.dtype(step.results[0])
    if dtype not in _LIMITS:
        raise NoForm(f"quantization to {dtype} has no form in older operators")
    work = DType.FLOAT32
    made = at.op("Div", at.cast(x, work), at.cast(_over(at, step, scale), work))
    over = None if zero is None else _over(at, step, zero)
    return _to_type(at, made, over, dtype)


def _rounded(at: Rewriter, x: Value) -> Value:
    return at.op("Round", x) if at.opset >= _ROUND_SINCE else rounded_to_even(at, x)


def _over(at: Rewriter, step: Leaf, parameter: Value) -> Value:
    """Reshape a scale or zero point so that it broadcasts over the operand."""
    given, x = at.attributes(step), first(step)
    shape = at.shape(parameter)
    if shape is None:
        raise NoForm("the rank of its scale is not known", "declare its shape")
    if not shape:
        return parameter
    axis = given.get("axis", 1) % at.rank(x)
    block = given.get("block_size", 0)
    if not block:
        return at.unsqueeze(parameter, *range(1, at.rank(x) - axis))
    extent = at.dim(x, axis)
    if not isinstance(extent, int):
        raise NoForm("blocks along an axis whose extent is not known", "fix the extent")
    places = at.ints(*(k // block for k in range(extent)))
    return at.op("Gather", parameter, places, axis=axis)


@down("QLinearMatMul", 10)
def integer_product(at: Rewriter, step: Leaf) -> Adapted:
    """The product of the dequantized matrices, quantized."""
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = step.operands
    a_scale, b_scale, scale = (at.cast(v, DType.FLOAT32) for v in (a_scale, b_scale, scale) if v)
    left = at.op("Mul", _shifted(at, a, a_zero), a_scale)
    right = at.op("Mul", _shifted(at, b, b_zero), b_scale)
    quotient = at.op("Div", at.op("MatMul", left, right), scale)
    return _to_type(at, quotient, zero, at.dtype(step.results[0]))


def _shifted(at: Rewriter, x: Value | None, zero: Value | None) -> Value:
    if x is None:
        raise NoForm("an operand is absent")
    wide = at.cast(x, DType.FLOAT32)
    return at.op("Sub", wide, at.cast(zero, DType.FLOAT32)) if zero is not None else wide


@down("MatMulInteger", 10)
def product_of_int32(at: Rewriter, step: Leaf) -> Adapted:
    """A product of int32, which wraps around in the same way."""
    factors = []
    for position in (0, 1):
        x, zero = operand(step, position), operand(step, position + 2)
        wide = at.cast(x, DType.INT32) if x is not None else None
        if wide is not None and zero is not None:
            low = at.cast(zero, DType.INT32)
            if position == 0 and len(at.shape(zero) or ()) == 1 and at.rank(wide) > 1:
                low = at.unsqueeze(low, 1)
            wide = at.op("Sub", wide, low)
        factors.append(wide)
    return at.op("MatMul", *factors)


@down("QLinearConv", 10)
def integer_convolution(at: Rewriter, step: Leaf) -> Adapted:
    """Convolve the dequantized numbers, and quantize the result."""
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero, *bias = step.operands
    rank = at.rank(w)

    def spread(value: Value | None) -> Value | None:
        return at.unsqueeze(value, *range(1, rank)) if value and at.shape(value) else value

    data = at.op("Mul", _shifted(at, x, x_zero), x_scale)
    weights = at.op("Mul", _shifted(at, w, spread(w_zero)), spread(w_scale))
    made = at.op("Conv", data, weights, **dict(step.attributes))
    if bias and bias[0] is not None:
        column = at.op("Mul", at.cast(bias[0], DType.FLOAT32), at.op("Mul", x_scale, w_scale))
        made = at.op("Add", made, at.unsqueeze(column, *range(1, rank - 1)))
    return _to_type(at, at.op("Div", made, scale), zero, at.dtype(step.results[0]))


def _to_type(at: Rewriter, quotient: Value, zero: Value | None, dtype: DType) -> Value:
    """saturate(round(quotient) + zero)."""
    made = _rounded(at, quotient)
    if zero is not None:
        made = at.op("Add", made, at.cast(zero, DType.FLOAT32))
    low, high = (at.const(np.float32(n)) for n in _LIMITS[dtype])
    return at.cast(at.op("Min", at.op("Max", made, low), high), dtype)

"""Quantization, and products of quantized tensors, computed in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.convolve import convolved, grouped
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.operators.windows import window
from treadle.formats.openvino.write.refusals import Refusal
from treadle.ir import DType

_WHOLE = "iu"


def _beside(context: OpContext, position: int, axis: int, rank: int) -> Wire:
    """A scale or zero point as float32, aligned with an axis of its operand."""
    value = context.convert(context[position], DType.FLOAT32)
    shape = context.shape(position)
    if shape is None or len(shape) != 1 or shape == (1,):
        return value if shape != (1,) else context.reshape(value, *[1] * rank)
    return context.reshape(value, *[1] * axis, -1, *[1] * (rank - axis - 1))


def _check(context: OpContext) -> None:
    if context.integer("block_size"):
        raise Refusal("block-wise scales have no form")


def centred(context: OpContext, position: int, zero: int, axis: int) -> Wire:
    """An operand minus its zero point, as float32."""
    value = context.convert(context[position], DType.FLOAT32)
    if not context.has(zero):
        return value
    point = _beside(context, zero, axis, context.rank(position))
    return context.layer("Subtract-1", value, point)


def _on_scale(
    context: OpContext, value: Wire, scale: Wire, zero: Wire | None, dtype: DType
) -> Wire:
    """round(value / scale) + zero, clipped to the range of the type."""
    numpy: np.dtype[Any] = dtype.numpy
    if numpy.kind not in _WHOLE:
        raise Refusal(f"quantization to {dtype} has no form")
    made = context.layer("Round-5", context.layer("Divide-1", value, scale), mode="half_to_even")
    if zero is not None:
        made = context.layer("Add-1", made, zero)
    limits = np.iinfo(numpy)
    made = context.layer("Clamp-1", made, min=float(limits.min), max=float(limits.max))
    return context.convert(made, dtype)


@operator("QuantizeLinear")
def quantize(context: OpContext) -> Made:
    """Quantize to integers."""
    _check(context)
    rank = context.rank(0)
    axis = context.axis(default=1) if rank else 0
    zero = _beside(context, 2, axis, rank) if context.has(2) else None
    value = context.convert(context[0], DType.FLOAT32)
    dtype = context.result().dtype or DType.UINT8
    return _on_scale(context, value, _beside(context, 1, axis, rank), zero, dtype)


@operator("DequantizeLinear")
def dequantize(context: OpContext) -> Made:
    """Dequantize from integers."""
    _check(context)
    rank = context.rank(0)
    axis = context.axis(default=1) if rank else 0
    made = context.layer(
        "Multiply-1", centred(context, 0, 2, axis), _beside(context, 1, axis, rank)
    )
    return context.convert(made, context.result().dtype or DType.FLOAT32)


@operator("MatMulInteger")
def integer_matmul(context: OpContext) -> Made:
    """Integers minus their zero points, multiplied as float32: exact below 2**24."""
    one = centred(context, 0, 2, max(context.rank(0) - 2, 0))
    two = centred(context, 1, 3, context.rank(1) - 1)
    made = context.layer("MatMul-1", one, two, transpose_a=False, transpose_b=False)
    return context.convert(made, DType.INT32)


@operator("QLinearConv")
def scaled_convolution(context: OpContext) -> Made:
    """A convolution of quantized tensors; the bias has the product of both scales."""
    rank, groups = context.rank(0), context.integer("group", 1)
    one, two = _beside(context, 1, 1, rank), _beside(context, 4, 0, rank)
    weights = context.layer("Multiply-1", centred(context, 3, 5, 0), two)
    made = convolved(
        context,
        context.layer("Multiply-1", centred(context, 0, 2, 1), one),
        grouped(context, weights, 3, groups),
        window(context, rank - 2),
        groups,
    )
    if context.has(8):
        bias = _beside(context, 8, 1, rank)
        per_channel = _beside(context, 4, 1, rank)
        scale = context.layer("Multiply-1", one, per_channel)
        made = context.layer("Add-1", made, context.layer("Multiply-1", bias, scale))
    return _on_scale(
        context, made, _beside(context, 6, 1, rank), _beside(context, 7, 1, rank), context.dtype(7)
    )


@operator("ConvInteger")
def integer_convolution(context: OpContext) -> Made:
    """Integers minus their zero points, convolved as float32: exact below 2**24."""
    groups = context.integer("group", 1)
    weights = grouped(context, centred(context, 1, 3, 0), 1, groups)
    found = window(context, context.rank(1) - 2)
    made = convolved(context, centred(context, 0, 2, 1), weights, found, groups)
    return context.convert(made, DType.INT32)


@operator("QLinearMatMul")
def scaled_matmul(context: OpContext) -> Made:
    """The matrix product of quantized tensors."""
    parts = []
    for position, axis in ((0, max(context.rank(0) - 2, 0)), (3, context.rank(3) - 1)):
        value = centred(context, position, position + 2, axis)
        scale = _beside(context, position + 1, axis, context.rank(position))
        parts.append(context.layer("Multiply-1", value, scale))
    made = context.layer("MatMul-1", *parts, transpose_a=False, transpose_b=False)
    rank = max(context.rank(0), context.rank(3))
    scale, zero = (_beside(context, k, max(rank - 2, 0), rank) for k in (6, 7))
    return _on_scale(context, made, scale, zero, context.dtype(7))

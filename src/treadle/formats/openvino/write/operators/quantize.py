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


def _beside(hand: OpContext, position: int, axis: int, rank: int) -> Wire:
    """A scale or zero point as float32, aligned with an axis of its operand."""
    value = hand.convert(hand[position], DType.FLOAT32)
    shape = hand.shape(position)
    if shape is None or len(shape) != 1 or shape == (1,):
        return value if shape != (1,) else hand.reshape(value, *[1] * rank)
    return hand.reshape(value, *[1] * axis, -1, *[1] * (rank - axis - 1))


def _check(hand: OpContext) -> None:
    if hand.integer("block_size"):
        raise Refusal("block-wise scales have no form")


def centred(hand: OpContext, position: int, zero: int, axis: int) -> Wire:
    """An operand minus its zero point, as float32."""
    value = hand.convert(hand[position], DType.FLOAT32)
    if not hand.has(zero):
        return value
    point = _beside(hand, zero, axis, hand.rank(position))
    return hand.layer("Subtract-1", value, point)


def _on_scale(hand: OpContext, value: Wire, scale: Wire, zero: Wire | None, dtype: DType) -> Wire:
    """round(value / scale) + zero, clipped to the range of the type."""
    numpy: np.dtype[Any] = dtype.numpy
    if numpy.kind not in _WHOLE:
        raise Refusal(f"quantization to {dtype} has no form")
    made = hand.layer("Round-5", hand.layer("Divide-1", value, scale), mode="half_to_even")
    if zero is not None:
        made = hand.layer("Add-1", made, zero)
    limits = np.iinfo(numpy)
    made = hand.layer("Clamp-1", made, min=float(limits.min), max=float(limits.max))
    return hand.convert(made, dtype)


@operator("QuantizeLinear")
def quantize(hand: OpContext) -> Made:
    """Quantize to integers."""
    _check(hand)
    rank = hand.rank(0)
    axis = hand.axis(default=1) if rank else 0
    zero = _beside(hand, 2, axis, rank) if hand.has(2) else None
    value = hand.convert(hand[0], DType.FLOAT32)
    dtype = hand.result().dtype or DType.UINT8
    return _on_scale(hand, value, _beside(hand, 1, axis, rank), zero, dtype)


@operator("DequantizeLinear")
def dequantize(hand: OpContext) -> Made:
    """Dequantize from integers."""
    _check(hand)
    rank = hand.rank(0)
    axis = hand.axis(default=1) if rank else 0
    made = hand.layer("Multiply-1", centred(hand, 0, 2, axis), _beside(hand, 1, axis, rank))
    return hand.convert(made, hand.result().dtype or DType.FLOAT32)


@operator("MatMulInteger")
def integer_matmul(hand: OpContext) -> Made:
    """Integers minus their zero points, multiplied as float32: exact below 2**24."""
    one = centred(hand, 0, 2, max(hand.rank(0) - 2, 0))
    two = centred(hand, 1, 3, hand.rank(1) - 1)
    made = hand.layer("MatMul-1", one, two, transpose_a=False, transpose_b=False)
    return hand.convert(made, DType.INT32)


@operator("QLinearConv")
def scaled_convolution(hand: OpContext) -> Made:
    """A convolution of quantized tensors; the bias has the product of both scales."""
    rank, groups = hand.rank(0), hand.integer("group", 1)
    one, two = _beside(hand, 1, 1, rank), _beside(hand, 4, 0, rank)
    weights = hand.layer("Multiply-1", centred(hand, 3, 5, 0), two)
    made = convolved(
        hand,
        hand.layer("Multiply-1", centred(hand, 0, 2, 1), one),
        grouped(hand, weights, 3, groups),
        window(hand, rank - 2),
        groups,
    )
    if hand.has(8):
        bias = _beside(hand, 8, 1, rank)
        per_channel = _beside(hand, 4, 1, rank)
        scale = hand.layer("Multiply-1", one, per_channel)
        made = hand.layer("Add-1", made, hand.layer("Multiply-1", bias, scale))
    return _on_scale(
        hand, made, _beside(hand, 6, 1, rank), _beside(hand, 7, 1, rank), hand.dtype(7)
    )


@operator("ConvInteger")
def integer_convolution(hand: OpContext) -> Made:
    """Integers minus their zero points, convolved as float32: exact below 2**24."""
    groups = hand.integer("group", 1)
    weights = grouped(hand, centred(hand, 1, 3, 0), 1, groups)
    found = window(hand, hand.rank(1) - 2)
    made = convolved(hand, centred(hand, 0, 2, 1), weights, found, groups)
    return hand.convert(made, DType.INT32)


@operator("QLinearMatMul")
def scaled_matmul(hand: OpContext) -> Made:
    """The matrix product of quantized tensors."""
    parts = []
    for position, axis in ((0, max(hand.rank(0) - 2, 0)), (3, hand.rank(3) - 1)):
        value = centred(hand, position, position + 2, axis)
        scale = _beside(hand, position + 1, axis, hand.rank(position))
        parts.append(hand.layer("Multiply-1", value, scale))
    made = hand.layer("MatMul-1", *parts, transpose_a=False, transpose_b=False)
    rank = max(hand.rank(0), hand.rank(3))
    scale, zero = (_beside(hand, k, max(rank - 2, 0), rank) for k in (6, 7))
    return _on_scale(hand, made, scale, zero, hand.dtype(7))

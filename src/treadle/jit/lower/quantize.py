"""Quantization: numbers in whole ones of 8 and 16 bits, by a scale and a zero point.

Scales and zero points are of the whole tensor or of the items of an axis; those of blocks, other
element types and a precision of one's own are declined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Node
from treadle.jit.lower.contract import product
from treadle.jit.lower.reduce import reduced
from treadle.jit.lower.registry import lowers
from treadle.jit.nodes import Declined
from treadle.ops import element_from_proto

Attributes = Mapping[str, Any]
Operands = Sequence[Any]
_VERSIONS = (10, 13, 19, 21, 23, 24, 25, 28)
_WHOLE = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
_FLOATS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)


@lowers("QuantizeLinear", *_VERSIONS)
def quantize_linear(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """round(x / scale) + zero point, saturated."""
    x, scale, zero = (*operands, None)[:3]
    if attributes.get("precision") or attributes.get("block_size"):
        raise Declined("blocks, or a precision of its own")
    target = element_from_proto(attributes.get("output_dtype") or 0) or DType.UINT8
    x = b.cast(x, DType.FLOAT32) if x.dtype is DType.INT32 else x
    if x.dtype not in _FLOATS:
        raise Declined(f"{x.dtype} to be quantized")
    axis = attributes.get("axis", 1)
    divided = b.map("div", x, b.cast(_spread(b, scale, x, axis), x.dtype))
    zero = b.scalar(0, target) if zero is None else _spread(b, zero, x, axis)
    return _saturated(b, b.cast(divided, DType.FLOAT32), zero)


def _saturated(b: Building, scaled: Node, zero: Node) -> Node:
    """Rounded to even, with the zero point, in its dtype."""
    if zero.dtype not in _WHOLE:
        raise Declined(f"quantized to {zero.dtype}")
    limits = np.iinfo(zero.dtype.numpy.name)
    whole = b.map("add", b.map("round", scaled), b.cast(zero, scaled.dtype))
    low, high = (b.scalar(float(end), scaled.dtype) for end in (limits.min, limits.max))
    return b.cast(b.map("min", b.map("max", whole, low), high), zero.dtype)


def _spread(b: Building, part: Node, x: Node, axis: int) -> Node:
    """A scale or zero point, to broadcast with x: of all, or of each item of the axis."""
    if not part.is_static or len(part.shape) > 1:
        raise Declined("scales of blocks")
    if part.size == 1:
        return b.reshape(part, ())
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise Declined("an axis that is out of range")
    b.expect_equal(x.shape[axis], part.size)
    return b.reshape(part, tuple(part.size if k == axis % rank else 1 for k in range(rank)))


@lowers("DequantizeLinear", *_VERSIONS)
def dequantize_linear(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """(x - zero point) * scale, in the dtype of the scale."""
    x, scale, zero = (*operands, None)[:3]
    target = element_from_proto(attributes.get("output_dtype") or 0) or scale.dtype
    is_known = x.dtype in (*_WHOLE, DType.INT32) and target in _FLOATS
    if attributes.get("block_size") or not is_known or scale.dtype not in _FLOATS:
        raise Declined("blocks, or other element types")
    axis, apart = attributes.get("axis", 1), b.cast(x, DType.INT32)
    if zero is not None:
        apart = b.map("sub", apart, b.cast(_spread(b, zero, x, axis), DType.INT32))
    factor = b.cast(_spread(b, scale, x, axis), DType.FLOAT32)
    return b.cast(b.map("mul", b.cast(apart, DType.FLOAT32), factor), target)


@lowers("DynamicQuantizeLinear", 11)
def dynamic_quantize_linear(b: Building, operands: Operands, _: Attributes) -> Sequence[Node]:
    """X in uint8 by a scale and zero point from its range, which is made to hold 0."""
    (x,) = operands
    if not x.is_static or not x.size:
        raise Declined("the range of what may be empty")
    nought, most = b.scalar(0.0, x.dtype), b.scalar(255.0, x.dtype)
    axes = range(len(x.shape))
    low = b.map("min", reduced(b, "min", x, axes, keep=False), nought)
    high = b.map("max", reduced(b, "max", x, axes, keep=False), nought)
    scale = b.map("div", b.map("sub", high, low), most)
    is_flat = b.map("equal", scale, nought, dtype=DType.BOOL)
    divisor = b.map("where", is_flat, b.scalar(1.0, x.dtype), scale, dtype=x.dtype)
    below = b.map("div", b.map("sub", nought, low), divisor)
    zero = _saturated(b, below, b.scalar(0, DType.UINT8))
    return _saturated(b, b.map("div", x, divisor), zero), scale, zero


@lowers("QLinearMatMul", 10, 21)
def qlinear_matmul(b: Building, operands: Operands, _: Attributes) -> Node:
    """The product of the dequantized matrices, quantized; scales of whole tensors only."""
    left, left_scale, left_zero, right, right_scale, right_zero, scale, zero = operands
    single = (left_scale, left_zero, right_scale, right_zero, scale, zero)
    if not all(each.is_static and each.size == 1 for each in single):
        raise Declined("scales of rows or columns")

    def whole(x: Node, its_zero: Node) -> Node:
        apart = b.cast(b.reshape(its_zero, ()), DType.INT32)
        return b.map("sub", b.cast(x, DType.INT32), apart)

    found = b.cast(product(b, whole(left, left_zero), whole(right, right_zero)), DType.FLOAT64)
    scales = [b.cast(b.reshape(s, ()), DType.FLOAT32) for s in (left_scale, right_scale, scale)]
    factor = b.map("div", b.map("mul", *scales[:2]), scales[2])
    return _saturated(b, b.map("mul", found, b.cast(factor, DType.FLOAT64)), b.reshape(zero, ()))

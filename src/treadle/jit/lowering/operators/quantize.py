"""Quantization to integers of 8 and 16 bits by a scale and a zero point.

Scales and zero points are of the whole tensor, of the items of an axis, or of blocks of them; other
element types, a precision of one's own and blocks that do not come out even are declined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node
from treadle.jit.lowering.operators.axes import nonnegative_axis
from treadle.jit.lowering.operators.integer_product import centred, whole_product
from treadle.jit.lowering.operators.reduce import reduced
from treadle.jit.lowering.registry import Attributes, Lowering, Operands, lowers
from treadle.ops import element_from_proto

_VERSIONS = (10, 13, 19, 21, 23, 24, 25, 28)
_WHOLE = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
_FLOATS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)


@lowers("QuantizeLinear", *_VERSIONS)
def quantize_linear(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """round(x / scale) + zero point, saturated; divided in the precision of the scale."""
    x, scale, zero = (*operands, None)[:3]
    if attributes.get("precision"):
        raise Declined("a precision of its own")
    if attributes.get("block_size"):
        return _by_blocks(builder, quantize_linear, operands, attributes)
    target = element_from_proto(attributes.get("output_dtype") or 0) or DType.UINT8
    if x.dtype not in (*_FLOATS, DType.INT32):
        raise Declined(f"quantization of {x.dtype}")
    precision = scale.dtype if scale.dtype in _FLOATS else DType.FLOAT32
    x, axis = builder.cast(x, precision), attributes.get("axis", 1)
    divided = builder.map("div", x, builder.cast(_spread(builder, scale, x, axis), precision))
    zero = builder.scalar(0, target) if zero is None else _spread(builder, zero, x, axis)
    return _saturated(builder, builder.cast(divided, DType.FLOAT32), zero)


def _saturated(builder: KernelBuilder, scaled: Node, zero: Node) -> Node:
    """Round to even, add the zero point and saturate to its dtype."""
    if zero.dtype not in _WHOLE:
        raise Declined(f"quantization to {zero.dtype}")
    limits = np.iinfo(zero.dtype.numpy.name)
    whole = builder.map("add", builder.map("round", scaled), builder.cast(zero, scaled.dtype))
    low, high = (builder.scalar(float(end), scaled.dtype) for end in (limits.min, limits.max))
    return builder.cast(builder.map("min", builder.map("max", whole, low), high), zero.dtype)


def _spread(builder: KernelBuilder, part: Node, node: Node, axis: int) -> Node:
    """A scale or zero point, to broadcast with x: of all, or of each item of the axis.

    One of the rank of x broadcasts as it is: that of blocks.
    """
    if part.shape and len(part.shape) == len(node.shape) > 1:
        return part
    if not part.is_static or len(part.shape) > 1:
        raise Declined("block-wise scales")
    if part.size == 1:
        return builder.reshape(part, ())
    rank = len(node.shape)
    along = nonnegative_axis(axis, rank)
    builder.expect_equal(node.shape[along], part.size)
    return builder.reshape(part, tuple(part.size if k == along else 1 for k in range(rank)))


def _by_blocks(
    builder: KernelBuilder, lower: Lowering, operands: Operands, attributes: Attributes
) -> Node:
    """An operator on x with the axis of blocks split in two: blocks, and what is in them."""
    x, size, rank = operands[0], attributes["block_size"], len(operands[0].shape)
    axis = nonnegative_axis(attributes.get("axis", 1), rank)
    shape = extents_of(x)
    blocks = shape[axis] // size
    scales = (*shape[:axis], blocks, *shape[axis + 1 :])
    parts = [each for each in operands[1:] if each is not None]
    if shape[axis] % size or any(each.shape != scales for each in parts):
        raise Declined(f"blocks of {size} in {shape[axis]} elements")
    inner = [builder.reshape(x, (*shape[:axis], blocks, size, *shape[axis + 1 :]))]
    inner += [
        builder.reshape(each, (*scales[: axis + 1], 1, *scales[axis + 1 :])) for each in parts
    ]
    made = lower(builder, inner, {**attributes, "block_size": 0})
    assert isinstance(made, Node)
    return builder.reshape(made, shape)


@lowers("DequantizeLinear", *_VERSIONS)
def dequantize_linear(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """(x - zero point) * scale, in the dtype of the scale."""
    x, scale, zero = (*operands, None)[:3]
    target = element_from_proto(attributes.get("output_dtype") or 0) or scale.dtype
    is_known = x.dtype in (*_WHOLE, DType.INT32) and target in _FLOATS
    if not is_known or scale.dtype not in _FLOATS:
        raise Declined(f"{x.dtype} by a scale of {scale.dtype} to {target}")
    if attributes.get("block_size"):
        return _by_blocks(builder, dequantize_linear, operands, attributes)
    axis, apart = attributes.get("axis", 1), builder.cast(x, DType.INT32)
    if zero is not None:
        apart = builder.map(
            "sub", apart, builder.cast(_spread(builder, zero, x, axis), DType.INT32)
        )
    factor = builder.cast(_spread(builder, scale, x, axis), DType.FLOAT32)
    return builder.cast(builder.map("mul", builder.cast(apart, DType.FLOAT32), factor), target)


@lowers("DynamicQuantizeLinear", 11)
def dynamic_quantize_linear(
    builder: KernelBuilder, operands: Operands, _: Attributes
) -> Sequence[Node]:
    """Quantize x to uint8 with a scale and zero point from its range, extended to include 0.

    The scale of a tensor of zeros is 1, as in the kernel of interp.
    """
    (x,) = operands
    if not x.is_static or not x.size:
        raise Declined("the range of a tensor that may be empty")
    nought, most = builder.scalar(0.0, x.dtype), builder.scalar(255.0, x.dtype)
    axes = range(len(x.shape))
    low = builder.map("min", reduced(builder, "min", x, axes, keep=False), nought)
    high = builder.map("max", reduced(builder, "max", x, axes, keep=False), nought)
    one, extent = builder.scalar(1.0, x.dtype), builder.map("sub", high, low)
    is_flat = builder.map("equal", extent, nought)
    quotient = builder.map("div", extent, most)
    scale = builder.map("where", is_flat, one, quotient)
    has_none = builder.map("equal", scale, nought)
    divisor = builder.map("where", has_none, one, scale)
    below = builder.map("div", builder.map("sub", nought, low), divisor)
    zero = _saturated(builder, below, builder.scalar(0, DType.UINT8))
    return _saturated(builder, builder.map("div", x, divisor), zero), scale, zero


@lowers("QLinearMatMul", 10, 21)
def qlinear_matmul(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The product of the dequantized matrices, quantized.

    Scales and zero points are of all of a tensor, of the rows of A and of the columns of B.
    """
    left, left_scale, left_zero, right, right_scale, right_zero, scale, zero = operands
    if not all(each.is_static and each.size == 1 for each in (scale, zero)):
        raise Declined("an output scale per row or column")
    rows, columns = len(left.shape) - 2, len(right.shape) - 1
    whole = whole_product(
        builder, centred(builder, left, left_zero, rows),
        centred(builder, right, right_zero, columns),
    )  # fmt: skip
    scales = [
        builder.cast(_of_axis(builder, left_scale, left, rows), DType.FLOAT32),
        builder.cast(_of_axis(builder, right_scale, right, columns), DType.FLOAT32),
        builder.cast(builder.reshape(scale, ()), DType.FLOAT32),
    ]
    factor = builder.map("div", builder.map("mul", *scales[:2]), scales[2])
    found = builder.map(
        "mul", builder.cast(whole, DType.FLOAT64), builder.cast(factor, DType.FLOAT64)
    )
    return _saturated(builder, found, builder.reshape(zero, ()))


def _of_axis(builder: KernelBuilder, part: Node, node: Node, axis: int) -> Node:
    """A scale that is of all of a matrix, or of each row or column, to broadcast with products."""
    if not part.is_static or (part.size != 1 and (len(part.shape) != 1 or len(node.shape) < 2)):
        raise Declined("a scale of several axes")
    if part.size == 1:
        return builder.reshape(part, ())
    builder.expect_equal(node.shape[axis], part.size)
    return builder.reshape(part, (part.size, 1) if axis == len(node.shape) - 2 else (part.size,))

"""QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, QLinearMatMul."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from treadle.ops.elements import element_from_proto
from treadle.ops.kernels.cast import cast
from treadle.ops.kernels.common import NARROW, positive
from treadle.ops.kernels.registry import evaluates

_PRECISIONS = tuple(map(np.dtype, (np.float32, np.float16, ml_dtypes.bfloat16)))
_iinfo: Any = ml_dtypes.iinfo


def quantize_to(scaled: np.ndarray, zero: np.ndarray, saturate: bool = True) -> np.ndarray:
    """Numbers already divided by the scale, rounded to even, in the dtype of the zero point."""
    if zero.dtype in NARROW:
        return cast(np.asarray(scaled + zero.astype(scaled.dtype)), zero.dtype, saturate)
    limits = _iinfo(zero.dtype)
    whole = np.rint(scaled) + zero.astype(np.int32)
    return np.clip(whole, int(limits.min), int(limits.max)).astype(zero.dtype)


def _spread(part: np.ndarray, x: np.ndarray, axis: int, block_size: int) -> np.ndarray:
    """Expand a scale or zero point: of the whole tensor, of slices of an axis, or of blocks."""
    if part.size == 1 and part.ndim <= 1:
        return part.reshape(())
    axis = positive(axis, x.ndim)
    if not block_size:
        return part.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    blocks = np.repeat(part, block_size, axis)
    return np.take(blocks, np.arange(x.shape[axis]), axis)


@evaluates("QuantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def quantize_linear(
    x: np.ndarray,
    scale: np.ndarray,
    zero: np.ndarray | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    saturate: int = 1,
    output_dtype: int = 0,
    precision: int = 0,
) -> Any:
    """round(x / scale) + zero point, saturated; divided in the precision of the scale."""
    target = element_from_proto(output_dtype)
    if zero is None:
        zero = np.zeros((), np.uint8 if target is None else target.numpy)
    in_type = element_from_proto(precision)
    divided = _divided(x, _spread(scale, x, axis, block_size), in_type and in_type.numpy)
    return quantize_to(divided, _spread(zero, x, axis, block_size), bool(saturate))


def _divided(x: np.ndarray, scale: np.ndarray, precision: np.dtype[Any] | None) -> np.ndarray:
    if precision is None:
        precision = scale.dtype if scale.dtype in _PRECISIONS else np.dtype(np.float32)
    return np.asarray(x.astype(precision) / scale.astype(precision)).astype(np.float32)


@evaluates("DequantizeLinear", 10, 13, 19, 21, 23, 24, 25, 28)
def dequantize_linear(
    x: np.ndarray,
    scale: np.ndarray,
    zero: np.ndarray | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Any:
    """(x - zero point) * scale."""
    target = element_from_proto(output_dtype)
    dtype = scale.dtype if target is None else target.numpy
    inner = np.int32 if x.dtype not in NARROW else np.float32
    apart = x.astype(inner)
    if zero is not None:
        apart = apart - _spread(zero, x, axis, block_size).astype(inner)
    factor = _spread(scale, x, axis, block_size)
    return np.asarray(apart.astype(np.float32) * factor.astype(np.float32)).astype(dtype)


@evaluates("DynamicQuantizeLinear", 11)
def dynamic_quantize_linear(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Quantize x to uint8 with a scale and zero point from its range, extended to include 0.

    Where all of x is 0, or x is empty, the standard's formula divides 0 by 0. The scale is 1 then,
    as in onnxruntime.
    """
    low, high = min(x.min(initial=0), np.float32(0)), max(x.max(initial=0), np.float32(0))
    scale = np.asarray(1 if low == high else (high - low) / np.float32(255), np.float32)
    zero = np.asarray(np.clip(np.rint((0 - low) / scale) if scale else 0, 0, 255)).astype(np.uint8)
    return (quantize_to(x / scale, zero) if scale else np.full_like(x, zero, np.uint8)), scale, zero


@evaluates("QLinearMatMul", 10, 21)
def qlinear_matmul(
    a: np.ndarray,
    a_scale: np.ndarray,
    a_zero: np.ndarray,
    b: np.ndarray,
    b_scale: np.ndarray,
    b_zero: np.ndarray,
    y_scale: np.ndarray,
    y_zero: np.ndarray,
) -> Any:
    """The product of the dequantized matrices, quantized."""
    a_scale, a_zero, b_scale, b_zero, y_scale, y_zero = (
        each.reshape(()) if each.size == 1 else each
        for each in (a_scale, a_zero, b_scale, b_zero, y_scale, y_zero)
    )
    left = a.astype(np.int32) - _rows(a_zero, a).astype(np.int32)
    right = b.astype(np.int32) - b_zero.astype(np.int32)
    factor = _rows(a_scale, a).astype(np.float32) * b_scale.astype(np.float32)
    product = np.matmul(left, right) * (factor / y_scale.astype(np.float32))
    return quantize_to(np.asarray(product), y_zero)


def _rows(part: np.ndarray, x: np.ndarray) -> np.ndarray:
    return part[:, np.newaxis] if part.ndim == 1 and part.size > 1 and x.ndim > 1 else part

"""Activations with attributes, each by the formula of its schema."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treadle.ops.kernels.common import in_float32, in_float32_except_float16
from treadle.ops.kernels.registry import evaluates
from treadle.ops.kernels.unary import complementary_error_function, sigmoid


@evaluates("LeakyRelu", 1, 6, 16)
@in_float32
def leaky_relu(x: np.ndarray, *, alpha: float) -> Any:
    """x, or alpha * x where it is negative."""
    return np.where(x < 0, x * alpha, x).astype(x.dtype, copy=False)


@evaluates("Elu", 1, 6, 22)
@in_float32
def elu(x: np.ndarray, *, alpha: float) -> Any:
    """x, or alpha * (exp(x) - 1) where it is negative."""
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


@evaluates("Celu", 12, 28)
@in_float32
def celu(x: np.ndarray, *, alpha: float) -> Any:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))


@evaluates("Selu", 1, 6, 22)
@in_float32
def selu(x: np.ndarray, *, alpha: float, gamma: float) -> Any:
    """Gamma * (x, or alpha * (exp(x) - 1) where it is not positive)."""
    return gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


@evaluates("HardSigmoid", 1, 6, 22)
@in_float32
def hard_sigmoid(x: np.ndarray, *, alpha: float, beta: float) -> Any:
    """max(0, min(1, alpha * x + beta))."""
    return np.clip(alpha * x + beta, 0, 1)


@evaluates("ThresholdedRelu", 10, 22)
@in_float32
def thresholded_relu(x: np.ndarray, *, alpha: float) -> Any:
    """X where it is over alpha, 0 elsewhere."""
    return np.where(x > alpha, x, 0).astype(x.dtype, copy=False)


@evaluates("Shrink", 9)
def shrink(x: np.ndarray, *, bias: float, lambd: float) -> Any:
    """X pulled toward 0 by the bias outside of [-lambd, lambd], 0 inside."""
    pulled = np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))
    return pulled.astype(x.dtype)


@evaluates("Gelu", 20)
@in_float32
def gelu(x: np.ndarray, *, approximate: str) -> Any:
    """X * the normal distribution at x, exactly or by its tanh approximation.

    Computed in float64: far below zero the distribution magnifies the rounding of x / sqrt(2).
    """
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    wide = x.astype(np.float64)
    return (0.5 * wide * complementary_error_function(-wide / math.sqrt(2))).astype(x.dtype)


@evaluates("Swish", 24)
@in_float32
def swish(x: np.ndarray, *, alpha: float) -> Any:
    """X * sigmoid(alpha * x)."""
    return x * sigmoid(alpha * x)


@evaluates("SwiGLU", 28)
@in_float32
def swiglu(gate: np.ndarray, x: np.ndarray, *, alpha: float) -> Any:
    """swish(gate) * x."""
    return gate * sigmoid(alpha * gate) * x


def rows(function: Any) -> Any:
    """Opsets 1 to 12: flatten the axes from `axis` on into one axis."""

    def flattened(x: np.ndarray, *, axis: int) -> Any:
        if not -x.ndim <= axis <= x.ndim:
            raise ValueError(f"axis {axis} is out of range for rank {x.ndim}")
        axis = axis + x.ndim if axis < 0 else axis
        flat = x.reshape(math.prod(x.shape[:axis]), -1) if x.size else x
        return function(flat, axis=-1).reshape(x.shape)

    return flattened


@evaluates("Softmax", 13)
@in_float32_except_float16
def softmax(x: np.ndarray, *, axis: int) -> Any:
    """exp(x) / sum(exp(x)) along the axis, without its overflow."""
    if not x.size:
        return x
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


@evaluates("LogSoftmax", 13)
@in_float32
def log_softmax(x: np.ndarray, *, axis: int) -> Any:
    """log(softmax(x)), without its underflow."""
    if not x.size:
        return x
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


@evaluates("Hardmax", 13)
def hardmax(x: np.ndarray, *, axis: int) -> Any:
    """1 at the first largest element along the axis, 0 elsewhere."""
    result = np.zeros_like(x)
    if x.size:
        first = np.expand_dims(np.argmax(x, axis=axis), axis)
        np.put_along_axis(result, first, np.ones((), x.dtype), axis)
    return result


evaluates("Softmax", 1, 11)(rows(softmax))
evaluates("LogSoftmax", 1, 11)(rows(log_softmax))
evaluates("Hardmax", 1, 11)(rows(hardmax))

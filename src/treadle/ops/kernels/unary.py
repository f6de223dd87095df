"""Elementwise functions of one operand without special attributes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from treadle.ops.kernels.common import in_float32, is_integer
from treadle.ops.kernels.registry import evaluates

evaluates("Abs", 1, 6, 13)(np.abs)
evaluates("Neg", 1, 6, 13)(np.negative)
evaluates("Ceil", 1, 6, 13)(np.ceil)
evaluates("Floor", 1, 6, 13)(np.floor)
evaluates("Round", 11, 22)(np.rint)
evaluates("Sign", 9, 13)(np.sign)
evaluates("Exp", 1, 6, 13)(np.exp)
evaluates("Log", 1, 6, 13)(np.log)
evaluates("Sqrt", 1, 6, 13)(np.sqrt)
evaluates("Tanh", 1, 6, 13)(np.tanh)
evaluates("Cos", 7, 22)(np.cos)
evaluates("Sin", 7, 22)(np.sin)
evaluates("Tan", 7, 22)(np.tan)
evaluates("Acos", 7, 22)(np.arccos)
evaluates("Asin", 7, 22)(np.arcsin)
evaluates("Atan", 7, 22)(np.arctan)
evaluates("Cosh", 9, 22)(np.cosh)
evaluates("Sinh", 9, 22)(np.sinh)
evaluates("Acosh", 9, 22)(np.arccosh)
evaluates("Asinh", 9, 22)(np.arcsinh)
evaluates("Atanh", 9, 22)(np.arctanh)

_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


@evaluates("Reciprocal", 1, 6, 13)
@in_float32
def reciprocal(x: np.ndarray) -> Any:
    """1 / x."""
    return 1 / x


@evaluates("Erf", 9, 13)
def error_function(x: np.ndarray) -> Any:
    """The Gauss error function, in float64."""
    result = np.asarray(_erf(x.astype(np.float64)))
    return result.astype(np.float64).astype(x.dtype)


def complementary_error_function(x: np.ndarray) -> Any:
    """1 - erf(x), in float64: exact where erf is near 1, too."""
    result = np.asarray(_erfc(x.astype(np.float64)))
    return result.astype(np.float64).astype(x.dtype)


@evaluates("Sigmoid", 1, 6, 13)
@in_float32
def sigmoid(x: np.ndarray) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


@evaluates("Relu", 1, 6, 13, 14)
def relu(x: np.ndarray) -> Any:
    """max(x, 0); NaN stays."""
    return np.maximum(x, 0)


@evaluates("Softplus", 1, 22)
@in_float32
def softplus(x: np.ndarray) -> Any:
    """log(1 + exp(x)), without its overflow."""
    return np.logaddexp(x, np.zeros((), x.dtype))


@evaluates("Softsign", 1, 22)
@in_float32
def softsign(x: np.ndarray) -> Any:
    """X / (1 + |x|)."""
    return x / (1 + np.abs(x))


@evaluates("HardSwish", 14, 22)
@in_float32
def hard_swish(x: np.ndarray) -> Any:
    """X * max(0, min(1, x/6 + 0.5))."""
    return x * np.clip(x / 6 + 0.5, 0, 1)


@evaluates("Mish", 18, 22)
@in_float32
def mish(x: np.ndarray) -> Any:
    """X * tanh(softplus(x)), as x * e * (e + 2) / (e * (e + 2) + 2) with e = exp(x)."""
    root = np.exp(np.minimum(x, 20) / 2)
    e = root * root
    return x * root * ((e + 2) / (e * (e + 2) + 2)) * root


@evaluates("PRelu", 7, 9, 16)
@in_float32
def parametric_relu(x: np.ndarray, slope: np.ndarray) -> Any:
    """X where it is positive, slope * x elsewhere."""
    return np.where(x < 0, x * slope, x)


@evaluates("PRelu", 1, 6)
def parametric_relu_1(x: np.ndarray, slope: np.ndarray) -> Any:
    """One slope for everything, or one per channel (axis 1)."""
    per_channel = slope.reshape((-1,) + (1,) * (x.ndim - 2)) if slope.size > 1 else slope
    return parametric_relu(x, per_channel if slope.ndim <= 1 else slope)


@evaluates("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25)
def identity(x: Any) -> Any:
    """The operand itself: a tensor, a sequence or an optional."""
    return x


@evaluates("Clip", 11, 12, 13)
def clip(x: np.ndarray, low: np.ndarray | None = None, high: np.ndarray | None = None) -> Any:
    """min(max(x, low), high); either bound may be absent."""
    if low is None:
        return x if high is None else np.minimum(x, high.reshape(()))
    result = np.maximum(x, low.reshape(()))
    if high is None:
        return result
    out = result if isinstance(result, np.ndarray) else None
    return np.minimum(result, high.reshape(()), out=out)


@evaluates("Clip", 1, 6)
def clip_1(x: np.ndarray, *, min: float | None = None, max: float | None = None) -> Any:  # noqa: A002
    """The bounds are attributes."""
    low, high = (None if b is None else np.asarray(b).astype(x.dtype) for b in (min, max))
    assert not is_integer(x), "Clip-1 and 6 take floats only"
    return clip(x, low, high)

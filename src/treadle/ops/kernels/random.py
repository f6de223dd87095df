"""Random tensors, and Dropout.

As in onnx.reference, a seed starts a new generator at every call, so a seeded operator in a loop
returns the same values each time. Without a seed every call differs, or continues the generator of
`set_seed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.ops.elements import element_from_proto
from treadle.ops.kernels.registry import evaluates
from treadle.ops.random import generator


def _dtype(number: int | None, like: np.ndarray | None = None) -> np.dtype[Any]:
    found = element_from_proto(number) if number else None
    if found is not None:
        return found.numpy
    return np.dtype(np.float32) if like is None else like.dtype


@evaluates("RandomNormal", 1, 22)
def random_normal(
    *, shape: Sequence[int], dtype: int, mean: float, scale: float, seed: float | None = None
) -> Any:
    """Normally distributed numbers."""
    return generator(seed).normal(mean, scale, shape).astype(_dtype(dtype))


@evaluates("RandomUniform", 1, 22)
def random_uniform(
    *, shape: Sequence[int], dtype: int, low: float, high: float, seed: float | None = None
) -> Any:
    """Evenly distributed numbers in [low, high)."""
    return generator(seed).uniform(low, high, shape).astype(_dtype(dtype))


@evaluates("RandomNormalLike", 1, 22)
def random_normal_like(
    x: np.ndarray, *, dtype: int | None = None, mean: float, scale: float, seed: float | None = None
) -> Any:
    """RandomNormal with the operand's shape."""
    return np.asarray(generator(seed).normal(mean, scale, x.shape)).astype(_dtype(dtype, x))


@evaluates("RandomUniformLike", 1, 22)
def random_uniform_like(
    x: np.ndarray, *, dtype: int | None = None, low: float, high: float, seed: float | None = None
) -> Any:
    """RandomUniform with the operand's shape."""
    return np.asarray(generator(seed).uniform(low, high, x.shape)).astype(_dtype(dtype, x))


@evaluates("Bernoulli", 15, 22)
def bernoulli(x: np.ndarray, *, dtype: int | None = None, seed: float | None = None) -> Any:
    """Each element is 1 with the probability given by the operand, else 0."""
    drawn = generator(seed).binomial(1, x.astype(np.float64))
    return np.asarray(drawn).astype(_dtype(dtype, x))


@evaluates("Multinomial", 7, 22)
def multinomial(
    x: np.ndarray, *, dtype: int, sample_size: int, seed: float | None = None
) -> np.ndarray:
    """Class indices drawn by unnormalised log-probabilities, `sample_size` for each row."""
    powers = np.exp((x - x.max(axis=1, keepdims=True)).astype(np.float64))
    heights = np.cumsum(powers, axis=1) / powers.sum(axis=1, keepdims=True)
    drawn = generator(seed).uniform(0, 1, (x.shape[0], sample_size))
    classes = (drawn[:, :, np.newaxis] >= heights[:, np.newaxis, :]).sum(axis=2)
    return np.minimum(classes, x.shape[1] - 1).astype(_dtype(dtype))


def _drop(
    x: np.ndarray, ratio: float, seed: float | None, mask_dtype: np.dtype[Any]
) -> tuple[np.ndarray, np.ndarray]:
    if ratio == 0:
        return x, np.ones(x.shape, mask_dtype)
    kept = np.asarray(generator(seed).uniform(0, 1, x.shape) >= ratio)
    return np.asarray(kept * x * (1 / (1 - ratio))).astype(x.dtype), kept.astype(mask_dtype)


@evaluates("Dropout", 12, 13, 22)
def dropout(
    x: np.ndarray,
    ratio: np.ndarray | None = None,
    training_mode: np.ndarray | None = None,
    *,
    seed: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """In training, zero elements at random and scale up the rest; else return the operand."""
    training = training_mode is not None and bool(training_mode)
    share = 0.5 if ratio is None else float(ratio)
    return _drop(x, share if training else 0, seed, np.dtype(bool))


@evaluates("Dropout", 10)
def dropout_10(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dropout-10: inference only."""
    return _drop(x, 0, None, np.dtype(bool))


@evaluates("Dropout", 7)
def dropout_7(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Dropout-7: inference only; the mask has the operand's dtype."""
    return _drop(x, 0, None, x.dtype)


@evaluates("Dropout", 1, 6)
def dropout_1(x: np.ndarray, *, is_test: int, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Dropout before opset 7: trains unless `is_test` is set."""
    return _drop(x, 0 if is_test else ratio, None, x.dtype)

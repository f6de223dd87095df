"""Post-transforms of scores for classifiers and regressors of ai.onnx.ml.

The standard names the transforms; for a single score of two classes they follow onnxruntime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.ops.kernels.strings import texts

_TINY = 1e-7
_A = 0.147
"""Winitzki's approximation of the inverse error function."""


def logistic(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    size = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x < 0, 1 - size, size)


def probit(x: np.ndarray) -> np.ndarray:
    """The quantile of the normal distribution, by an approximation; NaN outside of (0, 1)."""
    centred = 2 * x - 1
    log = np.log((1 - centred) * (1 + centred))
    first = 2 / (np.pi * _A) + log / 2
    size = np.sqrt(np.sqrt(first * first - log / _A) - first)
    return np.sqrt(2) * np.where(centred < 0, -size, size)


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax along the last axis."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def softmax_zero(x: np.ndarray) -> np.ndarray:
    """Softmax along the last axis over the nonzero elements; zeros stay 0."""
    most = x.max(axis=-1, keepdims=True)
    counts = np.abs(x) > _TINY
    powers = np.where(counts, np.exp(x - most), x * np.exp(-most))
    return np.asarray(powers / np.where(counts, powers, 0).sum(axis=-1, keepdims=True))


_TRANSFORMS = {
    "LOGISTIC": logistic,
    "PROBIT": probit,
    "SOFTMAX": softmax,
    "SOFTMAX_ZERO": softmax_zero,
}


def transformed(scores: np.ndarray, transform: str) -> np.ndarray:
    """Apply the transform to the scores, rows of classes, in float32.

    With a single class only PROBIT has an effect.
    """
    if transform == "NONE" or (scores.shape[-1] == 1 and transform != "PROBIT"):
        return scores.astype(np.float32)
    return _TRANSFORMS[transform](scores.astype(np.float32)).astype(np.float32)


def complements(score: np.ndarray, transform: str) -> np.ndarray:
    """Two columns for a single probability p: 1 - p and p."""
    if transform == "LOGISTIC":
        return opposites(score, transform)
    both = np.stack([1 - score, score], axis=-1)
    return transformed(both, transform if transform == "PROBIT" else "NONE")


def opposites(score: np.ndarray, transform: str) -> np.ndarray:
    """Two columns for a single signed score s: -s and s."""
    both = np.stack([-score, score], axis=-1)
    return transformed(both, transform if transform in ("LOGISTIC", "PROBIT") else "NONE")


def labelled(places: np.ndarray, labels: Sequence[Any]) -> np.ndarray:
    """The label at each index."""
    found = [labels[index] for index in places.tolist()]
    if any(isinstance(label, str) for label in labels):
        return texts(found, [len(found)])
    return np.array(found, np.int64)


def rows(x: np.ndarray) -> np.ndarray:
    """The rows of a table in float32; a vector is one row."""
    return (x if x.ndim > 1 else x[None]).astype(np.float32)

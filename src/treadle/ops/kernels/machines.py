"""Linear models and support vector machines of ai.onnx.ml.

onnx.reference computes wrong multi-class probabilities and lacks transforms. The choice between two
classes and the scores of pairs follow onnxruntime: the standard does not define them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from treadle.ops.kernels.registry import ML, evaluates
from treadle.ops.kernels.scores import (
    complements,
    labelled,
    logistic,
    opposites,
    rows,
    transformed,
)

Labels = Sequence[Any]
_ROUNDS = 100


@evaluates("LinearRegressor", 1, domain=ML)
def linear_regressor(
    x: np.ndarray,
    *,
    coefficients: Sequence[float],
    targets: int,
    post_transform: str,
    intercepts: Sequence[float] = (),
) -> np.ndarray:
    """Linear regression: products with the coefficients, plus the intercepts."""
    weights = np.array(coefficients, np.float32).reshape(targets, -1)
    added = np.array(intercepts or [0] * targets, np.float32)
    return transformed(rows(x) @ weights.T + added, post_transform)


@evaluates("LinearClassifier", 1, domain=ML)
def linear_classifier(
    x: np.ndarray,
    *,
    coefficients: Sequence[float],
    post_transform: str,
    intercepts: Sequence[float] = (),
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """The label of the best score, and all scores; a single score decides by its sign."""
    given = rows(x)
    labels: Labels = classlabels_strings or classlabels_ints
    weights = np.array(coefficients, np.float32).reshape(-1, given.shape[-1])
    added = np.array(intercepts or [0] * len(weights), np.float32)
    scores = given @ weights.T + added
    if len(weights) > 1:
        return labelled(scores.argmax(axis=-1), labels), transformed(scores, post_transform)
    has_two = len(labels) == 2
    names = labels if has_two else ("0", "1") if classlabels_strings else (0, 1)
    best = labelled((scores[:, 0] > 0).astype(int), names)
    if has_two:
        return best, complements(scores[:, 0], post_transform)
    return best, transformed(scores, post_transform)


@evaluates("SVMRegressor", 1, domain=ML)
def svm_regressor(
    x: np.ndarray,
    *,
    coefficients: Sequence[float],
    n_supports: int,
    one_class: int,
    post_transform: str,
    rho: Sequence[float],
    kernel_type: str,
    kernel_params: Sequence[float] = (),
    support_vectors: Sequence[float] = (),
) -> np.ndarray:
    """The weighted kernel of each row and the support vectors; without any, a linear model."""
    given, weights = rows(x), np.array(coefficients, np.float32)
    if n_supports:
        vectors = np.array(support_vectors, np.float32).reshape(n_supports, -1)
        score = _kernel(given, vectors, kernel_type, kernel_params) @ weights + rho[0]
    else:
        score = given @ weights + rho[0]
    if one_class:
        score = np.where(score > 0, 1, -1)
    return transformed(score[:, None], post_transform)


@evaluates("SVMClassifier", 1, domain=ML)
def svm_classifier(
    x: np.ndarray,
    *,
    coefficients: Sequence[float],
    rho: Sequence[float],
    post_transform: str,
    kernel_type: str,
    kernel_params: Sequence[float] = (),
    support_vectors: Sequence[float] = (),
    vectors_per_class: Sequence[int] = (),
    prob_a: Sequence[float] = (),
    prob_b: Sequence[float] = (),
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """The class that wins most pairs, with the scores of pairs or the probabilities.

    Without support vectors it is a linear model: the class of the best score.
    """
    given, weights = rows(x), np.array(coefficients, np.float32)
    labels: Labels = classlabels_strings or classlabels_ints
    count = len(labels)
    if not sum(vectors_per_class or ()):
        scores = given @ weights.reshape(count, -1).T + np.float32(rho[0])
        best = scores.argmax(axis=-1)
        if count == 2:
            best = _of_two(scores.max(axis=-1), best, weights)
        return labelled(best, labels), transformed(scores, post_transform)
    vectors = np.array(support_vectors, np.float32).reshape(sum(vectors_per_class), -1)
    kernel = _kernel(given, vectors, kernel_type, kernel_params)
    pairs = _pairs(kernel, weights.reshape(count - 1, -1), rho, vectors_per_class)
    votes = _votes(pairs, count)
    best = votes.argmax(axis=-1)
    if prob_a:
        chances = _chances(pairs, count, prob_a, prob_b)
        return labelled(best, labels), transformed(chances, post_transform)
    if count > 2:
        return labelled(best, labels), transformed(pairs, post_transform)
    best = _of_two(np.zeros(len(given)), best, weights)
    columns = opposites if post_transform == "NONE" else complements
    return labelled(best, labels), columns(pairs[:, 0], post_transform)


def _of_two(most: np.ndarray, best: np.ndarray, weights: np.ndarray) -> np.ndarray:
    wins = most >= 0.5 if (weights >= 0).all() else most > 0
    return np.where(wins, 1, best)


def _kernel(x: np.ndarray, vectors: np.ndarray, kind: str, params: Sequence[float]) -> np.ndarray:
    gamma, added, degree = (np.float32(each) for each in params or (0, 0, 0))
    if kind == "RBF":
        return np.exp(-gamma * np.square(x[:, None] - vectors).sum(axis=-1))
    products = x @ vectors.T
    if kind == "LINEAR":
        return products
    inner = gamma * products + added
    return np.asarray(np.power(inner, degree) if kind == "POLY" else np.tanh(inner))


def _pairs(
    kernel: np.ndarray, weights: np.ndarray, rho: Sequence[float], sizes: Sequence[int]
) -> np.ndarray:
    """The score of every pair of classes; the first class wins if it is above 0."""
    ends = np.cumsum(sizes)
    own = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    scores = [
        kernel[:, own[i]] @ weights[j - 1, own[i]] + kernel[:, own[j]] @ weights[i, own[j]]
        for i, j in combinations(range(len(sizes)), 2)
    ]
    return np.stack(scores, axis=-1) + np.array(rho[: len(scores)], np.float32)


def _votes(pairs: np.ndarray, count: int) -> np.ndarray:
    votes = np.zeros((len(pairs), count), int)
    for k, (i, j) in enumerate(combinations(range(count), 2)):
        votes[:, i] += pairs[:, k] > 0
        votes[:, j] += pairs[:, k] <= 0
    return votes


def _chances(
    pairs: np.ndarray, count: int, prob_a: Sequence[float], prob_b: Sequence[float]
) -> np.ndarray:
    scaled = pairs * np.array(prob_a[: pairs.shape[1]], np.float32) + np.array(
        prob_b[: pairs.shape[1]], np.float32
    )
    won = np.clip(1 - logistic(scaled), 1e-7, 1 - 1e-7).astype(np.float32)
    return np.stack([_coupled(row, count) for row in won])


def _coupled(won: np.ndarray, count: int) -> np.ndarray:
    """Class probabilities from pairwise ones: Wu, Lin and Weng (2004), algorithm 2."""
    r = np.zeros((count, count), np.float32)
    for (i, j), chance in zip(combinations(range(count), 2), won, strict=True):
        r[i, j], r[j, i] = chance, 1 - chance
    q = -r.T * r
    np.fill_diagonal(q, np.square(r).sum(axis=0))
    p = np.full(count, 1 / count, np.float32)
    for _ in range(_ROUNDS):
        product = q @ p
        whole = p @ product
        if np.abs(product - whole).max() < 0.005 / count:
            break
        for k in range(count):
            step = (whole - product[k]) / q[k, k]
            p[k] += step
            whole = (whole + step * (step * q[k, k] + 2 * product[k])) / (1 + step) ** 2
            product = (product + step * q[k]) / (1 + step)
            p = p / (1 + step)
    return p

"""Losses of class scores: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.

    loss[n, d] = -x[n, label[n, d], d] * weight[label[n, d]]        # 0 where the label is ignored

The mean is that of the labels that count, by their weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.ir import show_array
from treadle.ops.kernels.common import in_float32
from treadle.ops.kernels.registry import evaluates

_LEAST_RANK = 2


@evaluates("NegativeLogLikelihoodLoss", 12, 13, 22)
@in_float32
def negative_log_likelihood(
    x: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str,
) -> Any:
    """The loss of logarithms of probabilities, classes along axis 1."""
    _expect_extents(x, labels, weights)
    is_ignored = np.zeros(labels.shape, bool) if ignore_index is None else labels == ignore_index
    _expect_classes(labels[~is_ignored], x.shape[1], ignore_index)
    places = np.where(is_ignored, 0, labels)
    each = np.ones(labels.shape, x.dtype) if weights is None else weights[places]
    each = np.where(is_ignored, np.zeros((), x.dtype), each)
    taken = np.take_along_axis(x, np.expand_dims(places, 1), 1).reshape(labels.shape)
    losses = -np.where(is_ignored, np.zeros((), x.dtype), taken) * each
    if reduction == "none":
        return losses
    total = losses.sum(dtype=x.dtype)
    return total if reduction == "sum" else total / each.sum(dtype=x.dtype)


@evaluates("SoftmaxCrossEntropyLoss", 12, 13)
@in_float32
def softmax_cross_entropy(
    x: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str,
) -> Any:
    """The loss of scores, and the logarithms of their softmax."""
    _expect_extents(x, labels, weights)
    apart = x - x.max(1, keepdims=True) if x.shape[1] else x
    logs = apart - np.log(np.exp(apart).sum(1, keepdims=True, dtype=x.dtype))
    loss = negative_log_likelihood(
        logs, labels, weights, ignore_index=ignore_index, reduction=reduction
    )
    return np.asarray(loss), logs


def _expect_extents(x: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> None:
    if x.ndim < _LEAST_RANK:
        raise ValueError(f"the scores are {show_array(x)}, wanted rank 2 or more")
    wanted = x.shape[:1] + x.shape[2:]
    if labels.shape != wanted:
        raise ValueError(f"the labels are {show_array(labels)}, wanted the shape {list(wanted)}")
    if weights is not None and weights.shape != x.shape[1:2]:
        raise ValueError(
            f"the weights are {show_array(weights)}, wanted one for each of {x.shape[1]} classes"
        )


def _expect_classes(labels: np.ndarray, count: int, ignore_index: int | None) -> None:
    wrong = labels[(labels < 0) | (labels >= count)]
    if wrong.size:
        nor = "" if ignore_index is None else f" and not the ignore_index {ignore_index}"
        raise ValueError(f"label {wrong[0]} is none of {count} classes{nor}")

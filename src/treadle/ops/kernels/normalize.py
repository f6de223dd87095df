"""Normalizations: by batch, instance, layer, group, root mean square, neighbours, norm.

Statistics of floats narrower than 32 bits are taken in float32 (the schemas' `stash_type`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.ir import show_array
from treadle.ops.elements import element_from_proto
from treadle.ops.kernels.common import NARROW, distinct, in_float32, positive
from treadle.ops.kernels.registry import evaluates


def _stashed(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype in NARROW else x


def _standard(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    mean = np.mean(x, axis=axes, keepdims=True)
    apart = x - mean
    spread = np.mean(np.square(apart), axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(spread + epsilon)
    return apart * inverse, mean, inverse


def _per_channel(x: np.ndarray, rank: int) -> np.ndarray:
    return x.reshape((-1,) + (1,) * (rank - 2)) if x.ndim == 1 else x


def _normalized(x: np.ndarray, operands: Sequence[np.ndarray], epsilon: float) -> np.ndarray:
    scale, bias, mean, var = (_per_channel(_stashed(part), x.ndim) for part in operands)
    result = scale * ((_stashed(x) - mean) / np.sqrt(var + epsilon)) + bias
    return result.astype(x.dtype)


def _trained(
    x: np.ndarray,
    operands: Sequence[np.ndarray],
    epsilon: float,
    momentum: float,
    axes: tuple[int, ...],
) -> tuple[np.ndarray, ...]:
    scale, bias, mean, var = operands
    batch_mean = np.mean(_stashed(x), axis=axes)
    batch_var = np.var(_stashed(x), axis=axes)
    y = _normalized(x, (scale, bias, batch_mean, batch_var), epsilon)
    running_mean = mean * momentum + batch_mean * (1 - momentum)
    running_var = var * momentum + batch_var * (1 - momentum)
    running = running_mean.astype(mean.dtype), running_var.astype(var.dtype)
    return y, *running, batch_mean.astype(mean.dtype), batch_var.astype(var.dtype)


@evaluates("BatchNormalization", 14, 15)
def batch_normalization(
    x: np.ndarray,
    *operands: np.ndarray,
    epsilon: float,
    momentum: float,
    training_mode: int,
) -> Any:
    """Normalize by the given statistics, or in training by the batch's, with running averages."""
    if not training_mode:
        return _normalized(x, operands, epsilon)
    over = tuple(axis for axis in range(x.ndim) if axis != 1)
    return _trained(x, operands, epsilon, momentum, over)[:3]


@evaluates("BatchNormalization", 1, 6, 7, 9)
def batch_normalization_1(
    x: np.ndarray,
    *operands: np.ndarray,
    epsilon: float,
    momentum: float,
    is_test: int = 0,
    spatial: int = 1,
    outputs: int,
) -> Any:
    """BatchNormalization before opset 9: trains if more than one result is asked for.

    Without `spatial` it normalizes per activation.
    """
    if is_test or outputs == 1:
        return _normalized(x, operands, epsilon)
    over = tuple(axis for axis in range(x.ndim) if axis != 1) if spatial else (0,)
    return _trained(x, operands, epsilon, momentum, over)


@evaluates("InstanceNormalization", 1, 6, 22)
@in_float32
def instance_normalization(
    x: np.ndarray, scale: np.ndarray, bias: np.ndarray, *, epsilon: float
) -> Any:
    """Normalize every channel of every instance by its own statistics."""
    normal, _, _ = _standard(x, tuple(range(2, x.ndim)), epsilon)
    return normal * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)


@evaluates("LayerNormalization", 17)
def layer_normalization(
    x: np.ndarray,
    scale: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,
) -> tuple[np.ndarray, ...]:
    """Normalize over the axes from `axis` on; also returns mean and inverse standard deviation.

    Those are of the stash type; float64 is not rounded to it before.
    """
    stash = element_from_proto(stash_type)
    assert stash is not None
    over = tuple(range(positive(axis, x.ndim), x.ndim))
    normal, mean, inverse = _standard(_stashed(x), over, epsilon)
    result = normal.astype(x.dtype) * scale
    result = result if bias is None else result + bias
    return result, *(each.astype(stash.numpy, copy=False) for each in (mean, inverse))


@evaluates("RMSNormalization", 23)
def rms_normalization(x: np.ndarray, scale: np.ndarray, *, axis: int, epsilon: float) -> Any:
    """Divide x by its root mean square over the axes from `axis` on."""
    over = tuple(range(positive(axis, x.ndim), x.ndim))
    given = _stashed(x)
    mean_square = np.mean(np.square(given), axis=over, keepdims=True)
    normal = given / np.sqrt(mean_square + epsilon)
    return (normal.astype(x.dtype) * scale).astype(scale.dtype)


def _grouped(x: np.ndarray, num_groups: int, epsilon: float) -> np.ndarray:
    rows = _stashed(x).reshape(x.shape[0], num_groups, -1)
    normal: np.ndarray = _standard(rows, (2,), epsilon)[0]
    return normal.reshape(x.shape)


def _expect_groups(x: np.ndarray, num_groups: int) -> None:
    channels = x.shape[1]
    if num_groups < 1 or channels % num_groups:
        raise ValueError(f"{channels} channels cannot be divided into {num_groups} equal groups")


def _expect_numbers(parts: Sequence[np.ndarray], count: int, of: str) -> None:
    for name, part in zip(("scale", "bias"), parts, strict=True):
        if part.shape != (count,):
            raise ValueError(
                f"the {name} is {show_array(part)}, wanted one for each of {count} {of}"
            )


@evaluates("GroupNormalization", 21)
def group_normalization(
    x: np.ndarray, scale: np.ndarray, bias: np.ndarray, *, num_groups: int, epsilon: float
) -> Any:
    """Normalize groups of channels by their own statistics; scale and bias per channel."""
    _expect_groups(x, num_groups)
    _expect_numbers((scale, bias), x.shape[1], "channels")
    normal = _grouped(x, num_groups, epsilon).astype(x.dtype)
    return normal * _per_channel(scale, x.ndim) + _per_channel(bias, x.ndim)


@evaluates("GroupNormalization", 18)
def group_normalization_18(
    x: np.ndarray, scale: np.ndarray, bias: np.ndarray, *, num_groups: int, epsilon: float
) -> Any:
    """GroupNormalization-18: scale and bias per group."""
    _expect_groups(x, num_groups)
    _expect_numbers((scale, bias), num_groups, "groups")
    each = x.shape[1] // num_groups
    spread = [np.repeat(part, each) for part in (scale, bias)]
    return group_normalization(x, *spread, num_groups=num_groups, epsilon=epsilon)


@evaluates("MeanVarianceNormalization", 9, 13)
@in_float32
def mean_variance_normalization(x: np.ndarray, *, axes: Sequence[int]) -> Any:
    """(x - mean) / (standard deviation + 1e-9) over the axes."""
    over = distinct(axes, x.ndim)
    mean = np.mean(x, axis=over, keepdims=True)
    spread = np.mean(np.square(x), axis=over, keepdims=True) - np.square(mean)
    return (x - mean) / (np.sqrt(spread) + 1e-9)


@evaluates("LpNormalization", 1, 22)
@in_float32
def lp_normalization(x: np.ndarray, *, axis: int, p: int) -> Any:
    """Divide x by its 1-norm or 2-norm along an axis; 0 where the norm is 0."""
    size = np.abs(x) if p == 1 else np.square(x)
    norm = np.sum(size, axis=axis, keepdims=True)
    norm = norm if p == 1 else np.sqrt(norm)
    return np.where(norm == 0, np.zeros((), x.dtype), x / norm)


@evaluates("LRN", 1, 13)
@in_float32
def local_response(x: np.ndarray, *, alpha: float, beta: float, bias: float, size: int) -> Any:
    """Divide x by (bias + alpha / size * the square sum of the neighbouring channels) ** beta."""
    before = (size - 1) // 2
    squares = np.square(x)
    total = np.zeros_like(x)
    for channel in range(x.shape[1]):
        low, high = max(0, channel - before), channel + math.ceil((size - 1) / 2) + 1
        total[:, channel] = squares[:, low:high].sum(axis=1)
    return x / (bias + alpha / size * total) ** beta

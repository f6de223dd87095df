"""Pooling: MaxPool, AveragePool, LpPool, their global forms, MaxUnpool, MaxRoiPool."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.ops.kernels.common import in_float32
from treadle.ops.kernels.registry import evaluates
from treadle.ops.kernels.windows import Window, expect_positive, padded, window

Ints = Sequence[int]


@evaluates("MaxPool", 1, 8, 10, 11, 12, 22)
def max_pool(
    x: np.ndarray,
    *,
    kernel_shape: Ints,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    auto_pad: str,
    ceil_mode: int = 0,
    storage_order: int = 0,
    outputs: int,
) -> Any:
    """The largest element of each window, and its index in the flattened tensor."""
    over = window(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    wider = padded(x, over.widths, lowest)
    best = np.full(x.shape[:2] + over.shape, lowest, x.dtype)
    if outputs < 2:
        for index in over.positions():
            np.maximum(best, wider[index], out=best)
        return best
    places = padded(_places(x.shape, storage_order), over.widths, -1)
    where = np.full(best.shape, -1, np.int64)
    for index in over.positions():
        element, position = wider[index], places[index]
        better = (position >= 0) & ((element > best) | (where < 0))
        best, where = np.where(better, element, best), np.where(better, position, where)
    return best, where


def _places(shape: tuple[int, ...], storage_order: int) -> np.ndarray:
    planes, spatial = math.prod(shape[:2]), shape[2:]
    inner = np.arange(math.prod(spatial))
    plane = inner.reshape(spatial[::-1]).T if storage_order else inner.reshape(spatial)
    first = np.arange(planes).reshape(shape[:2] + (1,) * len(spatial)) * math.prod(spatial)
    return np.asarray(first + plane, np.int64)


def _summed(x: np.ndarray, over: Window) -> np.ndarray:
    wider = padded(x, over.widths, 0)
    total = np.zeros(x.shape[: -len(over.kernel)] + over.shape, x.dtype)
    for index in over.positions():
        total += wider[index]
    return total


@evaluates("AveragePool", 1, 7, 10, 11, 19, 22)
@in_float32
def average_pool(
    x: np.ndarray,
    *,
    kernel_shape: Ints,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    auto_pad: str,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
) -> Any:
    """The mean of each window; pads count if the attribute says so, elements beyond them never."""
    over = window(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    inside = np.ones(x.shape[2:], x.dtype)
    if count_include_pad:
        inside = padded(inside, over.pads, 1)
        beyond = [(0, w[1] - p[1]) for w, p in zip(over.widths, over.pads, strict=True)]
        counted = padded(inside, beyond, 0)
        counts = np.zeros(over.shape, x.dtype)
        for index in over.positions():
            counts += counted[index]
    else:
        counts = _summed(inside, over)
    return _summed(x, over) / counts


@evaluates("LpPool", 1, 2, 11, 18, 22)
@in_float32
def lp_pool(
    x: np.ndarray,
    *,
    kernel_shape: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    auto_pad: str,
    ceil_mode: int = 0,
    p: float,
) -> Any:
    """The p-norm of each window."""
    kernel = x.shape[2:] if kernel_shape is None else kernel_shape
    over = window(x.shape[2:], kernel, strides, dilations, pads, auto_pad, ceil_mode)
    return (_summed(np.abs(x) ** p, over) ** (1 / p)).astype(x.dtype, copy=False)


def _spatial(x: np.ndarray) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@evaluates("GlobalAveragePool", 1, 22)
@in_float32
def global_average_pool(x: np.ndarray) -> Any:
    """The mean over the spatial axes."""
    return np.mean(x, axis=_spatial(x), keepdims=True)


@evaluates("GlobalMaxPool", 1, 22)
def global_max_pool(x: np.ndarray) -> Any:
    """The largest element over the spatial axes."""
    return np.max(x, axis=_spatial(x), keepdims=True)


@evaluates("GlobalLpPool", 1, 2, 22)
@in_float32
def global_lp_pool(x: np.ndarray, *, p: float) -> Any:
    """The p-norm over the spatial axes."""
    total = np.sum(np.abs(x) ** p, axis=_spatial(x), keepdims=True)
    return (total ** (1 / p)).astype(x.dtype, copy=False)


@evaluates("MaxUnpool", 9, 11, 22)
def max_unpool(
    x: np.ndarray,
    places: np.ndarray,
    output_shape: np.ndarray | None = None,
    *,
    kernel_shape: Ints,
    strides: Ints | None = None,
    pads: Ints | None = None,
) -> np.ndarray:
    """Put each element back at its index; the indices refer to the shape the attributes give."""
    rank = len(kernel_shape)
    strides, pads = strides or (1,) * rank, pads or (0,) * 2 * rank
    expect_positive(kernel_shape=kernel_shape, strides=strides)
    spatial = tuple(
        (extent - 1) * stride - pads[k] - pads[k + rank] + kernel
        for k, (extent, stride, kernel) in enumerate(
            zip(x.shape[2:], strides, kernel_shape, strict=True)
        )
    )
    flat = np.zeros(math.prod(x.shape[:2] + spatial), x.dtype)
    flat[places.reshape(-1)] = x.reshape(-1)
    result = flat.reshape(x.shape[:2] + spatial)
    if output_shape is None:
        return result
    larger = np.zeros(output_shape.tolist(), x.dtype)
    larger[tuple(map(slice, result.shape))] = result
    return larger


@evaluates("MaxRoiPool", 1, 22)
def max_roi_pool(
    x: np.ndarray, rois: np.ndarray, *, pooled_shape: Ints, spatial_scale: float
) -> np.ndarray:
    """The largest element in each bin of each region [batch, x1, y1, x2, y2]."""
    height, width = pooled_shape
    result = np.zeros((rois.shape[0], x.shape[1], height, width), x.dtype)
    edges = np.floor(rois[:, 1:] * rois.dtype.type(spatial_scale) + rois.dtype.type(0.5))
    for number, (x1, y1, x2, y2) in enumerate(edges.astype(np.int64).tolist()):
        plane = x[int(rois[number, 0])]
        for i, (top, bottom) in enumerate(_bins(y1, y2, height, x.shape[2])):
            for j, (left, right) in enumerate(_bins(x1, x2, width, x.shape[3])):
                if bottom > top and right > left:
                    area = plane[:, top:bottom, left:right]
                    result[number, :, i, j] = area.max(axis=(1, 2))
    return result


def _bins(first: int, last: int, count: int, extent: int) -> list[tuple[int, int]]:
    each = max(last - first + 1, 1) / count
    edges = ((math.floor(k * each), math.ceil((k + 1) * each)) for k in range(count))
    return [
        (min(max(low + first, 0), extent), min(max(high + first, 0), extent)) for low, high in edges
    ]

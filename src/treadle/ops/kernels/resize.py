"""Resampling: old versions expressed by the trusted versions of onnx.reference.

Resize-10 and Upsample sample at `x / scale` and take the nearest element below; GridSample-16 and
RoiAlign-10 differ from their successors in names and defaults only. AffineGrid is computed here:
the reference gives float32 for every type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle.ops.attributes import defaults_of
from treadle.ops.kernels.onnx_reference import reference_kernel
from treadle.ops.kernels.registry import Attributes, Body, Operands, Results, evaluates, maker

_GRID_MODES = {"bilinear": "linear", "bicubic": "cubic"}


@evaluates("Resize", 10)
@evaluates("Upsample", 9, 10)
def upsample(x: np.ndarray, scales: np.ndarray, *, mode: str) -> Any:
    """Upsample-9 and 10: scales are an operand; mode nearest or linear."""
    attributes = defaults_of("", "Resize", 13) | {
        "mode": "linear" if mode == "bilinear" else mode,
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    return reference_kernel("Resize", 13)(attributes, 1)([x, None, scales, None])[0].astype(x.dtype)


@maker("Resize", 11, 13, 18, 19)
def bind_resize(attributes: Attributes, outputs: int) -> Body:
    """Resize; an empty operand counts as absent, as exporters of opset 11 write it."""
    given = {**defaults_of("", "Resize", 19), **attributes}
    body = reference_kernel("Resize", 19)(given, outputs)

    def run(inputs: Operands) -> Results:
        x, *others = inputs
        fed = [*map(_present, others)]
        extents = _extents(x, fed, given)
        # the reference goes through the elements of the other axes
        if 0 in extents and min(extents) >= 0:
            return (np.empty(extents, x.dtype),)
        return (body([x, *fed])[0].astype(x.dtype, copy=False),)

    return run


def _extents(
    x: np.ndarray, fed: Sequence[np.ndarray | None], given: Mapping[str, Any]
) -> list[int]:
    """The extents of the result, of one of the scales and sizes; [] where a policy changes them."""
    scales, sizes = (*fed, None, None, None)[1:3]
    numbers = sizes if scales is None else scales
    if numbers is None or (scales is not None and sizes is not None):
        return []
    axes, extents = given.get("axes") or range(x.ndim), list(x.shape)
    is_plain = given["keep_aspect_ratio_policy"] == "stretch" and np.isfinite(numbers).all()
    if not is_plain or any(not -x.ndim <= axis < x.ndim for axis in axes):
        return []
    for axis, number in zip(axes, numbers.tolist(), strict=False):
        extents[axis] = int(number if scales is None else math.floor(extents[axis] * number))
    return extents


def _present(operand: np.ndarray | None) -> np.ndarray | None:
    return operand if operand is not None and operand.size else None


@evaluates("Upsample", 7)
def upsample_7(x: np.ndarray, *, scales: Sequence[float], mode: str) -> Any:
    """Upsample-7: scales are an attribute."""
    return upsample(x, np.array(scales, np.float32), mode=mode)


@evaluates("Upsample", 1)
def upsample_1(x: np.ndarray, *, height_scale: float, width_scale: float, mode: str) -> Any:
    """Upsample-1: two scales, of the last two axes."""
    return upsample(x, np.array([1, 1, height_scale, width_scale], np.float32), mode=mode)


@maker("GridSample", 16)
def bind_grid_sample(attributes: Attributes, outputs: int) -> Body:
    """GridSample-16: the modes have other names."""
    mode = str(attributes["mode"])
    return bind_grid_sample_20({**attributes, "mode": _GRID_MODES.get(mode, mode)}, outputs)


@maker("GridSample", 20, 22)
def bind_grid_sample_20(attributes: Attributes, outputs: int) -> Body:
    """GridSample by onnx.reference, which fails where the result has no elements."""
    body = reference_kernel("GridSample", 20)(attributes, outputs)

    def run(inputs: Operands) -> Results:
        x, grid = inputs
        shape = (*x.shape[:2], *grid.shape[1:-1])
        return body(inputs) if 0 not in shape else (np.empty(shape, x.dtype),)

    return run


@evaluates("AffineGrid", 20)
def affine_grid(theta: np.ndarray, size: np.ndarray, *, align_corners: int) -> np.ndarray:
    """The product of theta and the columns (x, y, z, 1) of every pixel, x along the last axis.

    -1 and 1 are the centers of the first and last pixel of an axis if aligned, else their edges.
    An only pixel is at -1 if aligned, as in onnx.reference.
    """
    extents = size[2:].tolist()
    axes = [_places(extent, aligned=bool(align_corners)) for extent in extents]
    columns = np.meshgrid(*axes, indexing="ij")[::-1]
    pixels = np.stack([*columns, np.ones(extents)], -1).reshape(-1, len(extents) + 1)
    made = pixels @ theta.astype(np.float64).transpose(0, 2, 1)
    return made.reshape(len(theta), *extents, len(extents)).astype(theta.dtype)


def _places(extent: int, *, aligned: bool) -> np.ndarray:
    gaps = max(extent - 1, 1) if aligned else max(extent, 1)
    return np.arange(extent) * (2 / gaps) - (1 if aligned else 1 - 1 / gaps)


@maker("RoiAlign", 10)
def bind_roi_align(attributes: Attributes, outputs: int) -> Body:
    """RoiAlign-10: coordinates without the half-pixel shift."""
    given = {**attributes, "coordinate_transformation_mode": "output_half_pixel"}
    return reference_kernel("RoiAlign", 16)(given, outputs)


@maker("NonMaxSuppression", 10, 11)
def non_max_suppression(attributes: Attributes, outputs: int) -> Body:
    """NonMaxSuppression by onnx.reference; the limits are scalars or tensors of one element."""
    body = reference_kernel("NonMaxSuppression", 11)(attributes, outputs)

    def with_scalars(operands: Operands) -> Results:
        boxes, scores, *limits = operands
        given = [_alone(limit, k) for k, limit in enumerate((*limits, None, None, None)[:3])]
        given[0] = np.maximum(given[0], 0)  # the reference expects it
        if limits[2:] and limits[2] is not None:
            return body([boxes, scores, *given])
        return body([boxes, scores, *given[:2]])

    return with_scalars


def _alone(limit: np.ndarray | None, position: int) -> np.ndarray:
    if limit is not None and limit.size:
        return limit.reshape(-1)
    return np.zeros(1, np.float32 if position else np.int64)

"""Resampling: old versions expressed by the trusted versions of onnx.reference.

Resize-10 and Upsample sample at `x / scale` and take the nearest element below; GridSample-16 and
RoiAlign-10 differ from their successors in names and defaults only.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    body = reference_kernel("Resize", 19)({**defaults_of("", "Resize", 19), **attributes}, outputs)

    def run(inputs: Operands) -> Results:
        x, *others = inputs
        return (body([x, *map(_present, others)])[0].astype(x.dtype, copy=False),)

    return run


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
    return reference_kernel("GridSample", 20)(
        {**attributes, "mode": _GRID_MODES.get(mode, mode)}, outputs
    )


@maker("RoiAlign", 10)
def bind_roi_align(attributes: Attributes, outputs: int) -> Body:
    """RoiAlign-10: coordinates without the half-pixel shift."""
    given = {**attributes, "coordinate_transformation_mode": "output_half_pixel"}
    body = reference_kernel("RoiAlign", 16)(given, outputs)

    def run(inputs: Operands) -> Results:
        return body(inputs)

    return run


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

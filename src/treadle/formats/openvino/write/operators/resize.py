"""Resampling: Resize and Upsample in every version, GridSample, RoiAlign."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.refusals import Refusal

_MODES = {"nearest": "nearest", "linear": "linear_onnx", "cubic": "cubic"}
_COORDINATES = frozenset(
    ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")
)


class _Target(NamedTuple):
    """The requested size along axes: extents, or scale factors."""

    wire: Wire
    axes: list[int]
    how: str


@operator("Resize", "Upsample")
def resize(context: OpContext) -> Made:
    """Resample to sizes or by factors."""
    _check(context)
    target = _target(context)
    if not target.axes:
        return context[0]
    coordinates = context.text("coordinate_transformation_mode", "half_pixel")
    nearest = context.text("nearest_mode", "round_prefer_floor")
    if context.leaf.op == "Upsample" or context.version < 11:
        coordinates, nearest = "asymmetric", "floor"
    if coordinates not in _COORDINATES:
        raise Refusal(f"coordinate_transformation_mode {coordinates} has no form")
    return context.layer(
        "Interpolate-11",
        context[0],
        target.wire,
        context.whole(*target.axes),
        mode=_MODES[context.text("mode", "nearest")],
        shape_calculation_mode=target.how,
        coordinate_transformation_mode=coordinates,
        nearest_mode=nearest,
        antialias=False,
        pads_begin=[0] * context.rank(0),
        pads_end=[0] * context.rank(0),
        cube_coeff=context.number("cubic_coeff_a", -0.75),
    )


def _is_exact(context: OpContext, axes: list[int], factors: list[float]) -> bool:
    """Whether lengths times factors are integers, so that corners agree with ONNX."""
    lengths = [context.extent(0, axis) for axis in axes]
    return all(
        factor.is_integer() or (length is not None and (length * factor).is_integer())
        for length, factor in zip(lengths, factors, strict=True)
    )


def _check(context: OpContext) -> None:
    if context.integer("antialias"):
        raise Refusal("antialias has no form: OpenVINO weighs neighbours differently")
    if context.integer("exclude_outside"):
        raise Refusal("exclude_outside has no form")
    if context.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        known = context.array(3) is not None and context.shape(0) is not None
        if not known or any(not isinstance(dim, int) for dim in context.shape(0) or ()):
            raise Refusal("its sizes depend on an unknown shape")


def _target(context: OpContext) -> _Target:
    rank = context.rank(0)
    axes = [axis % rank for axis in context.integers("axes") or range(rank)]
    scales = _scales(context)
    if scales is None:
        return _sizes(context, axes)
    corners = context.text("coordinate_transformation_mode") == "align_corners"
    if scales.array is None:
        if corners:
            raise Refusal("aligned corners with computed factors", "give it sizes")
        return _Target(scales, axes, "scales")
    factors = [float(item) for item in scales.array.reshape(-1).tolist()]
    kept = [k for k, factor in enumerate(factors) if factor != 1]
    chosen = np.array([factors[k] for k in kept], np.float32)
    if corners and not _is_exact(context, [axes[k] for k in kept], chosen.tolist()):
        raise Refusal("aligned corners with factors that give fractional lengths", "give it sizes")
    return _Target(context.constant(chosen), [axes[k] for k in kept], "scales")


def _scales(context: OpContext) -> Wire | None:
    given = context.attributes.get("scales")
    if given is not None:
        return context.constant(np.array(given, np.float32))
    position = 2 if context.leaf.op == "Resize" and context.version >= 11 else 1
    if not context.has(position) or context.extent(position, 0) == 0:
        return None
    return context[position]


def _sizes(context: OpContext, axes: list[int]) -> _Target:
    array = context.array(3)
    if array is None:
        return _Target(context[3], axes, "sizes")
    sizes = [int(item) for item in array.reshape(-1).tolist()]
    lengths = [context.extent(0, axis) for axis in axes]
    policy = context.text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        factors = [size / length for size, length in zip(sizes, lengths, strict=True) if length]
        factor = min(factors) if policy == "not_larger" else max(factors)
        sizes = [int(np.floor(factor * length + 0.5)) for length in lengths if length is not None]
    kept = [k for k, size in enumerate(sizes) if size != lengths[k]]
    return _Target(context.whole(*(sizes[k] for k in kept)), [axes[k] for k in kept], "sizes")


@operator("GridSample")
def grid_sample(context: OpContext) -> Made:
    """Sample values at positions between pixels."""
    words = {"linear": "bilinear", "cubic": "bicubic"}
    mode = context.text("mode", "bilinear")
    if context.rank(0) != 4:
        raise Refusal("OpenVINO samples only images of rank 4")
    return context.layer(
        "GridSample-9",
        context[0],
        context[1],
        align_corners=bool(context.integer("align_corners")),
        mode=words.get(mode, mode),
        padding_mode=context.text("padding_mode", "zeros"),
    )


@operator("RoiAlign")
def roi_align(context: OpContext) -> Made:
    """Regions of an image, pooled to one size."""
    if context.text("mode", "avg") != "avg":
        raise Refusal("OpenVINO computes the maximum of a region differently", "use mode avg")
    default = "half_pixel" if context.version >= 16 else "output_half_pixel"
    word = context.text("coordinate_transformation_mode", default)
    return context.layer(
        "ROIAlign-9",
        *context.all(),
        pooled_h=context.integer("output_height", 1),
        pooled_w=context.integer("output_width", 1),
        sampling_ratio=context.integer("sampling_ratio"),
        spatial_scale=context.number("spatial_scale", 1.0),
        mode="avg",
        aligned_mode="half_pixel_for_nn" if word == "half_pixel" else "asymmetric",
    )

"""Interpolate: resamples along axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.nearest import Stretch, resampled
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import DType, Value

_MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "linear_onnx": "linear",
    "cubic": "cubic",
    "bilinear_pillow": "linear",
    "bicubic_pillow": "cubic",
}
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn",
                "align_corners")  # fmt: skip
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")


class _Way(NamedTuple):
    """The resampling mode, in OpenVINO's words; `mode` in ONNX's."""

    mode: str
    coordinates: str
    nearest: str
    antialias: bool
    coefficient: float


@layer("Interpolate", 1)
def interpolate_1(context: LayerContext) -> Made:
    """Resize to sizes; OpenVINO ignores `antialias`."""
    mode = _MODES[context.text("mode", None, "nearest", "linear", "linear_onnx", "cubic")]
    corners = context.truth("align_corners", True)
    way = _Way(mode, "align_corners" if corners else "asymmetric", "simple", False, -0.75)
    rank = context.rank(0)
    axes = [axis % rank for axis in context.integers("axes")]
    return _resized(context, _padded(context), way, axes, by_sizes=True, place=1)


@layer("Interpolate", 4, 11)
def interpolate(context: LayerContext) -> Made:
    """Resize to sizes or by scales along axes."""
    word = context.text("mode", None, *_MODES)
    smooth = word.endswith("_pillow")
    if context.truth("antialias", False) and word == "linear":
        raise IrError("CF909", "OpenVINO ignores antialias in mode linear",
                    "leave antialias out, or use bilinear_pillow")  # fmt: skip
    way = _Way(
        _MODES[word],
        context.text("coordinate_transformation_mode", "half_pixel", *_COORDINATES),
        context.text("nearest_mode", "round_prefer_floor", *_NEAREST),
        smooth,
        -0.5 if word == "bicubic_pillow" else context.number("cube_coeff", -0.75),
    )
    if smooth:
        way = way._replace(coordinates="half_pixel")
    if way.mode != "nearest" and way.coordinates == "tf_half_pixel_for_nn":
        raise IrError("CF909", f"{way.coordinates} with mode {word} has no ONNX form")
    by_sizes = context.text("shape_calculation_mode", None, "sizes", "scales") == "sizes"
    # version 4 has sizes, scales, axes; version 11 one of both, then axes
    place = (1 if by_sizes else 2) if context.version < 11 else 1
    axes_at = 3 if context.version < 11 else 2
    rank = context.rank(0)
    axes = list(range(rank))
    if context.get(axes_at) is not None:
        axes = [axis % rank for axis in context.wholes(axes_at, "the axes")]
    return _resized(context, _padded(context), way, axes, by_sizes=by_sizes, place=place)


def _padded(context: LayerContext) -> Value:
    begin, end = context.integers("pads_begin", ()), context.integers("pads_end", ())
    if not any(begin) and not any(end):
        return context[0]
    rank = context.rank(0)
    pads = [(pad + [0] * rank)[:rank] for pad in (begin, end)]
    return context.leaf("Pad", context[0], context.whole(*pads[0], *pads[1]))


def _resized(
    context: LayerContext, value: Value, way: _Way, axes: list[int], *, by_sizes: bool, place: int
) -> Value:
    odd = way.coordinates == "tf_half_pixel_for_nn" or way.nearest == "simple"
    if way.mode == "nearest" and odd:
        stretch = _by_size if by_sizes else _by_scale
        stretches = [stretch(context, value, axis, place, k) for k, axis in enumerate(axes)]
        return resampled(context, value, stretches, way.coordinates, way.nearest)
    if by_sizes:
        return context.leaf(
            "Resize", value, None, None, _sizes(context, value, axes, place), **_flags(way)
        )
    scales = np.ones(context.rank(0), np.float32)
    scales[axes] = context.known(place, "the scales").reshape(-1)
    return context.leaf("Resize", value, None, context.constant(scales), **_flags(way))


def _flags(way: _Way) -> dict[str, object]:
    flags: dict[str, object] = {
        "mode": way.mode,
        "coordinate_transformation_mode": way.coordinates,
        "cubic_coeff_a": way.coefficient,
    }
    if way.mode == "nearest":
        flags["nearest_mode"] = way.nearest
    return flags | {"antialias": 1, "exclude_outside": 1} if way.antialias else flags


def _sizes(context: LayerContext, value: Value, axes: list[int], place: int) -> Value:
    sizes = context.list64(place)
    parts = [
        context.leaf("Gather", sizes, context.whole(axes.index(k)), axis=0)
        if k in axes
        else context.leaf("Shape", value, start=k, end=k + 1)
        for k in range(context.rank(0))
    ]
    return context.leaf("Concat", *parts, axis=0)


def _length(context: LayerContext, value: Value, axis: int) -> Value:
    return context.leaf("Squeeze", context.leaf("Shape", value, start=axis, end=axis + 1))


def _by_size(context: LayerContext, value: Value, axis: int, place: int, number: int) -> Stretch:
    length = _length(context, value, axis)
    count = context.leaf(
        "Gather", context.list64(place), context.constant(np.array(number)), axis=0
    )
    ends = [context.cast(each, DType.FLOAT32) for each in (count, length)]
    return Stretch(axis, length, count, context.leaf("Div", *ends))


def _by_scale(context: LayerContext, value: Value, axis: int, place: int, number: int) -> Stretch:
    length = _length(context, value, axis)
    scales = context.known(place, "the scales").reshape(-1)
    scale = context.constant(np.array(scales[number], np.float32))
    exact = context.leaf("Mul", context.cast(length, DType.FLOAT32), scale)
    return Stretch(axis, length, context.cast(context.leaf("Floor", exact), DType.INT64), scale)

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
def interpolate_1(hand: LayerContext) -> Made:
    """Resize to sizes; OpenVINO ignores `antialias`."""
    mode = _MODES[hand.text("mode", None, "nearest", "linear", "linear_onnx", "cubic")]
    corners = hand.truth("align_corners", True)
    way = _Way(mode, "align_corners" if corners else "asymmetric", "simple", False, -0.75)
    rank = hand.rank(0)
    axes = [axis % rank for axis in hand.integers("axes")]
    return _resized(hand, _padded(hand), way, axes, by_sizes=True, place=1)


@layer("Interpolate", 4, 11)
def interpolate(hand: LayerContext) -> Made:
    """Resize to sizes or by scales along axes."""
    word = hand.text("mode", None, *_MODES)
    smooth = word.endswith("_pillow")
    if hand.truth("antialias", False) and word == "linear":
        raise IrError("CF909", "OpenVINO ignores antialias in mode linear",
                    "leave antialias out, or use bilinear_pillow")  # fmt: skip
    way = _Way(
        _MODES[word],
        hand.text("coordinate_transformation_mode", "half_pixel", *_COORDINATES),
        hand.text("nearest_mode", "round_prefer_floor", *_NEAREST),
        smooth,
        -0.5 if word == "bicubic_pillow" else hand.number("cube_coeff", -0.75),
    )
    if smooth:
        way = way._replace(coordinates="half_pixel")
    if way.mode != "nearest" and way.coordinates == "tf_half_pixel_for_nn":
        raise IrError("CF909", f"{way.coordinates} with mode {word} has no ONNX form")
    by_sizes = hand.text("shape_calculation_mode", None, "sizes", "scales") == "sizes"
    # version 4 has sizes, scales, axes; version 11 one of both, then axes
    place = (1 if by_sizes else 2) if hand.version < 11 else 1
    axes_at = 3 if hand.version < 11 else 2
    rank = hand.rank(0)
    axes = list(range(rank))
    if hand.get(axes_at) is not None:
        axes = [axis % rank for axis in hand.wholes(axes_at, "the axes")]
    return _resized(hand, _padded(hand), way, axes, by_sizes=by_sizes, place=place)


def _padded(hand: LayerContext) -> Value:
    begin, end = hand.integers("pads_begin", ()), hand.integers("pads_end", ())
    if not any(begin) and not any(end):
        return hand[0]
    rank = hand.rank(0)
    pads = [(pad + [0] * rank)[:rank] for pad in (begin, end)]
    return hand.leaf("Pad", hand[0], hand.whole(*pads[0], *pads[1]))


def _resized(
    hand: LayerContext, value: Value, way: _Way, axes: list[int], *, by_sizes: bool, place: int
) -> Value:
    odd = way.coordinates == "tf_half_pixel_for_nn" or way.nearest == "simple"
    if way.mode == "nearest" and odd:
        stretch = _by_size if by_sizes else _by_scale
        stretches = [stretch(hand, value, axis, place, k) for k, axis in enumerate(axes)]
        return resampled(hand, value, stretches, way.coordinates, way.nearest)
    if by_sizes:
        return hand.leaf(
            "Resize", value, None, None, _sizes(hand, value, axes, place), **_flags(way)
        )
    scales = np.ones(hand.rank(0), np.float32)
    scales[axes] = hand.known(place, "the scales").reshape(-1)
    return hand.leaf("Resize", value, None, hand.constant(scales), **_flags(way))


def _flags(way: _Way) -> dict[str, object]:
    flags: dict[str, object] = {
        "mode": way.mode,
        "coordinate_transformation_mode": way.coordinates,
        "cubic_coeff_a": way.coefficient,
    }
    if way.mode == "nearest":
        flags["nearest_mode"] = way.nearest
    return flags | {"antialias": 1, "exclude_outside": 1} if way.antialias else flags


def _sizes(hand: LayerContext, value: Value, axes: list[int], place: int) -> Value:
    sizes = hand.list64(place)
    parts = [
        hand.leaf("Gather", sizes, hand.whole(axes.index(k)), axis=0)
        if k in axes
        else hand.leaf("Shape", value, start=k, end=k + 1)
        for k in range(hand.rank(0))
    ]
    return hand.leaf("Concat", *parts, axis=0)


def _length(hand: LayerContext, value: Value, axis: int) -> Value:
    return hand.leaf("Squeeze", hand.leaf("Shape", value, start=axis, end=axis + 1))


def _by_size(hand: LayerContext, value: Value, axis: int, place: int, number: int) -> Stretch:
    length = _length(hand, value, axis)
    count = hand.leaf("Gather", hand.list64(place), hand.constant(np.array(number)), axis=0)
    ends = [hand.cast(each, DType.FLOAT32) for each in (count, length)]
    return Stretch(axis, length, count, hand.leaf("Div", *ends))


def _by_scale(hand: LayerContext, value: Value, axis: int, place: int, number: int) -> Stretch:
    length = _length(hand, value, axis)
    scales = hand.known(place, "the scales").reshape(-1)
    scale = hand.constant(np.array(scales[number], np.float32))
    exact = hand.leaf("Mul", hand.cast(length, DType.FLOAT32), scale)
    return Stretch(axis, length, hand.cast(hand.leaf("Floor", exact), DType.INT64), scale)

"""Interpolate: resampling along axes."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.faults import Fault
from treadle.formats.openvino.hand import Hand
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_MODES = {"nearest": "nearest", "linear": "linear", "linear_onnx": "linear", "cubic": "cubic"}
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn",
                "align_corners")  # fmt: skip
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")


@layer("Interpolate", 4, 11)
def interpolate(hand: Hand) -> Made:
    """Resize to sizes or by scales along axes."""
    mode = _MODES[hand.text("mode", None, *_MODES)]
    coordinates = hand.text("coordinate_transformation_mode", "half_pixel", *_COORDINATES)
    nearest = hand.text("nearest_mode", "round_prefer_floor", *_NEAREST)
    if coordinates == "tf_half_pixel_for_nn" or nearest == "simple":
        raise Fault("CF909", f"{coordinates} with {nearest} has no ONNX form")
    if hand.truth("antialias", False):
        raise Fault("CF909", "antialias is not supported")
    flags: dict[str, object] = {
        "mode": mode,
        "coordinate_transformation_mode": coordinates,
        "cubic_coeff_a": hand.number("cube_coeff", -0.75),
    }
    if mode == "nearest":
        flags["nearest_mode"] = nearest
    return _resized(hand, _padded(hand), flags)


def _padded(hand: Hand) -> Value:
    begin, end = hand.integers("pads_begin", ()), hand.integers("pads_end", ())
    if not any(begin) and not any(end):
        return hand[0]
    rank = hand.rank(0)
    pads = [(pad + [0] * rank)[:rank] for pad in (begin, end)]
    return hand.leaf("Pad", hand[0], hand.whole(*pads[0], *pads[1]))


def _resized(hand: Hand, value: Value, flags: dict[str, object]) -> Value:
    by_sizes = hand.text("shape_calculation_mode", None, "sizes", "scales") == "sizes"
    # version 4 has sizes, scales, axes; version 11 the one it needs, then axes
    place = (1 if by_sizes else 2) if hand.version < 11 else 1
    axes_at = 3 if hand.version < 11 else 2
    rank = hand.rank(0)
    axes = list(range(rank))
    if hand.get(axes_at) is not None:
        axes = [axis % rank for axis in hand.wholes(axes_at, "the axes")]
    if by_sizes:
        sizes = hand.list64(place)
        parts = [
            hand.leaf("Gather", sizes, hand.whole(axes.index(k)), axis=0)
            if k in axes
            else hand.leaf("Shape", value, start=k, end=k + 1)
            for k in range(rank)
        ]
        whole = hand.leaf("Concat", *parts, axis=0)
        return hand.leaf("Resize", value, None, None, whole, **flags)
    scales = np.ones(rank, np.float32)
    scales[axes] = hand.known(place, "the scales").reshape(-1)
    return hand.leaf("Resize", value, None, hand.constant(scales), **flags)

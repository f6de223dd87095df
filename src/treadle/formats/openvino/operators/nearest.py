"""Nearest-neighbour resampling with coordinate or rounding modes that ONNX's Resize lacks.

for each axis of length l, to n items, scale = n / l:
    x = x[..., clip(round_(place(i) for i in range(n)), 0, l - 1)]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.ir import DType, Value


class Stretch(NamedTuple):
    """One resampled axis: its old and new length, and the scale; all are scalars."""

    axis: int
    length: Value
    target: Value
    scale: Value


Rule = Callable[[LayerContext, Value, Stretch], Value]


def resampled(
    hand: LayerContext, value: Value, stretches: list[Stretch], place: str, rounding: str
) -> Value:
    """Resample each of the stretched axes."""
    for each in stretches:
        one, zero = hand.constant(np.array(1)), hand.constant(np.array(0))
        steps = hand.leaf("Range", zero, each.target, one)
        places = _PLACES[place](hand, hand.cast(steps, DType.FLOAT32), each)
        whole = hand.cast(_ROUNDINGS[rounding](hand, places, each), DType.INT64)
        last = hand.leaf("Sub", each.length, one)
        within = hand.leaf("Min", hand.leaf("Max", whole, zero), last)
        value = hand.leaf("Gather", value, within, axis=each.axis)
    return value


def _number(hand: LayerContext, number: float) -> Value:
    return hand.constant(np.array(number, np.float32))


def _asymmetric(hand: LayerContext, steps: Value, stretch: Stretch) -> Value:
    return hand.leaf("Div", steps, stretch.scale)


def _from_middles(hand: LayerContext, steps: Value, stretch: Stretch) -> Value:
    return hand.leaf("Div", hand.leaf("Add", steps, _number(hand, 0.5)), stretch.scale)


def _half_pixel(hand: LayerContext, steps: Value, stretch: Stretch) -> Value:
    return hand.leaf("Sub", _from_middles(hand, steps, stretch), _number(hand, 0.5))


def _pytorch(hand: LayerContext, steps: Value, stretch: Stretch) -> Value:
    several = hand.leaf("Greater", stretch.target, hand.constant(np.array(1)))
    return hand.leaf("Where", several, _half_pixel(hand, steps, stretch), _number(hand, 0))


def _align_corners(hand: LayerContext, steps: Value, stretch: Stretch) -> Value:
    one = hand.constant(np.array(1))
    last, length = (hand.leaf("Sub", v, one) for v in (stretch.target, stretch.length))
    gaps = hand.cast(hand.leaf("Max", last, one), DType.FLOAT32)
    return hand.leaf("Div", hand.leaf("Mul", steps, hand.cast(length, DType.FLOAT32)), gaps)


def _floor(hand: LayerContext, places: Value, stretch: Stretch) -> Value:
    return hand.leaf("Floor", places)


def _ceil(hand: LayerContext, places: Value, stretch: Stretch) -> Value:
    return hand.leaf("Ceil", places)


def _half_down(hand: LayerContext, places: Value, stretch: Stretch) -> Value:
    return hand.leaf("Ceil", hand.leaf("Sub", places, _number(hand, 0.5)))


def _half_up(hand: LayerContext, places: Value, stretch: Stretch) -> Value:
    return hand.leaf("Floor", hand.leaf("Add", places, _number(hand, 0.5)))


def _simple(hand: LayerContext, places: Value, stretch: Stretch) -> Value:
    shorter = hand.leaf("Less", stretch.scale, _number(hand, 1))
    return hand.leaf("Where", shorter, hand.leaf("Ceil", places), hand.leaf("Floor", places))


_PLACES: Mapping[str, Rule] = {
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": _pytorch,
    "asymmetric": _asymmetric,
    "tf_half_pixel_for_nn": _from_middles,
    "align_corners": _align_corners,
}
_ROUNDINGS: Mapping[str, Rule] = {
    "round_prefer_floor": _half_down,
    "round_prefer_ceil": _half_up,
    "floor": _floor,
    "ceil": _ceil,
    "simple": _simple,
}

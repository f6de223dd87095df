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
    context: LayerContext, value: Value, stretches: list[Stretch], coordinates: str, rounding: str
) -> Value:
    """Resample each of the stretched axes."""
    for each in stretches:
        one, zero = context.constant(np.array(1)), context.constant(np.array(0))
        steps = context.leaf("Range", zero, each.target, one)
        places = _PLACES[coordinates](context, context.cast(steps, DType.FLOAT32), each)
        whole = context.cast(_ROUNDINGS[rounding](context, places, each), DType.INT64)
        last = context.leaf("Sub", each.length, one)
        within = context.leaf("Min", context.leaf("Max", whole, zero), last)
        value = context.leaf("Gather", value, within, axis=each.axis)
    return value


def _number(context: LayerContext, number: float) -> Value:
    return context.constant(np.array(number, np.float32))


def _asymmetric(context: LayerContext, steps: Value, stretch: Stretch) -> Value:
    return context.leaf("Div", steps, stretch.scale)


def _from_middles(context: LayerContext, steps: Value, stretch: Stretch) -> Value:
    return context.leaf("Div", context.leaf("Add", steps, _number(context, 0.5)), stretch.scale)


def _half_pixel(context: LayerContext, steps: Value, stretch: Stretch) -> Value:
    return context.leaf("Sub", _from_middles(context, steps, stretch), _number(context, 0.5))


def _pytorch(context: LayerContext, steps: Value, stretch: Stretch) -> Value:
    several = context.leaf("Greater", stretch.target, context.constant(np.array(1)))
    return context.leaf("Where", several, _half_pixel(context, steps, stretch), _number(context, 0))


def _align_corners(context: LayerContext, steps: Value, stretch: Stretch) -> Value:
    one = context.constant(np.array(1))
    last, length = (context.leaf("Sub", v, one) for v in (stretch.target, stretch.length))
    gaps = context.cast(context.leaf("Max", last, one), DType.FLOAT32)
    return context.leaf(
        "Div", context.leaf("Mul", steps, context.cast(length, DType.FLOAT32)), gaps
    )


def _floor(context: LayerContext, places: Value, stretch: Stretch) -> Value:
    return context.leaf("Floor", places)


def _ceil(context: LayerContext, places: Value, stretch: Stretch) -> Value:
    return context.leaf("Ceil", places)


def _half_down(context: LayerContext, places: Value, stretch: Stretch) -> Value:
    return context.leaf("Ceil", context.leaf("Sub", places, _number(context, 0.5)))


def _half_up(context: LayerContext, places: Value, stretch: Stretch) -> Value:
    return context.leaf("Floor", context.leaf("Add", places, _number(context, 0.5)))


def _simple(context: LayerContext, places: Value, stretch: Stretch) -> Value:
    shorter = context.leaf("Less", stretch.scale, _number(context, 1))
    return context.leaf(
        "Where", shorter, context.leaf("Ceil", places), context.leaf("Floor", places)
    )


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

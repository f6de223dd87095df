"""Elementwise arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.broadcast import aligned
from treadle.formats.openvino.operators.registry import Made, layer, plain, register
from treadle.ir import DType, Value

plain(
    {
        "Abs": ("Abs", 1),
        "Sign": ("Sign", 1),
        "Negative": ("Neg", 1),
        "Floor": ("Floor", 1),
        "Ceiling": ("Ceil", 1),
        "Sqrt": ("Sqrt", 1),
        "Exp": ("Exp", 1),
        "Log": ("Log", 1),
        "Sin": ("Sin", 1),
        "Cos": ("Cos", 1),
        "Tan": ("Tan", 1),
        "Asin": ("Asin", 1),
        "Acos": ("Acos", 1),
        "Atan": ("Atan", 1),
        "Sinh": ("Sinh", 1),
        "Cosh": ("Cosh", 1),
        "Asinh": ("Asinh", 4),
        "Acosh": ("Acosh", 4),
        "Atanh": ("Atanh", 4),
        "Erf": ("Erf", 1),
        "Identity": ("Identity", 16),
    }
)

_BINARY = {
    "Add": "Add",
    "Subtract": "Sub",
    "Multiply": "Mul",
    "Divide": "Div",
    "Maximum": "Max",
    "Minimum": "Min",
    "Power": "Pow",
}


def _binary(op: str) -> None:
    register(
        next(name for name, leaf in _BINARY.items() if leaf == op),
        (1,),
        lambda hand: hand.leaf(op, *aligned(hand)),
        op,
    )


for _op in _BINARY.values():
    _binary(_op)


@layer("SquaredDifference", 1)
def squared_difference(hand: LayerContext) -> Made:
    """(a - b) ** 2."""
    difference = hand.leaf("Sub", *aligned(hand))
    return hand.leaf("Mul", difference, difference)


@layer("Mod", 1)
def mod(hand: LayerContext) -> Made:
    """The remainder with the sign of the dividend."""
    return hand.leaf("Mod", *aligned(hand), fmod=1)


@layer("FloorMod", 1)
def floor_mod(hand: LayerContext) -> Made:
    """The remainder with the sign of the divisor: a - floor(a / b) * b."""
    one, two = aligned(hand)
    if not hand.is_float(0):
        return hand.leaf("Mod", one, two, fmod=0)
    whole = hand.leaf("Floor", hand.leaf("Div", one, two))
    return hand.leaf("Sub", one, hand.leaf("Mul", whole, two))


@layer("Clamp", 1)
def clamp(hand: LayerContext) -> Made:
    """Clip between `min` and `max`; for integers to the nearest ones between them."""
    low, high = hand.number("min"), hand.number("max")
    if hand.is_float(0):
        return hand.leaf("Clip", hand[0], hand.like(0, low), hand.like(0, high))
    numpy: np.dtype[Any] = hand.dtype(0).numpy
    limits = np.iinfo(numpy)
    bounds = [
        int(np.ceil(low)) if low > limits.min else int(limits.min),
        int(np.floor(high)) if high < limits.max else int(limits.max),
    ]
    return hand.leaf("Clip", hand[0], *(hand.like(0, bound) for bound in bounds))


@layer("Round", 5)
def round_(hand: LayerContext) -> Made:
    """Round to the nearest integer, halves to even or away from zero."""
    if hand.text("mode", "half_to_even", "half_to_even", "half_away_from_zero") == "half_to_even":
        return hand.leaf("Round", hand[0])
    half = hand.leaf("Add", hand.leaf("Abs", hand[0]), hand.like(0, 0.5))
    return hand.leaf("Mul", hand.leaf("Sign", hand[0]), hand.leaf("Floor", half))


@layer("Convert", 1)
def convert(hand: LayerContext) -> Made:
    """Convert to another element type."""
    return hand.cast(hand[0], hand.element("destination_type"))


@layer("ConvertLike", 1)
def convert_like(hand: LayerContext) -> Made:
    """Convert to the element type of the second operand."""
    return hand.leaf("CastLike", hand[0], hand[1])


@layer("CumSum", 3)
def cum_sum(hand: LayerContext) -> Made:
    """Cumulative sums along an axis."""
    axis = hand.get(1)
    flags = {
        "exclusive": int(hand.truth("exclusive", False)),
        "reverse": int(hand.truth("reverse", False)),
    }
    place = hand.constant(np.array(0)) if axis is None else _scalar(hand)
    return hand.leaf("CumSum", hand[0], place, **flags)


def _scalar(hand: LayerContext) -> Value:
    array = hand.array(1)
    if array is not None:
        return hand.constant(array.astype(np.int64).reshape(()))
    return hand.leaf("Reshape", hand.cast(hand[1], DType.INT64), hand.whole())

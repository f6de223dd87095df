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
        lambda context: context.leaf(op, *aligned(context)),
        op,
    )


for _op in _BINARY.values():
    _binary(_op)


@layer("SquaredDifference", 1)
def squared_difference(context: LayerContext) -> Made:
    """(a - b) ** 2."""
    difference = context.leaf("Sub", *aligned(context))
    return context.leaf("Mul", difference, difference)


@layer("Mod", 1)
def mod(context: LayerContext) -> Made:
    """The remainder with the sign of the dividend."""
    return context.leaf("Mod", *aligned(context), fmod=1)


@layer("FloorMod", 1)
def floor_mod(context: LayerContext) -> Made:
    """The remainder with the sign of the divisor: a - floor(a / b) * b."""
    one, two = aligned(context)
    if not context.is_float(0):
        return context.leaf("Mod", one, two, fmod=0)
    whole = context.leaf("Floor", context.leaf("Div", one, two))
    return context.leaf("Sub", one, context.leaf("Mul", whole, two))


@layer("Clamp", 1)
def clamp(context: LayerContext) -> Made:
    """Clip between `min` and `max`; for integers to the nearest ones between them."""
    low, high = context.number("min"), context.number("max")
    if context.is_float(0):
        return context.leaf("Clip", context[0], context.like(0, low), context.like(0, high))
    numpy: np.dtype[Any] = context.dtype(0).numpy
    limits = np.iinfo(numpy)
    bounds = [
        int(np.ceil(low)) if low > limits.min else int(limits.min),
        int(np.floor(high)) if high < limits.max else int(limits.max),
    ]
    return context.leaf("Clip", context[0], *(context.like(0, bound) for bound in bounds))


@layer("Round", 5)
def round_(context: LayerContext) -> Made:
    """Round to the nearest integer, halves to even or away from zero."""
    if (
        context.text("mode", "half_to_even", "half_to_even", "half_away_from_zero")
        == "half_to_even"
    ):
        return context.leaf("Round", context[0])
    half = context.leaf("Add", context.leaf("Abs", context[0]), context.like(0, 0.5))
    return context.leaf("Mul", context.leaf("Sign", context[0]), context.leaf("Floor", half))


@layer("Convert", 1)
def convert(context: LayerContext) -> Made:
    """Convert to another element type."""
    return context.cast(context[0], context.element("destination_type"))


@layer("ConvertLike", 1)
def convert_like(context: LayerContext) -> Made:
    """Convert to the element type of the second operand."""
    return context.leaf("CastLike", context[0], context[1])


@layer("CumSum", 3)
def cum_sum(context: LayerContext) -> Made:
    """Cumulative sums along an axis."""
    axis = context.get(1)
    flags = {
        "exclusive": int(context.truth("exclusive", False)),
        "reverse": int(context.truth("reverse", False)),
    }
    index = context.constant(np.array(0)) if axis is None else _scalar(context)
    return context.leaf("CumSum", context[0], index, **flags)


def _scalar(context: LayerContext) -> Value:
    array = context.array(1)
    if array is not None:
        return context.constant(array.astype(np.int64).reshape(()))
    return context.leaf("Reshape", context.cast(context[1], DType.INT64), context.whole())

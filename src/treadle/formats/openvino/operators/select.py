"""Select, TopK, NonZero, OneHot and Unique."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import DType, Value

_NEGATIVES = ("ignore_negative", "normalize")


@layer("Select", 1)
def select(hand: LayerContext) -> Made:
    """Take `then` where the condition is true, otherwise `else`."""
    hand.text("auto_broadcast", "numpy", "numpy", "none")
    return hand.leaf("Where", hand[0], hand[1], hand[2])


@layer("NonZero", 3)
def non_zero(hand: LayerContext) -> Made:
    """The indices of nonzero elements, one row per axis."""
    return typed(hand, hand.leaf("NonZero", hand[0]), "output_type")


def typed(hand: LayerContext, value: Value, name: str, default: str = "i64") -> Value:
    """Cast int64 results to the element type of an attribute."""
    dtype = hand.element(name, default)
    return value if dtype is DType.INT64 else hand.cast(value, dtype)


@layer("OneHot", 1, 16)
def one_hot(hand: LayerContext) -> Made:
    """on_value at the index along a new axis, off_value elsewhere."""
    values = [hand.leaf("Reshape", hand[k], hand.whole(1)) for k in (3, 2)]
    both = hand.leaf("Concat", *values, axis=0)
    places = hand.int64(0)
    if hand.text("negative_indices_mode", "ignore_negative", *_NEGATIVES) == "ignore_negative":
        places = _beyond(hand, places)
    return hand.leaf("OneHot", places, hand.list64(1), both, axis=hand.integer("axis", -1))


def _beyond(hand: LayerContext, places: Value) -> Value:
    """The indices, with negative ones moved beyond the depth: as in OpenVINO they set nothing."""
    known = hand.array(0)
    if known is not None and not np.any(known < 0):
        return places
    negative = hand.leaf("Less", places, hand.constant(np.array(0)))
    return hand.leaf("Where", negative, hand.list64(1), places)


@layer("TopK", 1, 3, 11)
def top_k(hand: LayerContext) -> Made:
    """The k largest or smallest along an axis, and their indices."""
    axis, count = hand.integer("axis"), hand.list64(1)
    largest = int(hand.text("mode", None, "max", "min") == "max")
    sort = hand.text("sort", "value", "value", "index", "none")
    flags = {"axis": axis, "largest": largest, "sorted": 1}
    values, places = hand.leaves("TopK", 2, hand[0], count, **flags)
    if sort == "index":
        flags = {"axis": axis, "largest": 0, "sorted": 1}
        places, order = hand.leaves("TopK", 2, places, count, **flags)
        values = hand.leaf("GatherElements", values, order, axis=axis)
    return values, typed(hand, places, "index_element_type", "i32")


@layer("Unique", 10)
def unique(hand: LayerContext) -> Made:
    """The distinct elements, or slices along an axis."""
    axis = None
    if hand.get(1) is not None:
        axis = hand.axis(1)
    ordered = int(hand.truth("sorted", True))
    made = hand.leaves("Unique", 4, hand[0], axis=axis, sorted=ordered)
    places = [typed(hand, v, "index_element_type") for v in made[1:3]]
    return made[0], *places, typed(hand, made[3], "count_element_type")

"""Select, TopK, NonZero, OneHot and Unique."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import DType, Value

_NEGATIVES = ("ignore_negative", "normalize")


@layer("Select", 1)
def select(context: LayerContext) -> Made:
    """Take `then` where the condition is true, otherwise `else`."""
    context.text("auto_broadcast", "numpy", "numpy", "none")
    return context.leaf("Where", context[0], context[1], context[2])


@layer("NonZero", 3)
def non_zero(context: LayerContext) -> Made:
    """The indices of nonzero elements, one row per axis."""
    return typed(context, context.leaf("NonZero", context[0]), "output_type")


def typed(context: LayerContext, value: Value, name: str, default: str = "i64") -> Value:
    """Cast int64 results to the element type of an attribute."""
    dtype = context.element(name, default)
    return value if dtype is DType.INT64 else context.cast(value, dtype)


@layer("OneHot", 1, 16)
def one_hot(context: LayerContext) -> Made:
    """on_value at the index along a new axis, off_value elsewhere."""
    values = [context.leaf("Reshape", context[k], context.whole(1)) for k in (3, 2)]
    both = context.leaf("Concat", *values, axis=0)
    places = context.int64(0)
    if context.text("negative_indices_mode", "ignore_negative", *_NEGATIVES) == "ignore_negative":
        places = _beyond(context, places)
    return context.leaf("OneHot", places, context.list64(1), both, axis=context.integer("axis", -1))


def _beyond(context: LayerContext, places: Value) -> Value:
    """The indices, with negative ones moved beyond the depth: as in OpenVINO they set nothing."""
    known = context.array(0)
    if known is not None and not np.any(known < 0):
        return places
    negative = context.leaf("Less", places, context.constant(np.array(0)))
    return context.leaf("Where", negative, context.list64(1), places)


@layer("TopK", 1, 3, 11)
def top_k(context: LayerContext) -> Made:
    """The k largest or smallest along an axis, and their indices."""
    axis, count = context.integer("axis"), context.list64(1)
    largest = int(context.text("mode", None, "max", "min") == "max")
    sort = context.text("sort", "value", "value", "index", "none")
    flags = {"axis": axis, "largest": largest, "sorted": 1}
    values, places = context.leaves("TopK", 2, context[0], count, **flags)
    if sort == "index":
        flags = {"axis": axis, "largest": 0, "sorted": 1}
        places, order = context.leaves("TopK", 2, places, count, **flags)
        values = context.leaf("GatherElements", values, order, axis=axis)
    return values, typed(context, places, "index_element_type", "i32")


@layer("Unique", 10)
def unique(context: LayerContext) -> Made:
    """The distinct elements, or slices along an axis."""
    axis = None
    if context.get(1) is not None:
        axis = context.axis(1)
    ordered = int(context.truth("sorted", True))
    made = context.leaves("Unique", 4, context[0], axis=axis, sorted=ordered)
    places = [typed(context, v, "index_element_type") for v in made[1:3]]
    return made[0], *places, typed(context, made[3], "count_element_type")

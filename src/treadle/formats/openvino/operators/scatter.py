"""Elements written by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_REDUCTIONS = {"none": None, "sum": "add", "prod": "mul", "min": "min", "max": "max"}


@layer("ScatterUpdate", 3)
def scatter_update(context: LayerContext) -> Made:
    """Replace slices along an axis by updates."""
    rank, many = context.rank(0), context.rank(1)
    axis = context.axis(3) % rank
    order = [axis, *(k for k in range(rank) if k != axis)]
    data = context.transpose(context[0], order)
    total = rank - 1 + many
    front = [*range(axis, axis + many), *range(axis), *range(axis + many, total)]
    updates = context.transpose(context[2], front)
    places = context.leaf("Unsqueeze", context.int64(1), context.whole(-1))
    written = context.leaf("ScatterND", data, places, updates)
    return context.transpose(written, [order.index(k) for k in range(rank)])


@layer("ScatterNDUpdate", 3, 15)
def scatter_nd_update(context: LayerContext) -> Made:
    """Replace slices at index vectors by updates, or combine them."""
    word = context.text("reduction", "none", *_REDUCTIONS, "sub")
    updates = context[2]
    if word == "sub":
        word, updates = "sum", context.leaf("Neg", updates)
    flags = {"reduction": _REDUCTIONS[word]}
    return context.leaf("ScatterND", context[0], context.int64(1), updates, **flags)


@layer("ScatterElementsUpdate", 3, 12)
def scatter_elements_update(context: LayerContext) -> Made:
    """Replace elements by their index along an axis, or combine them with updates.

    Without `use_init_val` only the updates are combined; `mean` divides by their number.
    """
    word = context.text("reduction", "none", *_REDUCTIONS, "mean")
    axis, data, places = context.axis(3), context[0], context[1]
    started = context.truth("use_init_val", True)
    if word != "none" and not started:
        neutral = context.leaf("Expand", _neutral(context, word), context.leaf("Shape", places))
        data = context.leaf("ScatterElements", data, places, neutral, axis=axis)
    reduction = _REDUCTIONS["sum" if word == "mean" else word]
    flags = {"reduction": reduction, "axis": axis}
    total = context.leaf("ScatterElements", data, places, context[2], **flags)
    return _divided(context, total, axis, started) if word == "mean" else total


def _neutral(context: LayerContext, word: str) -> Value:
    """The neutral element of a reduction."""
    if word in ("sum", "mean", "prod"):
        return context.like(0, float(word == "prod"))
    dtype: np.dtype[Any] = context.dtype(0).numpy
    if context.is_float(0):
        return context.like(0, np.inf if word == "min" else -np.inf)
    limits = np.iinfo(dtype)
    return context.constant(np.array(limits.max if word == "min" else limits.min, dtype))


def _divided(context: LayerContext, total: Value, axis: int, started: bool) -> Value:
    """Divide the sums by their counts; elements without updates keep their value."""
    one = context.like(0, 1.0)
    counts = context.leaf("Expand", one, context.leaf("Shape", context[0]))
    if not started:
        counts = context.leaf("Sub", counts, counts)
    ones = context.leaf("Expand", one, context.leaf("Shape", context[1]))
    flags = {"reduction": "add", "axis": axis}
    counts = context.leaf("ScatterElements", counts, context[1], ones, **flags)
    return context.leaf("Div", total, context.leaf("Max", counts, one))

"""Elements written by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_REDUCTIONS = {"none": None, "sum": "add", "prod": "mul", "min": "min", "max": "max"}


@layer("ScatterUpdate", 3)
def scatter_update(hand: LayerContext) -> Made:
    """Replace slices along an axis by updates."""
    rank, many = hand.rank(0), hand.rank(1)
    axis = hand.axis(3) % rank
    order = [axis, *(k for k in range(rank) if k != axis)]
    data = hand.transpose(hand[0], order)
    total = rank - 1 + many
    front = [*range(axis, axis + many), *range(axis), *range(axis + many, total)]
    updates = hand.transpose(hand[2], front)
    places = hand.leaf("Unsqueeze", hand.int64(1), hand.whole(-1))
    written = hand.leaf("ScatterND", data, places, updates)
    return hand.transpose(written, [order.index(k) for k in range(rank)])


@layer("ScatterNDUpdate", 3, 15)
def scatter_nd_update(hand: LayerContext) -> Made:
    """Replace slices at index vectors by updates, or combine them."""
    word = hand.text("reduction", "none", *_REDUCTIONS, "sub")
    updates = hand[2]
    if word == "sub":
        word, updates = "sum", hand.leaf("Neg", updates)
    flags = {"reduction": _REDUCTIONS[word]}
    return hand.leaf("ScatterND", hand[0], hand.int64(1), updates, **flags)


@layer("ScatterElementsUpdate", 3, 12)
def scatter_elements_update(hand: LayerContext) -> Made:
    """Replace elements by their index along an axis, or combine them with updates.

    Without `use_init_val` only the updates are combined; `mean` divides by their number.
    """
    word = hand.text("reduction", "none", *_REDUCTIONS, "mean")
    axis, data, places = hand.axis(3), hand[0], hand[1]
    started = hand.truth("use_init_val", True)
    if word != "none" and not started:
        neutral = hand.leaf("Expand", _neutral(hand, word), hand.leaf("Shape", places))
        data = hand.leaf("ScatterElements", data, places, neutral, axis=axis)
    reduction = _REDUCTIONS["sum" if word == "mean" else word]
    flags = {"reduction": reduction, "axis": axis}
    total = hand.leaf("ScatterElements", data, places, hand[2], **flags)
    return _divided(hand, total, axis, started) if word == "mean" else total


def _neutral(hand: LayerContext, word: str) -> Value:
    """The neutral element of a reduction."""
    if word in ("sum", "mean", "prod"):
        return hand.like(0, float(word == "prod"))
    dtype: np.dtype[Any] = hand.dtype(0).numpy
    if hand.is_float(0):
        return hand.like(0, np.inf if word == "min" else -np.inf)
    limits = np.iinfo(dtype)
    return hand.constant(np.array(limits.max if word == "min" else limits.min, dtype))


def _divided(hand: LayerContext, total: Value, axis: int, started: bool) -> Value:
    """Divide the sums by their counts; elements without updates keep their value."""
    one = hand.like(0, 1.0)
    counts = hand.leaf("Expand", one, hand.leaf("Shape", hand[0]))
    if not started:
        counts = hand.leaf("Sub", counts, counts)
    ones = hand.leaf("Expand", one, hand.leaf("Shape", hand[1]))
    flags = {"reduction": "add", "axis": axis}
    counts = hand.leaf("ScatterElements", counts, hand[1], ones, **flags)
    return hand.leaf("Div", total, hand.leaf("Max", counts, one))

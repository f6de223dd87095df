"""What is chosen by a condition, a rank or a place: Select, TopK, NonZero, OneHot, Unique."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.faults import Fault
from treadle.formats.openvino.hand import Hand
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import DType, Value


@layer("Select", 1)
def select(hand: Hand) -> Made:
    """Takes then where the condition is true, otherwise else."""
    if hand.text("auto_broadcast", "numpy") == "pdpd":
        raise Fault("CF909", "auto_broadcast pdpd is not supported here")
    return hand.leaf("Where", hand[0], hand[1], hand[2])


@layer("NonZero", 3)
def non_zero(hand: Hand) -> Made:
    """The places of what is not zero, one row an axis."""
    return typed(hand, hand.leaf("NonZero", hand[0]), "output_type")


def typed(hand: Hand, value: Value, name: str, default: str = "i64") -> Value:
    """int64 results in the element type an attribute asks for."""
    dtype = hand.element(name, default)
    return value if dtype is DType.INT64 else hand.cast(value, dtype)


@layer("OneHot", 1)
def one_hot(hand: Hand) -> Made:
    """on_value at the index along a new axis, off_value elsewhere."""
    values = [hand.leaf("Reshape", hand[k], hand.whole(1)) for k in (3, 2)]
    both = hand.leaf("Concat", *values, axis=0)
    return hand.leaf("OneHot", hand[0], hand.list64(1), both, axis=hand.integer("axis", -1))


@layer("TopK", 1, 3, 11)
def top_k(hand: Hand) -> Made:
    """The k largest or smallest along an axis, and where they are."""
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
def unique(hand: Hand) -> Made:
    """The elements, or slices along an axis, that differ."""
    axis = None
    if hand.get(1) is not None:
        axis = hand.axis(1)
    ordered = int(hand.truth("sorted", True))
    made = hand.leaves("Unique", 4, hand[0], axis=axis, sorted=ordered)
    places = [typed(hand, v, "index_element_type") for v in made[1:3]]
    return made[0], *places, typed(hand, made[3], "count_element_type")


@layer("NonMaxSuppression", 9)
def non_max_suppression(hand: Hand) -> Made:
    """Boxes that overlap no better one: [batch, class, box], their scores, how many."""
    if hand.truth("sort_result_descending", True):
        raise Fault("CF909", "sort_result_descending=true has no ONNX form", "export it as false")
    if hand.get(5) is not None and np.any(hand.known(5, "soft_nms_sigma")):
        raise Fault("CF909", "soft_nms_sigma above 0 has no ONNX form")
    encoding = hand.text("box_encoding", "corner", "corner", "center")
    bounds = [hand.list64(2) if hand.get(2) is not None else hand.whole(0)]
    bounds += [_flat(hand, k) for k in (3, 4)]
    chosen = hand.leaf(
        "NonMaxSuppression", hand[0], hand[1], *bounds, center_point_box=int(encoding == "center")
    )
    scores = hand.leaf("GatherND", hand[1], chosen)
    places = hand.leaf("Slice", chosen, hand.whole(0), hand.whole(2), hand.whole(1))
    places = hand.leaf("CastLike", places, hand[1])
    scores = hand.leaf("Unsqueeze", scores, hand.whole(1))
    rows = hand.leaf("Concat", places, scores, axis=1)
    count = hand.leaf("Shape", chosen, start=0, end=1)
    return (
        typed(hand, chosen, "output_type"),
        rows,
        typed(hand, count, "output_type"),
    )


def _flat(hand: Hand, position: int) -> Value:
    value = hand.get(position)
    if value is None:
        return hand.constant(np.zeros(1, np.float32))
    return hand.leaf("Reshape", hand.cast(value, DType.FLOAT32), hand.whole(1))

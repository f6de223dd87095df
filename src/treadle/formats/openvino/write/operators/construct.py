"""Trilu, Hardmax, and treadle's own SequenceLength, composed of other operators."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.ir import DType

OWN = "treadle"


@operator("Trilu")
def triangle(hand: OpContext) -> Made:
    """The elements above or below a diagonal, zeros elsewhere."""
    rank = hand.rank(0)
    if 0 in (hand.shape(0) or ()):
        return hand[0]  # OpenVINO's Select crashes on empty tensors
    row, column = (_places(hand, rank - 2), _places(hand, rank - 1))
    shift = hand.reshape(hand[1], 1) if hand.has(1) else hand.whole(0)
    right = hand.layer("Subtract-1", column, hand.unsqueeze(row, 1))
    kept = "GreaterEqual-1" if hand.integer("upper", 1) else "LessEqual-1"
    mask = hand.layer(kept, right, shift)
    blank = hand.constant(np.array(False)) if hand.dtype(0) is DType.BOOL else hand.like(0, 0)
    return hand.layer("Select-1", mask, hand[0], blank)


def _places(hand: OpContext, axis: int) -> Wire:
    length = hand.squeeze(hand.extent_of(0, axis), 0)
    return hand.layer("Range-4", hand.scalar(0), length, hand.scalar(1), output_type="i64")


@operator("Hardmax")
def hardmax(hand: OpContext) -> Made:
    """1 at the first of the largest along an axis, 0 elsewhere."""
    axis = hand.axis(default=-1 if hand.version >= 13 else 1)
    value, rank = hand[0], hand.rank(0)
    flat = hand.version < 13 and axis != rank - 1
    if flat:
        front = hand.layer("ReduceProd-1", _front(hand, axis), hand.whole(0), keep_dims=True)
        shape = hand.layer("Concat-1", front, hand.whole(-1), axis=0)
        value = hand.layer("Reshape-1", value, shape, special_zero=False)
        axis = 1
    place = hand.layers(
        "TopK-11", 2, value, hand.scalar(1), axis=axis, mode="max", sort="value",
        index_element_type="i64", stable=True,
    )[1]  # fmt: skip
    shape = hand.layer("ShapeOf-3", value, output_type="i64")
    depth = hand.layer("Gather-8", shape, hand.scalar(axis), hand.scalar(0), batch_dims=0)
    made = hand.layer(
        "OneHot-1", hand.squeeze(place, axis), depth, hand.like(0, 1), hand.like(0, 0), axis=axis
    )
    if not flat:
        return made
    return hand.layer("Reshape-1", made, hand.shape_of(0), special_zero=False)


def _front(hand: OpContext, axis: int) -> Wire:
    if axis == 0:
        return hand.whole(1)
    bounds = (hand.whole(k) for k in (0, axis, 1, 0))
    return hand.layer("Slice-8", hand.shape_of(0), *bounds)


@operator("SequenceLength", domain=OWN)
def sequence_length(hand: OpContext) -> Made:
    """The entry of Scan-8's sequence_lens for one row, as a vector; OpenVINO does not check it."""
    return hand.reshape(hand[0], 1)

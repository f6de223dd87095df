"""Elements by index: Gather, Scatter, TopK, NonZero, OneHot, Compress and others."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import ML, Made, operator
from treadle.formats.openvino.write.refusals import Refusal
from treadle.ir import DType

_REDUCTIONS = {"add": "sum", "mul": "prod", "min": "min", "max": "max", "none": "none"}


@operator("Gather")
def gather(hand: OpContext) -> Made:
    """Items along an axis; a negative index counts from the end."""
    return hand.layer("Gather-8", hand[0], hand[1], hand.scalar(hand.axis()), batch_dims=0)


@operator("GatherElements")
def gather_elements(hand: OpContext) -> Made:
    """An element for every index, along an axis."""
    axis = hand.axis()
    return hand.layer("GatherElements-6", hand[0], _from_front(hand, 1, axis), axis=axis)


def _from_front(hand: OpContext, position: int, axis: int) -> Wire:
    """Indices along an axis of the first operand, counted from the front."""
    array = hand.array(position)
    if array is not None and (not array.size or array.min() >= 0):
        return hand[position]
    indices = hand[position]
    extent = hand.convert(hand.extent_of(0, axis), hand.dtype(position))
    negative = hand.layer("Less-1", indices, hand.alike(indices, 0))
    moved = hand.layer("Add-1", indices, extent)
    return hand.layer("Select-1", negative, moved, indices)


def _places(hand: OpContext) -> Wire:
    """The index tuples of GatherND and ScatterND, counted from the front."""
    array = hand.array(1)
    if array is not None and (not array.size or array.min() >= 0):
        return hand[1]
    indices, batch = hand[1], hand.integer("batch_dims")
    width = hand.extent(1, hand.rank(1) - 1)
    if width is None:
        raise Refusal("the length of its index tuples is not known")
    extents = hand.layer(
        "Slice-8", hand.shape_of(0), *(hand.whole(k) for k in (batch, batch + width, 1, 0))
    )
    extents = hand.convert(extents, hand.dtype(1))
    negative = hand.layer("Less-1", indices, hand.alike(indices, 0))
    moved = hand.layer("Add-1", indices, extents)
    return hand.layer("Select-1", negative, moved, indices)


@operator("GatherND")
def gather_nd(hand: OpContext) -> Made:
    """Slices by index tuples."""
    return hand.layer("GatherND-8", hand[0], _places(hand), batch_dims=hand.integer("batch_dims"))


@operator("ScatterND")
def scatter_nd(hand: OpContext) -> Made:
    """Slices replaced by index tuples."""
    reduction = _REDUCTIONS[hand.text("reduction", "none")]
    return hand.layer("ScatterNDUpdate-15", hand[0], _places(hand), hand[2], reduction=reduction)


@operator("ScatterElements", "Scatter")
def scatter_elements(hand: OpContext) -> Made:
    """Elements replaced by index, along an axis."""
    axis = hand.axis()
    return hand.layer(
        "ScatterElementsUpdate-12",
        hand[0],
        _from_front(hand, 1, axis),
        hand[2],
        hand.scalar(axis),
        reduction=_REDUCTIONS[hand.text("reduction", "none")],
        use_init_val=True,
    )


@operator("TopK")
def top_k(hand: OpContext) -> Made:
    """The k largest or smallest along an axis, and their indices."""
    count = hand.scalar(hand.integer("k")) if hand.version < 10 else None
    if count is None:
        array = hand.array(1)
        count = hand.squeeze(hand[1], 0) if array is None else hand.scalar(int(array.item()))
    return _ranked(hand, hand[0], count, hand.axis(default=-1), bool(hand.integer("largest", 1)))


def _ranked(
    hand: OpContext, value: Wire, count: Wire, axis: int, largest: bool
) -> tuple[Wire, ...]:
    return hand.layers(
        "TopK-11",
        2,
        value,
        count,
        axis=axis,
        mode="max" if largest else "min",
        sort="value",
        index_element_type="i64",
        stable=True,
    )


@operator("ArgMax", "ArgMin")
def arg_extreme(hand: OpContext) -> Made:
    """The index of the largest or smallest along an axis."""
    axis, largest = hand.axis(), hand.leaf.op == "ArgMax"
    value, last = hand[0], bool(hand.integer("select_last_index"))
    if last:
        ends = (hand.whole(k) for k in (-1, -(2**31) + 1, -1, axis))
        value = hand.layer("Slice-8", value, *ends)
    place = _ranked(hand, value, hand.scalar(1), axis, largest)[1]
    if last:
        end = hand.layer("Subtract-1", hand.extent_of(0, axis), hand.whole(1))
        place = hand.layer("Subtract-1", end, place)
    return place if hand.integer("keepdims", 1) else hand.squeeze(place, axis)


@operator("NonZero")
def non_zero(hand: OpContext) -> Made:
    """The indices of nonzero elements, one row per axis."""
    return hand.layer("NonZero-3", hand[0], output_type="i64")


@operator("Compress")
def compress(hand: OpContext) -> Made:
    """The items whose flag is set."""
    flags = hand.reshape(hand.layer("NonZero-3", hand[1], output_type="i64"), -1)
    if "axis" not in hand.attributes:
        flat = hand.reshape(hand[0], -1)
        return hand.layer("Gather-8", flat, flags, hand.scalar(0), batch_dims=0)
    return hand.layer("Gather-8", hand[0], flags, hand.scalar(hand.axis()), batch_dims=0)


@operator("OneHot")
def one_hot(hand: OpContext) -> Made:
    """The on value at the index along a new axis, the off value elsewhere."""
    indices, depth = hand.convert(hand[0], DType.INT64), hand.convert(hand[1], DType.INT64)
    depth = depth if hand.shape(1) == () else hand.squeeze(depth)
    negative = hand.layer("Less-1", indices, hand.scalar(0))
    moved = hand.layer("Add-1", indices, depth)
    places = hand.layer("Select-1", negative, moved, indices)
    off, on = (
        hand.layer("Gather-8", hand[2], hand.scalar(k), hand.scalar(0), batch_dims=0)
        for k in (0, 1)
    )
    axis = hand.integer("axis", -1)
    return hand.layer("OneHot-1", places, depth, on, off, axis=axis)


@operator("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(hand: OpContext) -> Made:
    """Items along the last axis; a vector becomes a row."""
    rank = hand.rank(0)
    places = hand.reshape(hand[1], -1)
    made = hand.layer("Gather-8", hand[0], places, hand.scalar(rank - 1), batch_dims=0)
    return hand.reshape(made, 1, -1) if rank == 1 else made


@operator("Unique")
def unique(hand: OpContext) -> Made:
    """The distinct elements, or slices along an axis."""
    along = []
    if "axis" in hand.attributes:
        along.append(hand.scalar(hand.axis()))
    return hand.layers(
        "Unique-10",
        4,
        hand[0],
        *along,
        sorted=bool(hand.integer("sorted", 1)),
        index_element_type="i64",
        count_element_type="i64",
    )


@operator("NonMaxSuppression")
def non_max_suppression(hand: OpContext) -> Made:
    """Boxes that do not overlap a better one: [batch, class, box]."""
    none = np.zeros((), np.float32)
    most = hand.scalar(
        hand.wholes(2, "the maximum number of boxes per class")[0] if hand.has(2) else 0
    )
    bounds = [hand.squeeze(hand[k]) if hand.has(k) else hand.constant(none) for k in (3, 4)]
    if not hand.has(4):
        bounds[1] = hand.constant(np.array(-3.0e38, np.float32))
    return hand.layers(
        "NonMaxSuppression-9",
        3,
        hand[0],
        hand[1],
        most,
        *bounds,
        box_encoding="center" if hand.integer("center_point_box") else "corner",
        sort_result_descending=False,
        output_type="i64",
    )[0]

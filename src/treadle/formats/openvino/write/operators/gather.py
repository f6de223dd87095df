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
def gather(context: OpContext) -> Made:
    """Items along an axis; a negative index counts from the end."""
    return context.layer(
        "Gather-8", context[0], context[1], context.scalar(context.axis()), batch_dims=0
    )


@operator("GatherElements")
def gather_elements(context: OpContext) -> Made:
    """An element for every index, along an axis."""
    axis = context.axis()
    return context.layer("GatherElements-6", context[0], _from_front(context, 1, axis), axis=axis)


def _from_front(context: OpContext, position: int, axis: int) -> Wire:
    """Indices along an axis of the first operand, counted from the front."""
    array = context.array(position)
    if array is not None and (not array.size or array.min() >= 0):
        return context[position]
    indices = context[position]
    extent = context.convert(context.extent_of(0, axis), context.dtype(position))
    negative = context.layer("Less-1", indices, context.alike(indices, 0))
    moved = context.layer("Add-1", indices, extent)
    return context.layer("Select-1", negative, moved, indices)


def _places(context: OpContext) -> Wire:
    """The index tuples of GatherND and ScatterND, counted from the front."""
    array = context.array(1)
    if array is not None and (not array.size or array.min() >= 0):
        return context[1]
    indices, batch = context[1], context.integer("batch_dims")
    width = context.extent(1, context.rank(1) - 1)
    if width is None:
        raise Refusal("the length of its index tuples is not known")
    extents = context.layer(
        "Slice-8", context.shape_of(0), *(context.whole(k) for k in (batch, batch + width, 1, 0))
    )
    extents = context.convert(extents, context.dtype(1))
    negative = context.layer("Less-1", indices, context.alike(indices, 0))
    moved = context.layer("Add-1", indices, extents)
    return context.layer("Select-1", negative, moved, indices)


@operator("GatherND")
def gather_nd(context: OpContext) -> Made:
    """Slices by index tuples."""
    return context.layer(
        "GatherND-8", context[0], _places(context), batch_dims=context.integer("batch_dims")
    )


@operator("ScatterND")
def scatter_nd(context: OpContext) -> Made:
    """Slices replaced by index tuples."""
    reduction = _REDUCTIONS[context.text("reduction", "none")]
    return context.layer(
        "ScatterNDUpdate-15", context[0], _places(context), context[2], reduction=reduction
    )


@operator("ScatterElements", "Scatter")
def scatter_elements(context: OpContext) -> Made:
    """Elements replaced by index, along an axis."""
    axis = context.axis()
    return context.layer(
        "ScatterElementsUpdate-12",
        context[0],
        _from_front(context, 1, axis),
        context[2],
        context.scalar(axis),
        reduction=_REDUCTIONS[context.text("reduction", "none")],
        use_init_val=True,
    )


@operator("TopK")
def top_k(context: OpContext) -> Made:
    """The k largest or smallest along an axis, and their indices."""
    count = context.scalar(context.integer("k")) if context.version < 10 else None
    if count is None:
        array = context.array(1)
        count = (
            context.squeeze(context[1], 0) if array is None else context.scalar(int(array.item()))
        )
    return _ranked(
        context, context[0], count, context.axis(default=-1), bool(context.integer("largest", 1))
    )


def _ranked(
    context: OpContext, value: Wire, count: Wire, axis: int, largest: bool
) -> tuple[Wire, ...]:
    return context.layers(
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
def arg_extreme(context: OpContext) -> Made:
    """The index of the largest or smallest along an axis."""
    axis, largest = context.axis(), context.leaf.op == "ArgMax"
    value, last = context[0], bool(context.integer("select_last_index"))
    if last:
        ends = (context.whole(k) for k in (-1, -(2**31) + 1, -1, axis))
        value = context.layer("Slice-8", value, *ends)
    index = _ranked(context, value, context.scalar(1), axis, largest)[1]
    if last:
        end = context.layer("Subtract-1", context.extent_of(0, axis), context.whole(1))
        index = context.layer("Subtract-1", end, index)
    return index if context.integer("keepdims", 1) else context.squeeze(index, axis)


@operator("NonZero")
def non_zero(context: OpContext) -> Made:
    """The indices of nonzero elements, one row per axis."""
    return context.layer("NonZero-3", context[0], output_type="i64")


@operator("Compress")
def compress(context: OpContext) -> Made:
    """The items whose flag is set."""
    flags = context.reshape(context.layer("NonZero-3", context[1], output_type="i64"), -1)
    if "axis" not in context.attributes:
        flat = context.reshape(context[0], -1)
        return context.layer("Gather-8", flat, flags, context.scalar(0), batch_dims=0)
    return context.layer(
        "Gather-8", context[0], flags, context.scalar(context.axis()), batch_dims=0
    )


@operator("OneHot")
def one_hot(context: OpContext) -> Made:
    """The on value at the index along a new axis, the off value elsewhere."""
    indices, depth = (
        context.convert(context[0], DType.INT64),
        context.convert(context[1], DType.INT64),
    )
    depth = depth if context.shape(1) == () else context.squeeze(depth)
    negative = context.layer("Less-1", indices, context.scalar(0))
    moved = context.layer("Add-1", indices, depth)
    places = context.layer("Select-1", negative, moved, indices)
    off, on = (
        context.layer("Gather-8", context[2], context.scalar(k), context.scalar(0), batch_dims=0)
        for k in (0, 1)
    )
    axis = context.integer("axis", -1)
    return context.layer("OneHot-1", places, depth, on, off, axis=axis)


@operator("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(context: OpContext) -> Made:
    """Items along the last axis; a vector becomes a row."""
    rank = context.rank(0)
    places = context.reshape(context[1], -1)
    made = context.layer("Gather-8", context[0], places, context.scalar(rank - 1), batch_dims=0)
    return context.reshape(made, 1, -1) if rank == 1 else made


@operator("Unique")
def unique(context: OpContext) -> Made:
    """The distinct elements, or slices along an axis."""
    along = []
    if "axis" in context.attributes:
        along.append(context.scalar(context.axis()))
    return context.layers(
        "Unique-10",
        4,
        context[0],
        *along,
        sorted=bool(context.integer("sorted", 1)),
        index_element_type="i64",
        count_element_type="i64",
    )


@operator("NonMaxSuppression")
def non_max_suppression(context: OpContext) -> Made:
    """Boxes that do not overlap a better one: [batch, class, box]."""
    none = np.zeros((), np.float32)
    most = context.scalar(
        context.wholes(2, "the maximum number of boxes per class")[0] if context.has(2) else 0
    )
    bounds = [
        context.squeeze(context[k]) if context.has(k) else context.constant(none) for k in (3, 4)
    ]
    if not context.has(4):
        bounds[1] = context.constant(np.array(-3.0e38, np.float32))
    return context.layers(
        "NonMaxSuppression-9",
        3,
        context[0],
        context[1],
        most,
        *bounds,
        box_encoding="center" if context.integer("center_point_box") else "corner",
        sort_result_descending=False,
        output_type="i64",
    )[0]

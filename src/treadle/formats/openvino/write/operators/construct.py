"""Trilu, Hardmax, and treadle's own SequenceLength, composed of other operators."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.ir import DType

OWN = "treadle"


@operator("Trilu")
def triangle(context: OpContext) -> Made:
    """The elements above or below a diagonal, zeros elsewhere."""
    rank = context.rank(0)
    if 0 in (context.shape(0) or ()):
        return context[0]  # OpenVINO's Select crashes on empty tensors
    row, column = (_places(context, rank - 2), _places(context, rank - 1))
    shift = context.reshape(context[1], 1) if context.has(1) else context.whole(0)
    right = context.layer("Subtract-1", column, context.unsqueeze(row, 1))
    kept = "GreaterEqual-1" if context.integer("upper", 1) else "LessEqual-1"
    mask = context.layer(kept, right, shift)
    blank = (
        context.constant(np.array(False)) if context.dtype(0) is DType.BOOL else context.like(0, 0)
    )
    return context.layer("Select-1", mask, context[0], blank)


def _places(context: OpContext, axis: int) -> Wire:
    length = context.squeeze(context.extent_of(0, axis), 0)
    return context.layer("Range-4", context.scalar(0), length, context.scalar(1), output_type="i64")


@operator("Hardmax")
def hardmax(context: OpContext) -> Made:
    """1 at the first of the largest along an axis, 0 elsewhere."""
    axis = context.axis(default=-1 if context.version >= 13 else 1)
    value, rank = context[0], context.rank(0)
    flat = context.version < 13 and axis != rank - 1
    if flat:
        front = context.layer(
            "ReduceProd-1", _front(context, axis), context.whole(0), keep_dims=True
        )
        shape = context.layer("Concat-1", front, context.whole(-1), axis=0)
        value = context.layer("Reshape-1", value, shape, special_zero=False)
        axis = 1
    index = context.layers(
        "TopK-11", 2, value, context.scalar(1), axis=axis, mode="max", sort="value",
        index_element_type="i64", stable=True,
    )[1]  # fmt: skip
    shape = context.layer("ShapeOf-3", value, output_type="i64")
    depth = context.layer("Gather-8", shape, context.scalar(axis), context.scalar(0), batch_dims=0)
    made = context.layer(
        "OneHot-1",
        context.squeeze(index, axis),
        depth,
        context.like(0, 1),
        context.like(0, 0),
        axis=axis,
    )
    if not flat:
        return made
    return context.layer("Reshape-1", made, context.shape_of(0), special_zero=False)


def _front(context: OpContext, axis: int) -> Wire:
    if axis == 0:
        return context.whole(1)
    bounds = (context.whole(k) for k in (0, axis, 1, 0))
    return context.layer("Slice-8", context.shape_of(0), *bounds)


@operator("SequenceLength", domain=OWN)
def sequence_length(context: OpContext) -> Made:
    """The entry of Scan-8's sequence_lens for one row, as a vector; OpenVINO does not check it."""
    return context.reshape(context[0], 1)

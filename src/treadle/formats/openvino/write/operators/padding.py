"""Pad, in every version: constant, edge, reflect, wrap; a negative pad removes elements."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.layout import around
from treadle.formats.openvino.write.operators.registry import Made, operator


@operator("Pad")
def pad(context: OpContext) -> Made:
    """Add or remove elements at both ends of axes."""
    begin, end = _pads(context)
    mode = context.text("mode", "constant")
    if mode == "wrap":
        return _wrapped(context, begin, end)
    data: dict[str, object] = {"pad_mode": mode}
    return context.layer("Pad-12", context[0], begin, end, *_filling(context, mode), **data)


def _filling(context: OpContext, mode: str) -> list[Wire]:
    if mode != "constant":
        return []
    if not context.has(2):
        return [context.like(0, context.number("value", 0.0))]
    return [context[2] if context.shape(2) == () else context.squeeze(context[2])]


def _pads(context: OpContext) -> tuple[Wire, Wire]:
    """The pads before and after, one entry per axis."""
    given = context.integers("pads") or context.integers("paddings")
    array = context.array(1)
    pads = given if array is None else [int(item) for item in array.reshape(-1).tolist()]
    rank = context.rank(0)
    if not context.has(3):
        if pads is not None:
            return context.whole(*pads[:rank]), context.whole(*pads[rank:])
        halves = context.layers("Split-1", 2, context[1], context.scalar(0), num_splits=2)
        return halves[0], halves[1]
    axes = [axis % rank for axis in context.wholes(3, "the axes")]
    if pads is not None:
        both = [np.zeros(rank, np.int64), np.zeros(rank, np.int64)]
        for k, axis in enumerate(axes):
            both[0][axis], both[1][axis] = pads[k], pads[len(axes) + k]
        return context.constant(both[0]), context.constant(both[1])
    halves = context.layers("Split-1", 2, context[1], context.scalar(0), num_splits=2)
    zeros, places = context.whole(*[0] * rank), context.whole(*axes)
    placed = [
        context.layer("ScatterElementsUpdate-3", zeros, places, half, context.scalar(0))
        for half in halves
    ]
    return placed[0], placed[1]


def _wrapped(context: OpContext, begin: Wire, end: Wire) -> Wire:
    """The items at positions from -begin to length + end, modulo the length."""
    made = context[0]
    for axis in range(context.rank(0)):
        ends = [_entry(context, wire, axis) for wire in (begin, end)]
        if all(each.array is not None and not each.array.any() for each in ends):
            continue
        length = context.squeeze(context.extent_of(0, axis), 0)
        first = context.layer("Subtract-1", context.scalar(0), ends[0])
        last = context.layer("Add-1", length, ends[1])
        made = around(context, made, axis, first, last)
    return made


def _entry(context: OpContext, wire: Wire, axis: int) -> Wire:
    if wire.array is not None:
        return context.scalar(int(wire.array[axis]))
    return context.layer("Gather-8", wire, context.scalar(axis), context.scalar(0), batch_dims=0)

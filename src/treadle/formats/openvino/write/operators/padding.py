"""Pad, in every version: constant, edge, reflect, wrap; a negative pad removes elements."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.layout import around
from treadle.formats.openvino.write.operators.registry import Made, operator


@operator("Pad")
def pad(hand: OpContext) -> Made:
    """Add or remove elements at both ends of axes."""
    begin, end = _pads(hand)
    mode = hand.text("mode", "constant")
    if mode == "wrap":
        return _wrapped(hand, begin, end)
    data: dict[str, object] = {"pad_mode": mode}
    return hand.layer("Pad-12", hand[0], begin, end, *_filling(hand, mode), **data)


def _filling(hand: OpContext, mode: str) -> list[Wire]:
    if mode != "constant":
        return []
    if not hand.has(2):
        return [hand.like(0, hand.number("value", 0.0))]
    return [hand[2] if hand.shape(2) == () else hand.squeeze(hand[2])]


def _pads(hand: OpContext) -> tuple[Wire, Wire]:
    """The pads before and after, one entry per axis."""
    given = hand.integers("pads") or hand.integers("paddings")
    array = hand.array(1)
    pads = given if array is None else [int(item) for item in array.reshape(-1).tolist()]
    rank = hand.rank(0)
    if not hand.has(3):
        if pads is not None:
            return hand.whole(*pads[:rank]), hand.whole(*pads[rank:])
        halves = hand.layers("Split-1", 2, hand[1], hand.scalar(0), num_splits=2)
        return halves[0], halves[1]
    axes = [axis % rank for axis in hand.wholes(3, "the axes")]
    if pads is not None:
        both = [np.zeros(rank, np.int64), np.zeros(rank, np.int64)]
        for k, axis in enumerate(axes):
            both[0][axis], both[1][axis] = pads[k], pads[len(axes) + k]
        return hand.constant(both[0]), hand.constant(both[1])
    halves = hand.layers("Split-1", 2, hand[1], hand.scalar(0), num_splits=2)
    zeros, places = hand.whole(*[0] * rank), hand.whole(*axes)
    placed = [
        hand.layer("ScatterElementsUpdate-3", zeros, places, half, hand.scalar(0))
        for half in halves
    ]
    return placed[0], placed[1]


def _wrapped(hand: OpContext, begin: Wire, end: Wire) -> Wire:
    """The items at positions from -begin to length + end, modulo the length."""
    made = hand[0]
    for axis in range(hand.rank(0)):
        ends = [_entry(hand, wire, axis) for wire in (begin, end)]
        if all(each.array is not None and not each.array.any() for each in ends):
            continue
        length = hand.squeeze(hand.extent_of(0, axis), 0)
        first = hand.layer("Subtract-1", hand.scalar(0), ends[0])
        last = hand.layer("Add-1", length, ends[1])
        made = around(hand, made, axis, first, last)
    return made


def _entry(hand: OpContext, wire: Wire, axis: int) -> Wire:
    if wire.array is not None:
        return hand.scalar(int(wire.array[axis]))
    return hand.layer("Gather-8", wire, hand.scalar(axis), hand.scalar(0), batch_dims=0)

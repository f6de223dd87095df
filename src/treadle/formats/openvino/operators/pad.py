"""Pad."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_LEAST = -(2**63)


@layer("Pad", 1, 12)
def pad(hand: LayerContext) -> Made:
    """Pad both ends of every axis; a negative number removes elements."""
    mode = hand.text("pad_mode", None, "constant", "edge", "reflect", "symmetric")
    if mode == "symmetric":
        return _symmetric(hand)
    pads = hand.leaf("Concat", hand.list64(1), hand.list64(2), axis=0)
    filler = hand.get(3) if mode == "constant" else None
    return hand.leaf("Pad", hand[0], pads, filler, mode=mode)


def _symmetric(hand: LayerContext) -> Value:
    """Mirror at the ends, including the end items, for which ONNX has no mode.

    Along each axis: the first items reversed, all items, the last ones reversed.
    """
    begins, ends = hand.wholes(1, "pads_begin"), hand.wholes(2, "pads_end")
    if min([0, *begins, *ends]) < 0:
        raise IrError("CF909", "pad_mode symmetric with a negative pad is not supported")
    value, back = hand[0], hand.whole(-1)
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        along = hand.whole(axis)
        parts = [value]
        if begin:
            bounds = (hand.whole(begin - 1), hand.whole(_LEAST))
            parts.insert(0, hand.leaf("Slice", value, *bounds, along, back))
        if end:
            bounds = (hand.whole(-1), hand.whole(-1 - end))
            parts.append(hand.leaf("Slice", value, *bounds, along, back))
        value = hand.leaf("Concat", *parts, axis=axis) if len(parts) > 1 else value
    return value

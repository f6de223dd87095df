"""Pad."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value

_LEAST = -(2**63)


@layer("Pad", 1, 12)
def pad(context: LayerContext) -> Made:
    """Pad both ends of every axis; a negative number removes elements."""
    mode = context.text("pad_mode", None, "constant", "edge", "reflect", "symmetric")
    if mode == "symmetric":
        return _symmetric(context)
    pads = context.leaf("Concat", context.list64(1), context.list64(2), axis=0)
    filler = context.get(3) if mode == "constant" else None
    return context.leaf("Pad", context[0], pads, filler, mode=mode)


def _symmetric(context: LayerContext) -> Value:
    """Mirror at the ends, including the end items, for which ONNX has no mode.

    Along each axis: the first items reversed, all items, the last ones reversed.
    """
    begins, ends = context.wholes(1, "pads_begin"), context.wholes(2, "pads_end")
    if min([0, *begins, *ends]) < 0:
        raise IrError("CF909", "pad_mode symmetric with a negative pad is not supported")
    value, back = context[0], context.whole(-1)
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        along = context.whole(axis)
        parts = [value]
        if begin:
            bounds = (context.whole(begin - 1), context.whole(_LEAST))
            parts.insert(0, context.leaf("Slice", value, *bounds, along, back))
        if end:
            bounds = (context.whole(-1), context.whole(-1 - end))
            parts.append(context.leaf("Slice", value, *bounds, along, back))
        value = context.leaf("Concat", *parts, axis=axis) if len(parts) > 1 else value
    return value

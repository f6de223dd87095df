"""Attributes shared by convolutions and pooling: strides, pads, dilations."""

from __future__ import annotations

from treadle.formats.openvino.layer_context import LayerContext

_AUTO = {"explicit": "NOTSET", "same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER",
         "valid": "VALID", "notset": "NOTSET"}  # fmt: skip


def windows(context: LayerContext, *, dilated: bool = True) -> dict[str, object]:
    """ONNX's attributes for them; `pads` only if there is no automatic padding."""
    strides = context.integers("strides")
    given: dict[str, object] = {"strides": strides}
    if dilated:
        given["dilations"] = context.integers("dilations", [1] * len(strides))
    auto = _AUTO[context.text("auto_pad", "explicit", *_AUTO)]
    if auto != "NOTSET":
        return given | {"auto_pad": auto}
    zeros = [0] * len(strides)
    pads = context.integers("pads_begin", zeros) + context.integers("pads_end", zeros)
    return given | {"pads": pads}

"""Alignment of two operands: numpy's rule, none, or PaddlePaddle's with an axis."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.ir import Value


def aligned(hand: LayerContext) -> tuple[Value, Value]:
    """Both operands, the second one reshaped as `auto_broadcast` requires."""
    if hand.text("auto_broadcast", "numpy", "numpy", "none", "explicit", "pdpd") != "pdpd":
        return hand[0], hand[1]
    axis, wide, narrow = hand.integer("axis", -1), hand.rank(0), hand.rank(1)
    axis = wide - narrow if axis == -1 else axis
    behind = wide - axis - narrow
    if behind < 0 or axis < 0:
        raise IrError("CF909", f"{narrow} axes from {axis} on do not fit into {wide}")
    if not behind:
        return hand[0], hand[1]
    two = hand.leaf("Unsqueeze", hand[1], hand.whole(*range(narrow, narrow + behind)))
    return hand[0], two

"""Alignment of two operands: numpy's rule, none, or PaddlePaddle's with an axis."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.ir import Value


def aligned(context: LayerContext) -> tuple[Value, Value]:
    """Both operands, the second one reshaped as `auto_broadcast` requires."""
    if context.text("auto_broadcast", "numpy", "numpy", "none", "explicit", "pdpd") != "pdpd":
        return context[0], context[1]
    axis, wide, narrow = context.integer("axis", -1), context.rank(0), context.rank(1)
    axis = wide - narrow if axis == -1 else axis
    behind = wide - axis - narrow
    if behind < 0 or axis < 0:
        raise IrError("CF909", f"{narrow} axes from {axis} on do not fit into {wide}")
    if not behind:
        return context[0], context[1]
    two = context.leaf("Unsqueeze", context[1], context.whole(*range(narrow, narrow + behind)))
    return context[0], two

"""Resize that aligns corners by scales: onnxruntime rounds the resized length first.

Both agree if scale times length is an integer; otherwise the run fails.
"""

from __future__ import annotations

from treadle.delegate.export_scope import ExportScope
from treadle.ir import Leaf, Operands, Value

_SCALES, _SIZES, _FLOAT, _INT64 = 2, 3, 1, 7


def aligns_by_scales(step: Leaf) -> bool:
    """Whether the leaf is such a Resize."""
    mode = step.attributes.get("coordinate_transformation_mode")
    aligns = step.op == "Resize" and mode is not None and mode.value == b"align_corners"
    by_scales = _operand(step.operands, _SIZES) is None
    return aligns and by_scales and _operand(step.operands, _SCALES) is not None


def whole_lengths(draft: ExportScope, operands: Operands) -> Operands:
    """The operands, with scales that fail at run time if a length would not be an integer.

    lengths = x.shape * scales
    return scales + [0][ceil(lengths - floor(lengths))]          # index 1 fails
    """
    x, scales = operands[0], operands[_SCALES]
    assert x is not None
    assert scales is not None
    lengths = draft.leaf("Mul", draft.leaf("Cast", draft.leaf("Shape", x), to=_FLOAT), scales)
    rest = draft.leaf("Sub", lengths, draft.leaf("Floor", lengths))
    uneven = draft.leaf("Cast", draft.leaf("Ceil", rest), to=_INT64)
    zeros = draft.leaf("Gather", draft.constant([0]), uneven)
    checked = draft.leaf("Add", scales, draft.leaf("Cast", zeros, to=_FLOAT))
    return (*operands[:_SCALES], checked, *operands[_SCALES + 1 :])


def _operand(operands: Operands, position: int) -> Value | None:
    return operands[position] if len(operands) > position else None

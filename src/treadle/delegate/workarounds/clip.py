"""Clip of floats with one bound: onnxruntime takes the greatest finite number for the other.

Measured on onnxruntime 1.31 and 1.32: Clip(inf, min=0) is 3.4e38. The exported model names both
bounds, an infinity for one that is left out. Before opset 11 the standard has the finite ones.
"""

from __future__ import annotations

from math import inf

from treadle.delegate.export_scope import ExportScope
from treadle.ir import DType, Leaf, Operands, Tensor

_BOUNDS_ARE_OPERANDS = 11
_FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)


def with_both_bounds(draft: ExportScope, step: Leaf, operands: Operands) -> Operands:
    """The operands of a Clip, with infinities for bounds that are left out; others unchanged."""
    if step.domain or step.op != "Clip" or step.version < _BOUNDS_ARE_OPERANDS:
        return operands
    type_ = step.operands[0].type if step.operands[0] is not None else None
    if not isinstance(type_, Tensor) or type_.dtype not in _FLOATS:
        return operands
    x, *bounds = (*operands, None, None)[:3]
    pairs = zip(bounds, (-inf, inf), strict=True)
    return (x, *(draft.constant(end, type_.dtype) if b is None else b for b, end in pairs))

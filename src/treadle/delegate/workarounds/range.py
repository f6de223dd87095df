"""Range over floats: onnxruntime adds the step up, and rounds at each element.

After 10^6 steps of 0.1 in float32 its sum is off by 1%. The exported model follows the standard's
formula; its quotient is one of float64, as in onnx's shape inference and in onnxruntime:

    count = ceil((limit - start) / delta)
    y = start + Range(0, count, 1) * delta

The run fails if the quotient is NaN, or its magnitude 2**47 or more: the next engine then names
the fault.
"""

from __future__ import annotations

from treadle.delegate.export_scope import ExportScope
from treadle.ir import DType, Leaf, Operands, Tensor, Value

_INT64 = 7
_DOUBLE = 11
_CODES = {DType.FLOAT32: 1, DType.FLOAT64: _DOUBLE}
_MOST = 2.0**47


def by_formula(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    """Write a Range over float32 or float64 by the standard's formula, and return its result."""
    start, limit, delta = operands
    type_ = None if step.operands[0] is None else step.operands[0].type
    if not isinstance(type_, Tensor) or type_.dtype is None:
        return None
    draft.shared.has_guards = True
    apart = draft.leaf("Cast", draft.leaf("Sub", limit, start), to=_DOUBLE)
    quotient = draft.leaf("Div", apart, draft.leaf("Cast", delta, to=_DOUBLE))
    size = draft.leaf("Abs", quotient)
    is_small = draft.leaf("Less", size, draft.constant(_MOST, DType.FLOAT64))
    index = draft.leaf("Cast", draft.leaf("Not", is_small), to=_INT64)
    nothing = draft.leaf("Gather", draft.constant([0]), index)
    count = draft.leaf("Cast", draft.leaf("Ceil", quotient), to=_INT64)
    count = draft.leaf("Add", count, draft.leaf("Reshape", nothing, draft.leaf("Shape", count)))
    numbers = draft.leaf("Range", draft.constant(0), count, draft.constant(1))
    steps = draft.leaf("Mul", draft.leaf("Cast", numbers, to=_CODES[type_.dtype]), delta)
    return draft.leaf("Add", start, steps)

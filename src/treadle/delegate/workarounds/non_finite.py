"""Operands with NaN or an infinity, for operators of which onnxruntime's kernels lose them.

ReduceMax and ReduceMin ignore a NaN that is not the first element they reduce, MaxPool gives
-3.4e38 for a window of -inf, ArgMax, TopK and others of the table `known_bugs.tsv` answer wrongly
too, while numpy, interp and native code propagate both. The exported model looks for such an
element in the operands that are no constants, and its run fails if there is one; the next engine
then runs the region:

    total = ReduceSum(x)                     # NaN also of inf - inf: the next engine is right there
    found = IsNaN(total)                     # IsNaN(total - total) if infinities are lost too
    y = op(x) + [-0.0][found]                # index 1 fails; adding -0.0 changes no bit

The largest of all magnitudes, as loops compute it that run until nothing changes, needs no failure:
it is at most their sum, which is NaN if one of them is.

    y = Min(ReduceMax(x), ReduceSum(x))      # x = Abs(...)

Measured on onnxruntime 1.32: 2 microseconds for few elements, 16 for 131,072; with Min 0.8 for few.
Operators that touch each element about once and are not in `_LOOKED_AT` are left as they are: see
docs/known_bugs.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from treadle.checks import lost_elements
from treadle.delegate.export_scope import ExportScope
from treadle.delegate.kernels import installed_release
from treadle.ir import DType, Leaf, Operands, Tensor, Value

_FIRST_IS_NAN = 9
"""The opset of the operator IsNaN."""

_MIN_BROADCASTS = 8
"""The opset from which Min takes operands of different shapes, and of float64."""

_INT64 = 7
_LOOKED_AT = frozenset(
    {
        ("", "ArgMax"), ("", "ArgMin"), ("", "DynamicQuantizeLinear"), ("", "GRU"),
        ("", "GlobalMaxPool"), ("", "Hardmax"), ("", "LSTM"), ("", "LogSoftmax"), ("", "MaxPool"),
        ("", "RNN"), ("", "ReduceMax"), ("", "ReduceMin"), ("", "Sign"), ("", "TopK"),
        ("", "Unique"), ("ai.onnx.ml", "Normalizer"),
    }
)  # fmt: skip
"""Operators whose operands are looked at where the table says that they lose elements."""
_OF_SOME = frozenset({"axes", "noop_with_empty_axes"})
"""Attributes with which a reduction may be one of some axes, or of none."""


def with_finite_operands(
    draft: ExportScope, step: Leaf, operands: Operands, results: Operands
) -> Operands:
    """The results, which a run does not reach if an operand holds an element that would be lost.

    They are unchanged if onnxruntime computes the step correctly with NaN and infinities.
    """
    dtype = _dtype(step.operands[0]) if step.operands else None
    if dtype is None or (step.domain, step.op) not in _LOOKED_AT:
        return results
    lost = lost_elements(step, installed_release())
    fed = list(_fed(draft, step, operands, dtype)) if lost else []
    if not fed:
        return results
    sums = [draft.leaf("ReduceSum", x, keepdims=0) for x in fed]
    if _is_largest_magnitude(draft, step, operands):
        return (draft.leaf("Min", *results, *sums),)
    draft.shared.has_guards = True
    total = reduce(lambda one, other: draft.leaf("Add", one, other), sums)
    if "inf" in lost:
        total = draft.leaf("Sub", total, total)
    index = draft.leaf("Cast", _is_nan(draft, total, dtype), to=_INT64)
    pairs = zip(step.results, results, strict=True)
    return tuple(_after(draft, index, _dtype(old) or dtype, new) for old, new in pairs)


def _is_largest_magnitude(draft: ExportScope, step: Leaf, operands: Operands) -> bool:
    """Whether the step reduces all results of an Abs to the largest."""
    if step.op != "ReduceMax" or draft.shared.opset < _MIN_BROADCASTS:
        return False
    given = (name in _OF_SOME and each.value for name, each in step.attributes.items())
    if len(step.operands) > 1 or any(given):
        return False
    return any(
        isinstance(each, Leaf)
        and (each.domain, each.op) == ("", "Abs")
        and each.results == operands
        for each in draft.steps
    )


def _fed(draft: ExportScope, step: Leaf, operands: Operands, dtype: DType) -> Iterator[Value]:
    """The operands of the dtype that are no constants."""
    for old, new in zip(step.operands, operands, strict=True):
        if new is not None and _dtype(old) is dtype and draft.known(new) is None:
            yield new


def _is_nan(draft: ExportScope, x: Value, dtype: DType) -> Value:
    """Whether a scalar is NaN; before opset 9, whether it is neither below 1 nor above 0."""
    if draft.shared.opset >= _FIRST_IS_NAN:
        return draft.leaf("IsNaN", x)
    below = draft.leaf("Less", x, draft.constant(1, dtype))
    above = draft.leaf("Greater", x, draft.constant(0, dtype))
    return draft.leaf("Not", draft.leaf("Or", below, above))


def _dtype(value: Value | None) -> DType | None:
    type_ = value.type if value is not None else None
    return type_.dtype if isinstance(type_, Tensor) else None


def _after(draft: ExportScope, index: Value, dtype: DType, result: Value | None) -> Value | None:
    if result is None:
        return None
    if dtype is DType.UINT8:
        nothing = draft.leaf("Gather", draft.constant([0]), index)
        return draft.leaf(
            "Reshape", result, draft.leaf("Add", draft.leaf("Shape", result), nothing)
        )
    zero = draft.constant([0 if dtype is DType.INT64 else -0.0], dtype)
    return draft.leaf("Add", result, draft.leaf("Gather", zero, index))

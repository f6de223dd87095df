"""Operands without a meaning that onnxruntime takes: a run fails before the kernel is called.

    TopK                  a k beyond 32 bits is cut to its low bits
    the losses            labels below 0 count from the last class; labels and weights may be more
                          or fewer than the scores
    GroupNormalization    one number of scale or bias is taken for all
    Pad                   the pads of an axis that is named twice are added up

interp's kernels refuse them and say why. Operands that are known to fit are left as they are.
Measured on onnxruntime 1.32: 1 microsecond for k, 9 for 64 labels, 4 for scale and bias.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from treadle.checks import known_extents
from treadle.delegate.export_scope import ExportScope
from treadle.delegate.extents import unless_one
from treadle.ir import Leaf, Operands, Value

_INT64, _BOOL = 7, 9
_BEYOND, _PAIR = 2**31, 2
_K, _LABELS, _SCALE, _AXES = 1, 1, 1, 3
_BY_CHANNEL = 21
"""The version of GroupNormalization from which scale and bias are those of channels."""

_Fault = Callable[[ExportScope, Leaf, Operands], Value | None]
"""Writes a scalar integer that is 0 where the operands fit; None if they are known to fit."""


def with_fitting_operands(draft: ExportScope, step: Leaf, operands: Operands) -> Operands:
    """The exported operands, of which one fails at run time if they do not fit."""
    position, fault = _FAULTS.get("" if step.domain else step.op, (0, None))
    value = operands[position] if len(operands) > position else None
    found = fault(draft, step, operands) if fault is not None and value is not None else None
    if value is None or found is None:
        return operands
    index = draft.leaf("Cast", draft.leaf("Cast", found, to=_BOOL), to=_INT64)
    checked = unless_one(draft, value, index)
    return (*operands[:position], checked, *operands[position + 1 :])


def _large_count(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    count = operands[_K]
    assert count is not None
    known, bounds = draft.known(count), draft.range(count)
    if known is not None and (known < _BEYOND).all():
        return None
    if bounds is not None and bounds[1] < _BEYOND:
        return None
    return draft.leaf("Not", draft.leaf("Less", count, draft.constant(_BEYOND)))


def _labels(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    scores, labels, weights = (*operands, None)[:3]
    shape = draft.leaf("Shape", scores)
    classes = draft.leaf("Gather", shape, draft.constant(1))
    given = draft.leaf("Cast", labels, to=_INT64)
    below = draft.leaf("Less", given, draft.constant(0))
    is_wrong = draft.leaf("Or", below, draft.leaf("Not", draft.leaf("Less", given, classes)))
    ignored = step.attributes.get("ignore_index")
    if ignored is not None and isinstance(ignored.value, int):
        is_ignored = draft.leaf("Equal", given, draft.constant(ignored.value))
        is_wrong = draft.leaf("And", is_wrong, draft.leaf("Not", is_ignored))
    first = draft.leaf("Slice", shape, draft.constant([0]), draft.constant([1]))
    rest = draft.leaf("Slice", shape, draft.constant([2]), draft.constant([2**31]))
    wanted = draft.leaf("Concat", first, rest, axis=0)
    counts = [
        _count(draft, is_wrong),
        _count(draft, _differ(draft, draft.leaf("Shape", labels), wanted)),
    ]
    if weights is not None:
        counts.append(_count(draft, _differ(draft, draft.leaf("Size", weights), classes)))
    return reduce(lambda one, other: draft.leaf("Add", one, other), counts)


def _per_group(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    extents = [known_extents(value) for value in step.operands]
    wanted = _numbers_of_scale(step, extents[0])
    if wanted is not None and all(each == (wanted,) for each in extents[_SCALE:]):
        return None
    if wanted is None:
        count = draft.leaf("Gather", draft.leaf("Shape", operands[0]), draft.constant(1))
    else:
        count = draft.constant(wanted)
    sizes = [draft.leaf("Size", value) for value in operands[_SCALE:]]
    faults = [_count(draft, _differ(draft, size, count)) for size in sizes]
    return reduce(lambda one, other: draft.leaf("Add", one, other), faults)


def _repeated_axes(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    axes, extents = operands[_AXES], known_extents(step.operands[0])
    assert axes is not None
    known = draft.known(axes)
    if known is not None and (extents is not None or known.size < _PAIR):
        return None
    rank = draft.leaf("Size", draft.leaf("Shape", operands[0]))
    given = draft.leaf("Cast", axes, to=_INT64)
    below = draft.leaf("Less", given, draft.constant(0))
    from_front = draft.leaf("Where", below, draft.leaf("Add", given, rank), given)
    rows = draft.leaf("Unsqueeze", from_front, draft.constant([1]))
    equal = _count(draft, draft.leaf("Equal", rows, from_front))
    return draft.leaf("Sub", equal, draft.leaf("Size", axes))


def _numbers_of_scale(step: Leaf, extents: tuple[int | None, ...] | None) -> int | None:
    groups = step.attributes.get("num_groups")
    if step.version < _BY_CHANNEL and groups is not None and isinstance(groups.value, int):
        return groups.value
    return extents[1] if extents is not None and len(extents) > 1 else None


def _differ(draft: ExportScope, left: Value, right: Value) -> Value:
    return draft.leaf("Not", draft.leaf("Equal", left, right))


def _count(draft: ExportScope, conditions: Value) -> Value:
    return draft.leaf("ReduceSum", draft.leaf("Cast", conditions, to=_INT64), keepdims=0)


_FAULTS: Mapping[str, tuple[int, _Fault]] = {
    "GroupNormalization": (_SCALE, _per_group),
    "NegativeLogLikelihoodLoss": (_LABELS, _labels),
    "Pad": (_AXES, _repeated_axes),
    "SoftmaxCrossEntropyLoss": (_LABELS, _labels),
    "TopK": (_K, _large_count),
}
"""The operand that fails, and what is wrong with the operands."""

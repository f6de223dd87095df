"""Exact forms of operators, of integers mostly, that onnxruntime's own kernels compute wrongly.

Measured on onnxruntime 1.31 (x86-64): its vectorized comparison of int64 treats the low halves as
signed if the high halves are equal, so Max(2**31, 7) is 7; comparisons with bool results, ArgMax
and ArgMin are right. Reductions add and multiply integers as float64; CumSum and Mul are exact, and
faster. A Slice with a negative step reads an end of 2**31 - 1 or 2**63 - 1 as one before the first
item.

    Max, Min, Clip            Where over Greater or Less
    Sign                      (x > 0) - (x < 0) as int8; before opset 14 that of x as float32
    ReduceMax, ReduceMin      the item at ArgMax or ArgMin
    ReduceSum, L1, SumSquare  the last item of CumSum
    ReduceProd, Pow           a run fails where the result is 2**53 or more
    Div, Mod                  no divisor is -1: see division.py
    Range of floats           the standard's formula: see workarounds/range.py
    Slice                     an end that is one less, which is beyond the last item as well

If the ranges of the operands exclude the fault, the step is left unchanged. The exact forms take up
to four times as long as the kernels they replace: see large.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from treadle.checks import may_be_wrong
from treadle.delegate.division import divided
from treadle.delegate.export_scope import ExportScope
from treadle.delegate.workarounds.range import by_formula
from treadle.errors import Unsupported
from treadle.ir import DType, Leaf, Operands, Tensor, Value

Writer = Callable[[ExportScope, Leaf, Operands], Value | None]
"""Writes the exact form of a step into the exported block and returns its result.

None if the operator itself is exact.
"""

_FLOAT, _INT8, _INT32, _INT64 = 1, 3, 6, 7
_CODES = {
    DType.FLOAT32: 1, DType.INT32: 6, DType.INT64: 7, DType.FLOAT16: 10, DType.FLOAT64: 11
}  # fmt: skip
_EXACT = 2**53
_SMALL_ARE_SUBTRACTED = 14
"""The opset from which Sub takes int8."""
_TO_THE_END = (2**31 - 1, 2**63 - 1)


def rewrites(step: Leaf) -> bool:
    """Whether the step would be replaced by an exact or a guarded form."""
    return _writer(step) is not None


def in_exact_words(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    """Write the exact form of the step and return its result; None if the operator itself is exact.

    `operands` are those of the exported block. Raises Unsupported if the axes are not constant.
    """
    writer = _writer(step)
    if writer is None or (writer in _PROVABLE and not _may_be_wrong(draft, step, operands)):
        return None
    return writer(draft, step, operands)


def _may_be_wrong(draft: ExportScope, step: Leaf, operands: Operands) -> bool:
    return may_be_wrong(step, [draft.range(value) for value in operands])


def _writer(step: Leaf) -> Writer | None:
    if step.domain:
        return None
    writer, dtypes = _WRITERS.get(step.op, (None, ()))
    return writer if not dtypes or _dtype(step.operands[0]) in dtypes else None


def _dtype(value: Value | None) -> DType | None:
    return value.type.dtype if value is not None and isinstance(value.type, Tensor) else None


def _greatest(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    return _extreme(draft, "Greater", _given(operands))


def _least(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    return _extreme(draft, "Less", _given(operands))


def _extreme(draft: ExportScope, comparison: str, values: Sequence[Value]) -> Value | None:
    def chosen(first: Value, second: Value) -> Value:
        return draft.leaf("Where", draft.leaf(comparison, first, second), first, second)

    return reduce(chosen, values) if len(values) > 1 else None


def _clip(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    """min(max(x, low), high), as the standard defines it even if low is above high."""
    x, low, high = (*operands, None, None)[:3]
    assert x is not None
    if low is not None:
        x = draft.leaf("Where", draft.leaf("Less", x, low), low, x)
    if high is not None:
        x = draft.leaf("Where", draft.leaf("Greater", x, high), high, x)
    return x if x is not operands[0] else None


def _sign(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    if draft.shared.opset >= _SMALL_ARE_SUBTRACTED:
        zero = draft.constant(0)
        above, below = (
            draft.leaf("Cast", draft.leaf(comparison, *_given(operands), zero), to=_INT8)
            for comparison in ("Greater", "Less")
        )
        return draft.leaf("Cast", draft.leaf("Sub", above, below), to=_INT64)
    sign = draft.leaf("Sign", draft.leaf("Cast", *_given(operands), to=_FLOAT))
    return draft.leaf("Cast", sign, to=_INT64)


def _largest_of(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    return _reduced(draft, step, operands, _at("ArgMax"))


def _smallest_of(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    return _reduced(draft, step, operands, _at("ArgMin"))


def _sum(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    return _reduced(draft, step, operands, _last_sum)


def _absolute_sum(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    x, *axes = operands
    return _reduced(draft, step, (draft.leaf("Abs", *_given([x])), *axes), _last_sum)


def _square_sum(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    x, *axes = operands
    return _reduced(draft, step, (draft.leaf("Mul", *_given([x, x])), *axes), _last_sum)


Along = Callable[[ExportScope, Value, int], Value]
"""Reduces one axis to an extent of 1; the run fails if the axis has no items."""


def _at(op: str) -> Along:
    def along(draft: ExportScope, x: Value, axis: int) -> Value:
        index = draft.leaf(op, x, axis=axis, keepdims=1)
        return draft.leaf("GatherElements", x, index, axis=axis)

    return along


def _last_sum(draft: ExportScope, x: Value, axis: int) -> Value:
    sums = draft.leaf("CumSum", x, draft.constant(axis))
    return draft.leaf("Gather", sums, draft.constant([-1]), axis=axis)


def _reduced(draft: ExportScope, step: Leaf, operands: Operands, along: Along) -> Value:
    """Reduce one axis after the other; all axes as one axis of the flattened tensor."""
    x, axes = operands[0], _axes(draft, step, operands)
    assert x is not None
    keeps = _flag(step, "keepdims", 1)
    _check_opset(draft, step)
    if not axes:
        is_noop = _flag(step, "noop_with_empty_axes", 0)
        return draft.leaf("Identity", x) if is_noop else _of_all(draft, step, x, along)
    for axis in axes:
        x = along(draft, x, axis)
    return x if keeps else _squeezed(draft, x, axes)


def _check_opset(draft: ExportScope, step: Leaf) -> None:
    if draft.shared.opset < _FIRST_OPSET:
        why = f"its exact form needs operators of opset {_FIRST_OPSET}"
        raise Unsupported(step.op, step.version, why, draft.path)


def _of_all(draft: ExportScope, step: Leaf, x: Value, along: Along) -> Value:
    shape: list[int] = []
    if _flag(step, "keepdims", 1):
        rank = _rank(step.operands[0])
        if rank is None:
            raise Unsupported(step.op, step.version, "the rank is not known", draft.path)
        shape = [1] * rank
    flat = draft.leaf("Reshape", x, draft.constant([-1]))
    return draft.leaf("Reshape", along(draft, flat, 0), draft.constant(shape))


def _squeezed(draft: ExportScope, x: Value, axes: Sequence[int]) -> Value:
    if draft.shared.opset < _AXES_ARE_OPERANDS:
        return draft.leaf("Squeeze", x, axes=list(axes))
    return draft.leaf("Squeeze", x, draft.constant(list(axes)))


_AXES_ARE_OPERANDS, _FIRST_OPSET = 13, 11


def _axes(draft: ExportScope, step: Leaf, operands: Operands) -> list[int]:
    if "axes" in step.attributes:
        attribute = step.attributes["axes"].value
        return [a for a in attribute if isinstance(a, int)] if isinstance(attribute, tuple) else []
    given = operands[1] if len(operands) > 1 else None
    if given is None:
        return []
    known = draft.known(given)
    if known is None:
        raise Unsupported(step.op, step.version, "the axes are no constant", draft.path)
    return list(map(int, known.reshape(-1)))


def _flag(step: Leaf, name: str, default: int) -> bool:
    attribute = step.attributes.get(name)
    return bool(default if attribute is None else attribute.value)


def _rank(value: Value | None) -> int | None:
    type_ = value.type if value is not None else None
    return len(type_.shape) if isinstance(type_, Tensor) and type_.shape is not None else None


def _product(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    _check_opset(draft, step)
    return _small(draft, _as_it_is(draft, step, operands), _dtype(step.operands[0]))


def _power(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    """Compute Pow; the run fails if the power or the exponent may be rounded."""
    base, exponent = map(_dtype, step.operands)
    if base not in _COUNTED and exponent is not DType.INT64:
        return None
    result = _as_it_is(draft, step, operands)
    if exponent is DType.INT64:
        zeros = _beyond(draft, _given(operands)[1])
        code = _CODES.get(base) if base is not None else None
        if code is None:
            raise Unsupported(
                step.op, step.version, "the dtype of its base is not known", draft.path
            )
        result = draft.leaf("Add", result, draft.leaf("Cast", zeros, to=code))
    return _small(draft, result, base) if base in _COUNTED else result


def _as_it_is(draft: ExportScope, step: Leaf, operands: Operands) -> Value:
    attributes = {name: each.value for name, each in step.attributes.items()}
    return draft.leaf(step.op, *_given(operands), **attributes)


def _small(draft: ExportScope, x: Value, dtype: DType | None) -> Value:
    """x, or a failure at run time if a rounded result could stand for another number."""
    if dtype is DType.INT32:
        wide = draft.leaf("Cast", x, to=_INT64)
        return draft.leaf("Cast", _small_wide(draft, wide, 2**31 - 1), to=_INT32)
    return _small_wide(draft, x, _EXACT)


def _small_wide(draft: ExportScope, x: Value, most: int) -> Value:
    return draft.leaf("Add", x, _beyond(draft, x, most))


def _beyond(draft: ExportScope, x: Value, most: int = _EXACT) -> Value:
    """Zeros in x's shape; the run fails if the magnitude of an element is not below `most`.

    zeros = [0][(x >= most) | (x <= -most)]          # index 1 fails
    """
    draft.shared.has_guards = True
    above = draft.leaf("Greater", x, draft.constant(most - 1))
    below = draft.leaf("Less", x, draft.constant(1 - most))
    index = draft.leaf("Cast", draft.leaf("Or", above, below), to=_INT64)
    return draft.leaf("Gather", draft.constant([0]), index)


def _slice(draft: ExportScope, step: Leaf, operands: Operands) -> Value | None:
    _, _, ends, _, steps = (*operands, None, None, None, None)[:5]
    if ends is None or steps is None:
        return None
    stride, stops = draft.known(steps), draft.known(ends)
    if stride is not None and (stride > 0).all():
        return None
    if stops is not None and not np.isin(stops, _TO_THE_END).any():
        return None
    ends = _before_the_end(draft, ends, _dtype(step.operands[2]))
    return draft.leaf("Slice", *operands[:2], ends, *operands[3:])


def _before_the_end(draft: ExportScope, ends: Value, dtype: DType | None) -> Value:
    """The ends of a Slice, with those that onnxruntime misreads decreased by one."""
    wide = draft.leaf("Cast", ends, to=_INT64) if dtype is DType.INT32 else ends
    for end in _TO_THE_END:
        is_end = draft.leaf("Equal", wide, draft.constant(end))
        wide = draft.leaf("Where", is_end, draft.constant(end - 1), wide)
    return draft.leaf("Cast", wide, to=_INT32) if dtype is DType.INT32 else wide


def _given(operands: Sequence[Value | None]) -> list[Value]:
    return list(_present(operands))


def _present(operands: Sequence[Value | None]) -> Iterator[Value]:
    for value in operands:
        assert value is not None
        yield value


_COMPARED = (DType.INT64,)
_COUNTED = (DType.INT32, DType.INT64)

_WRITERS: Mapping[str, tuple[Writer, Sequence[DType]]] = {
    "Max": (_greatest, _COMPARED),
    "Min": (_least, _COMPARED),
    "Clip": (_clip, _COMPARED),
    "Sign": (_sign, _COMPARED),
    "ReduceMax": (_largest_of, _COMPARED),
    "ReduceMin": (_smallest_of, _COMPARED),
    "ReduceSum": (_sum, _COUNTED),
    "ReduceL1": (_absolute_sum, _COUNTED),
    "ReduceSumSquare": (_square_sum, _COUNTED),
    "ReduceProd": (_product, _COUNTED),
    "Pow": (_power, ()),
    "Range": (by_formula, (DType.FLOAT32, DType.FLOAT64)),
    "Slice": (_slice, ()),
    "Div": (divided, ()),
    "Mod": (divided, ()),
}

_PROVABLE = (
    _greatest, _least, _clip, _sign, _largest_of, _smallest_of, _sum, _absolute_sum, _square_sum,
    _product, _power,
)  # fmt: skip

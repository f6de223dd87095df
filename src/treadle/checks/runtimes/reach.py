"""Decides whether integers can reach the range in which onnxruntime computes an operator wrongly.

Measured on onnxruntime 1.31; `n` is the number of elements combined into one result:

    Max, Min, Clip, Sign, ReduceMax, ReduceMin   right where all are numbers of int32
    ReduceSum, L1, SumSquare, Prod               right where the result of n elements is exact
    Pow                                          right where the result is exact
    Mod with fmod                                right where all are below 2**53

A result is exact if it is below 2**53, as in float64, and fits the result's type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from treadle import ops
from treadle.infer import Range
from treadle.ir import DType, Leaf, Tensor, Value

_EXACT, _INT32 = 2**53, 2**31
_MOST_ELEMENTS = 2**47
"""More elements than the memory of any machine holds: addresses have 47 bits."""
_LARGEST_POWER = 64
"""Beyond this exponent only -1, 0 and 1 have exact powers."""


def may_be_wrong(step: Leaf, given: Sequence[Range | None]) -> bool:
    """Whether onnxruntime may compute the step wrongly for operands in these ranges.

    `given` holds the range of each operand, or None for an operand that is absent or has no known
    range. A step with fewer operands than its schema requires is reported as possibly wrong.
    """
    rule = None if step.domain else _RULES.get(step.op)
    schema = ops.schema(step.domain, step.op, step.version)
    if rule is None or schema is None or len(step.operands) < schema.min_inputs:
        return True
    return rule(step, given)


def _leaves_int32(step: Leaf, given: Sequence[Range | None]) -> bool:
    counted = _ELEMENTS if step.op in _REDUCED else len(step.operands)
    pairs = list(zip(step.operands, given, strict=True))[:counted]
    return any(value is not None and not _is_int32(range_) for value, range_ in pairs)


def _is_int32(range_: Range | None) -> bool:
    return range_ is not None and range_[0] >= -_INT32 and range_[1] < _INT32


_ELEMENTS = 1
_REDUCED = ("ReduceMax", "ReduceMin")


def _reduces(largest: Callable[[int, int], int]) -> Callable[[Leaf, Sequence[Range | None]], bool]:
    def rule(step: Leaf, given: Sequence[Range | None]) -> bool:
        size = _size(given[0])
        return largest(size, _elements(step.operands[0])) >= _limit(step.operands[0])

    return rule


def _product(size: int, elements: int) -> int:
    if size <= 1:
        return size
    return _EXACT if elements > _LARGEST_POWER else size**elements


def _power(step: Leaf, given: Sequence[Range | None]) -> bool:
    base, exponent = given
    if exponent is None:
        return base is not None
    low, high = exponent
    if base is None:
        return _size(exponent) >= _EXACT
    size = _size(base)
    if low < 0 or (high > _LARGEST_POWER and size > 1):
        return True
    return size**high >= _limit(step.operands[0]) if size > 1 else _size(exponent) >= _EXACT


def _is_rounded(step: Leaf, given: Sequence[Range | None]) -> bool:
    return any(_size(range_) >= _EXACT for range_ in given)


def _size(range_: Range | None) -> int:
    """The largest magnitude an element may have."""
    return 2**64 if range_ is None else max(map(abs, range_))


def _elements(value: Value | None) -> int:
    type_ = value.inferred if value is not None else None
    shape = type_.shape if isinstance(type_, Tensor) else None
    if shape is None:
        return _MOST_ELEMENTS
    extents = [dim for dim in shape if isinstance(dim, int)]
    return prod(extents) if len(extents) == len(shape) else _MOST_ELEMENTS


def _limit(value: Value | None) -> int:
    type_ = value.type if value is not None else None
    is_wide = isinstance(type_, Tensor) and type_.dtype in (DType.INT64, DType.UINT64)
    return _EXACT if is_wide else _INT32


_RULES: Mapping[str, Callable[[Leaf, Sequence[Range | None]], bool]] = {
    **{op: _leaves_int32 for op in ("Max", "Min", "Clip", "Sign", "ReduceMax", "ReduceMin")},
    **{op: _reduces(lambda size, n: size * n) for op in ("ReduceSum", "ReduceL1")},
    "ReduceSumSquare": _reduces(lambda size, n: size * size * n),
    "ReduceProd": _reduces(_product),
    "Pow": _power,
    "Mod": _is_rounded,
}

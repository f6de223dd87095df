"""Range analysis of integer values: the least and greatest element, derived step by step.

    Shape(x)            [0, 2**63 - 1]
    Gather(Shape(x), i) [0, 2**63 - 1]
    Cast(a uint8)       [0, 255]

Unknown values have the bounds of their dtype, and so do sums and products that may overflow, since
they wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from treadle.infer.leaf import is_well_formed
from treadle.ir import DType, Leaf, Literal, Tensor, Type

Range = tuple[int, int]
"""The least and the greatest value of an element."""

COUNTS: Range = (0, 2**63 - 1)
"""The range of extents, positions and counts."""

_WHOLE = {
    DType(name): (int(np.iinfo(name).min), int(np.iinfo(name).max))
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
} | {DType.BOOL: (0, 1)}


def range_of_type(type_: Type | None) -> Range | None:
    """The integers a tensor of this type may hold.

    None if it holds no integers or its type is unknown.
    """
    dtype = type_.dtype if isinstance(type_, Tensor) else None
    return None if dtype is None else _WHOLE.get(dtype)


def range_of_array(array: np.ndarray) -> Range | None:
    """The range of an array's elements; None if they are not integers, or the array is empty."""
    if array.dtype.kind not in "iub" or not array.size:
        return None
    return int(array.min()), int(array.max())


def range_of_result(leaf: Leaf, given: Sequence[Range | None]) -> Range | None:
    """The range of the first result of a leaf, for operands of these ranges."""
    result = leaf.results[0] if leaf.results else None
    widest = range_of_type(result.type if result is not None else None)
    if leaf.op == "Constant" and not leaf.domain:
        return _held(leaf) if len(leaf.attributes) == 1 else widest
    rule = None if leaf.domain else _RULES.get(leaf.op)
    if widest is None or rule is None or not is_well_formed(leaf):
        return widest
    found = rule(given)
    fits = found is not None and widest[0] <= found[0] and found[1] <= widest[1]
    return found if fits else widest


def _held(leaf: Leaf) -> Range | None:
    (constant,) = (each.value for each in leaf.attributes.values())
    if isinstance(constant, Literal):
        return range_of_array(constant.array)
    return range_of_array(np.array(constant)) if isinstance(constant, int | tuple) else None


_Rule = Callable[[Sequence[Range | None]], Range | None]


def _first(given: Sequence[Range | None]) -> Range | None:
    return given[0]


def _counts(given: Sequence[Range | None]) -> Range | None:
    return COUNTS


def _all(given: Sequence[Range | None]) -> Range | None:
    known = [each for each in given if each is not None]
    if len(known) < len(given):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _bounded(choose: Callable[[Sequence[int]], int]) -> _Rule:
    def rule(given: Sequence[Range | None]) -> Range | None:
        known = [each for each in given if each is not None]
        if len(known) < len(given):
            return None
        return choose([low for low, _ in known]), choose([high for _, high in known])

    return rule


def _signs(given: Sequence[Range | None]) -> Range | None:
    return -1, 1


def _choice(given: Sequence[Range | None]) -> Range | None:
    return _all(given[1:])


def _combined(operation: Callable[[int, int], int]) -> _Rule:
    def rule(given: Sequence[Range | None]) -> Range | None:
        left, right = given
        if left is None or right is None:
            return None
        found = [operation(a, b) for a, b in product(left, right)]
        return min(found), max(found)

    return rule


def _size(given: Sequence[Range | None]) -> Range | None:
    if given[0] is None:
        return None
    low, high = given[0]
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


_MOVES = (
    "Cast", "Compress", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND",
    "Identity", "Reshape", "Slice", "SpaceToDepth", "Squeeze", "Tile", "Transpose", "Unsqueeze",
)  # fmt: skip
_COUNT = ("ArgMax", "ArgMin", "NonZero", "Shape", "Size")

_RULES: Mapping[str, _Rule] = {
    **{op: _first for op in _MOVES},
    **{op: _counts for op in _COUNT},
    "Concat": _all,
    "Max": _bounded(max),
    "Min": _bounded(min),
    "Sign": _signs,
    "Where": _choice,
    "Abs": _size,
    "Add": _combined(lambda a, b: a + b),
    "Sub": _combined(lambda a, b: a - b),
    "Mul": _combined(lambda a, b: a * b),
}

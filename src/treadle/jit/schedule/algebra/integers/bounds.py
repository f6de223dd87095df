"""Bounds of whole numbers."""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.element_types import is_signed

Range = tuple[int, int]
"""The least and the greatest number."""


def bounds_of(dtype: DType) -> Range | None:
    """The numbers of a type; None for floats."""
    if dtype is DType.BOOL:
        return 0, 1
    if dtype.numpy.kind not in "iu":
        return None
    least = -(1 << (dtype.bits - 1)) if is_signed(dtype) else 0
    return least, least + (1 << dtype.bits) - 1


def is_within(inner: Range, outer: Range) -> bool:
    """Whether a range is part of another one."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]

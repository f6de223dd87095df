"""Sequences at the border of native code, where they are lists: there they are tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle import ir
from treadle.jit.nodes import NATIVE


def is_alike(items: Sequence[Any]) -> bool:
    """Whether the elements are tensors of one native dtype and one shape."""
    if not all(isinstance(item, np.ndarray) for item in items):
        return False
    kinds = {(item.dtype, item.shape) for item in items}
    return len(kinds) < 2 and all(ir.dtype_of(dtype) in NATIVE for dtype, _ in kinds)


def stacked(items: Sequence[Any], type_: ir.Type | None) -> np.ndarray:
    """The elements, which are alike, along a new first axis."""
    return np.stack(items) if items else _nothing(type_)


def _nothing(type_: ir.Type | None) -> np.ndarray:
    """No elements: of the shape and dtype the type tells, else of scalars."""
    element = type_.element if isinstance(type_, ir.Sequence) else None
    element = element if isinstance(element, ir.Tensor) else ir.Tensor()
    dtype = element.dtype if element.dtype in NATIVE else ir.DType.FLOAT32
    shape = [extent for extent in element.shape or () if isinstance(extent, int)]
    is_told = len(shape) == len(element.shape or ())
    return np.empty((0, *shape) if is_told else (0,), dtype.numpy)


def unstacked(array: np.ndarray) -> list[np.ndarray]:
    """The items along the first axis; none of them is memory of another."""
    return [array[number, ...] for number in range(len(array))]


def is_list(value: ir.Value) -> bool:
    """Whether the value is a sequence."""
    type_ = value.type
    while isinstance(type_, ir.Optional):
        type_ = type_.element
    return isinstance(type_, ir.Sequence)

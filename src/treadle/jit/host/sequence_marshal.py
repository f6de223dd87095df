"""Conversion of sequences at the boundary of native code: lists of arrays to arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from treadle import ir
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.node_builder import NATIVE

LISTS = frozenset(
    (
        "SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceAt",
        "SequenceLength", "ConcatFromSequence", "SplitToSequence", "Optional",
        "OptionalGetElement", "OptionalHasElement",
    )
)  # fmt: skip
"""Operators on sequences and optionals: natively a sequence is a tensor, in Python a list."""


def stack_elements(items: Sequence[Any], type_: ir.Type | None) -> np.ndarray | None:
    """Stack the elements along a new first axis.

    None unless all have one native dtype and shape.
    """
    if not items:
        return _nothing(type_)
    first = items[0]
    if not isinstance(first, np.ndarray) or ir.dtype_of(first.dtype) not in NATIVE:
        return None
    dtype, shape = first.dtype, first.shape
    for item in items:
        if not isinstance(item, np.ndarray) or item.dtype != dtype or item.shape != shape:
            return None
    made = np.empty((len(items), *shape), dtype)
    for number, item in enumerate(items):
        made[number] = item
    return made


def _nothing(type_: ir.Type | None) -> np.ndarray:
    """An empty stack: with the shape and dtype of the type, else of scalars."""
    element = type_.element if isinstance(type_, ir.Sequence) else None
    element = element if isinstance(element, ir.Tensor) else ir.Tensor()
    dtype = element.dtype if element.dtype in NATIVE else ir.DType.FLOAT32
    shape = [extent for extent in element.shape or () if isinstance(extent, int)]
    is_told = len(shape) == len(element.shape or ())
    return np.empty((0, *shape) if is_told else (0,), dtype.numpy)


def unstack_elements(array: np.ndarray) -> list[np.ndarray]:
    """The items along the first axis; none of them shares memory with another."""
    return [*array] if array.ndim > 1 else [array[number, ...] for number in range(len(array))]


def ragged_parts(
    items: Sequence[Any], dtype: np.dtype[Any], known: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The elements one after the other, the end of each after a 0, and their shapes, by rows.

    `known` are the common extents, -1 for one that varies. Raises Declined if these, or the dtype,
    do not match the elements.
    """
    for item in items:
        if not isinstance(item, np.ndarray) or item.dtype != dtype or not _fits(item.shape, known):
            raise Declined("a sequence whose elements do not have its declared type")
    flat = np.concatenate([np.empty(0, dtype), *(item.ravel() for item in items)])
    ends = np.array([*accumulate((item.size for item in items), initial=0)], np.int64)
    shapes = np.array([item.shape for item in items], np.int64)
    return flat, ends, shapes.reshape(len(items), len(known))


def _fits(shape: Sequence[int], known: Sequence[int]) -> bool:
    pairs = zip(shape, known, strict=False)
    return len(shape) == len(known) and all(wanted in (-1, found) for found, wanted in pairs)


def elements_of_ragged(flat: np.ndarray, ends: np.ndarray, shapes: np.ndarray) -> list[np.ndarray]:
    """The items that these parts describe; none of them shares memory with another."""
    bounds = zip(ends[:-1].tolist(), ends[1:].tolist(), shapes.tolist(), strict=True)
    return [flat[start:end].reshape(shape).copy() for start, end, shape in bounds]


def is_list(value: ir.Value) -> bool:
    """Whether the value is a sequence."""
    type_ = value.type
    while isinstance(type_, ir.Optional):
        type_ = type_.element
    return isinstance(type_, ir.Sequence)

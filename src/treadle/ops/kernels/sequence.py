"""Sequences (Python lists, never modified in place) and optionals (None when empty)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.errors import KernelError
from treadle.ops.kernels.common import positive, whole
from treadle.ops.kernels.registry import evaluates


def _place(items: Sequence[Any], position: np.ndarray | None, last: int, most: int) -> int:
    index = last if position is None else whole(position)
    if not -len(items) <= index <= most:
        raise IndexError(f"position {index} is out of range for a sequence of {len(items)}")
    return index + len(items) if index < 0 else index


@evaluates("SequenceEmpty", 11)
def sequence_empty() -> list[Any]:
    """An empty sequence."""
    return []


@evaluates("SequenceConstruct", 11)
def sequence_construct(*elements: np.ndarray) -> list[Any]:
    """The sequence of the operands, in order."""
    return list(elements)


@evaluates("SequenceAt", 11)
def sequence_at(items: list[Any], position: np.ndarray) -> Any:
    """The element at a position; a negative position counts from the end."""
    return items[_place(items, position, -1, len(items) - 1)]


@evaluates("SequenceInsert", 11)
def sequence_insert(items: list[Any], element: Any, position: np.ndarray | None = None) -> Any:
    """The sequence with an element inserted before a position, at the end by default."""
    index = _place(items, position, len(items), len(items))
    return [*items[:index], element, *items[index:]]


@evaluates("SequenceErase", 11)
def sequence_erase(items: list[Any], position: np.ndarray | None = None) -> Any:
    """The sequence without one element, by default the last."""
    index = _place(items, position, -1, len(items) - 1)
    return items[:index] + items[index + 1 :]


@evaluates("SequenceLength", 11)
def sequence_length(items: list[Any]) -> Any:
    """The number of elements."""
    return np.array(len(items), np.int64)


@evaluates("ConcatFromSequence", 11)
def concat_from_sequence(items: list[Any], *, axis: int, new_axis: int) -> Any:
    """The elements concatenated along an axis, or stacked along a new one."""
    return np.stack(items, axis) if new_axis else np.concatenate(items, axis)


@evaluates("SplitToSequence", 11, 24)
def split_to_sequence(
    x: np.ndarray, split: np.ndarray | None = None, *, axis: int, keepdims: int
) -> list[Any]:
    """Split into pieces of one length, of given lengths, or of length 1 without the axis."""
    along = positive(axis, x.ndim)
    extent = x.shape[along]
    if split is None:
        pieces = np.split(x, range(1, extent), along) if extent else []
        return pieces if keepdims else [np.squeeze(piece, along) for piece in pieces]
    if split.ndim == 0:
        each = whole(split)
        if each < 1:
            raise ValueError(f"pieces of length {each}, wanted 1 or more")
        return np.split(x, range(each, extent, each), along) if extent else []
    if (split < 0).any():
        raise ValueError(f"the split {split.tolist()} has a length below zero")
    if int(split.sum()) != extent:
        raise ValueError(f"the split {split.tolist()} does not sum to the axis's extent, {extent}")
    return np.split(x, np.cumsum(split)[:-1].tolist(), along) if split.size else []


@evaluates("Optional", 15, 28)
def optional(element: Any = None) -> Any:
    """The operand as an optional; an empty one without it."""
    return element


@evaluates("OptionalHasElement", 15, 18, 28)
def optional_has_element(element: Any = None) -> Any:
    """Whether there is an element."""
    return np.array(element is not None)


@evaluates("OptionalGetElement", 15, 18, 28)
def optional_get_element(element: Any) -> Any:
    """The element; raises KernelError if the optional is empty."""
    if element is None:
        raise ValueError("the optional is empty; ask OptionalHasElement first")
    return element


@evaluates("SequenceLength", 1, domain="treadle")
def entry_of_sequence_lens(length: np.ndarray, *extents: np.ndarray) -> np.ndarray:
    """The entry of Scan-8's sequence_lens for one row, as int64[1], checked against the extents.

    `extents` are the lengths of the row's sequences, one int64[1] each; all must be equal.
    """
    longest = sorted({int(extent[0]) for extent in extents})
    if len(longest) > 1:
        raise KernelError(f"the sequences have different lengths: {longest}")
    if length.dtype != np.int64 or length.ndim:
        found = f"{length.dtype} of rank {length.ndim + 1}"
        raise KernelError(f"sequence_lens is {found}, wanted int64 of rank 1")
    if not 0 <= length <= longest[0]:
        raise KernelError(f"sequence_lens has the entry {length}, wanted 0 to {longest[0]}")
    return length.reshape(1)

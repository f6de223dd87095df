"""Helpers of several kernel families: precision, axes, the alignment of old broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np

NARROW = frozenset(
    map(
        np.dtype,
        (
            np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz,
            ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e8m0fnu,
            ml_dtypes.float4_e2m1fn, ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn,
        ),
    )
)  # fmt: skip
"""Floats narrower than 32 bits: computed in float32 and rounded once, at the end."""


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its first operand, and every array of the same dtype, in float32.

    Only where the first operand is a float narrower than 32 bits; the results are cast back.
    """
    return _computed_wide(function, NARROW)


def in_float32_except_float16(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `in_float32`, but float16 is rounded after every step, as in the standard's own data."""
    return _computed_wide(function, NARROW - {np.dtype(np.float16)})


def _computed_wide(
    function: Callable[..., Any], dtypes: frozenset[np.dtype[Any]]
) -> Callable[..., Any]:
    @wraps(function)
    def computed(first: np.ndarray, *others: Any, **attributes: Any) -> Any:
        narrow = first.dtype
        if narrow not in dtypes:
            return function(first, *others, **attributes)
        widened = [_widened(each, narrow) for each in (first, *others)]
        made = function(*widened, **attributes)
        if isinstance(made, tuple):
            return tuple(each.astype(narrow) for each in made)
        return made.astype(narrow)

    return computed


def _widened(operand: Any, narrow: np.dtype[Any]) -> Any:
    matches = isinstance(operand, np.ndarray) and operand.dtype == narrow
    return operand.astype(np.float32) if matches else operand


def is_integer(array: np.ndarray) -> bool:
    """Whether the array holds integers."""
    return array.dtype.kind in "iu"


def whole(operand: Any) -> int:
    """The integer in a scalar or one-element tensor."""
    return int(operand.item()) if isinstance(operand, np.ndarray) else int(operand)


def whole_list(operand: Any) -> list[int] | None:
    """The integers of a 1-D tensor or of a list; None stays None."""
    if isinstance(operand, np.ndarray):
        flat: list[int] = operand.reshape(-1).tolist()
        return flat
    return operand


def positive(axis: int, rank: int) -> int:
    """The axis counted from the front; raises ValueError if it is out of range for the rank."""
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"axis {axis} is out of range for a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def each_once(axes: Iterable[int], rank: int) -> list[int]:
    """The axes counted from the front; raises ValueError if one is named twice."""
    found = [positive(axis, rank) for axis in axes]
    if len(set(found)) < len(found):
        twice = next(axis for k, axis in enumerate(found) if axis in found[:k])
        raise ValueError(f"axis {twice} is named twice")
    return found


def distinct(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """The axes counted from the front, each one once."""
    return tuple(dict.fromkeys(positive(axis, rank) for axis in axes))


def aligned(left: np.ndarray, right: np.ndarray, axis: int | None) -> np.ndarray:
    """Align the right operand of opsets 1 to 6: its first dim is put at `axis` of the left one.

    right.reshape(right.shape + (1,) * (left.ndim - axis - right.ndim))
    """
    if axis is None or right.ndim == 0:
        return right
    behind = left.ndim - positive(axis, left.ndim) - right.ndim
    return right.reshape(right.shape + (1,) * max(behind, 0))


def grid(shape: Sequence[int], axis: int, index: np.ndarray) -> tuple[np.ndarray, ...]:
    """Index arrays for every element of `shape`, with `index` in place of the axis."""
    each = list(np.indices(tuple(shape), sparse=True))
    each[axis] = index
    return tuple(each)

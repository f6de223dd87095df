"""Folds views of constants at compile time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from treadle.jit.kernel.ir import Axis, Shape

_TILE = 128
"""The rows and columns copied together: both tiles fit into the L1 cache."""
_TILED_ELEMENTS = 65_536
"""The number of elements from which matrices are copied by tiles."""


def viewed(array: np.ndarray, shape: Shape, axes: Sequence[Axis]) -> np.ndarray | None:
    """The elements that a View reads.

    None if some of its numbers are unknown, or there are too many.
    """
    extents = [extent for extent in shape if isinstance(extent, int)]
    offsets = [axis.offset for axis in axes if isinstance(axis.offset, int)]
    if len(extents) < len(shape) or len(offsets) < len(axes) or prod(extents) > array.size:
        return None
    if not prod(extents):
        return np.empty(extents, array.dtype)
    strides = [0] * len(extents)
    for stride, axis in zip(array.strides, axes, strict=True):
        for number, step in axis.terms:
            strides[number] += step * stride
    for number, offset in enumerate(offsets):
        array = array[(slice(None),) * number + (slice(offset, None),)]
    return _copied(np.lib.stride_tricks.as_strided(array, extents, strides, writeable=False))


def _copied(array: np.ndarray) -> np.ndarray:
    """A contiguous copy; a large matrix is copied in blocks of rows that stay in the cache."""
    if array.ndim < 2 or array.size < _TILED_ELEMENTS:
        return np.array(array, order="C")  # ascontiguousarray makes a scalar a vector
    made = np.empty(array.shape, array.dtype)
    rows, columns = array.shape[-2:]
    for row in range(0, rows, _TILE):
        for column in range(0, columns, _TILE):
            block = (..., slice(row, row + _TILE), slice(column, column + _TILE))
            made[block] = array[block]
    return made

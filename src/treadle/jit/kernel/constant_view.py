"""Folds views of constants, and comparisons of truths with them, at compile time.

Greater(Cast(t), 0.5) is t, Equal(Cast(t), 0) is not t
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.ir import Axis, Constant, Elementwise, Node, Shape

_TILE = 128
"""The rows and columns copied together: both tiles fit into the L1 cache."""
_TILED_ELEMENTS = 65_536
"""The number of elements from which matrices are copied by tiles."""
COMPARISONS = {
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt, "greater": operator.gt,
    "less_equal": operator.le, "greater_equal": operator.ge,
}  # fmt: skip


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


def compared_truth(function: str, operands: Sequence[Node]) -> tuple[Node, bool] | None:
    """The truth that a comparison of it as a number with a constant is, or is the opposite of."""
    compare = COMPARISONS.get(function)
    for k, operand in enumerate(operands if compare else ()):
        truth, other = _truth(operand), operands[1 - k].op
        if truth is None or compare is None or not isinstance(other, Constant):
            continue
        if not operands[1 - k].is_single:
            continue
        numbers = np.arange(2).astype(operand.dtype.numpy), other.array.reshape(())
        no, yes = compare(*(numbers if k == 0 else numbers[::-1]))
        if no != yes:
            return truth, bool(yes)
    return None


def _truth(node: Node) -> Node | None:
    is_cast = node.op == Elementwise("cast") and node.operands[0].dtype is DType.BOOL
    return node.operands[0] if is_cast else None

"""Elements by index: Gather, Scatter, OneHot, NonZero, TopK, Unique and related operators."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from treadle.ir import show_array
from treadle.ops.kernels.common import NARROW, grid, positive, whole
from treadle.ops.kernels.registry import evaluates

_REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@evaluates("Gather", 1, 11, 13)
def gather(x: np.ndarray, indices: np.ndarray, *, axis: int) -> Any:
    """Slices of x along an axis; negative indices count from the end."""
    return x.take(indices, axis)


@evaluates("GatherElements", 11, 13)
def gather_elements(x: np.ndarray, indices: np.ndarray, *, axis: int) -> Any:
    """result[i][j] = x[indices[i][j]][j] for axis 0."""
    return x[grid(indices.shape, positive(axis, x.ndim), indices)]


@evaluates("GatherND", 11, 12, 13)
def gather_nd(x: np.ndarray, indices: np.ndarray, *, batch_dims: int = 0) -> Any:
    """Slices of x at index tuples, batch by batch."""
    around, given = indices.shape[:-1], x.shape[:batch_dims]
    if around[:batch_dims] != given:
        shapes = f"{show_array(x)} and {show_array(indices)}"
        raise ValueError(f"the first {batch_dims} extents of {shapes} differ")
    batches = np.indices(around, sparse=True)[:batch_dims]
    found = x[(*batches, *np.moveaxis(indices, -1, 0))]
    if indices.shape[-1]:
        return found
    rest = x.shape[batch_dims:]
    return np.broadcast_to(
        found.reshape(given + (1,) * (len(around) - batch_dims) + rest), around + rest
    ).copy()


@evaluates("Scatter", 9, 11)
@evaluates("ScatterElements", 11, 13, 16, 18)
def scatter_elements(
    x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, axis: int, reduction: str = "none"
) -> np.ndarray:
    """X with result[indices[i][j]][j] = updates[i][j] for axis 0."""
    where = grid(indices.shape, positive(axis, x.ndim), indices)
    return _scattered(x, where, updates, reduction)


@evaluates("ScatterND", 11, 13, 16, 18)
def scatter_nd(
    x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, reduction: str = "none"
) -> np.ndarray:
    """X with slices at index tuples replaced."""
    return _scattered(x, tuple(np.moveaxis(indices, -1, 0)), updates, reduction)


def _scattered(x: np.ndarray, where: Any, updates: np.ndarray, reduction: str) -> np.ndarray:
    result = x.copy()
    if reduction == "none":
        result[where] = updates
    else:
        _REDUCTIONS[reduction].at(result, where, updates)
    return result


@evaluates("Compress", 9, 11, 28)
def compress(x: np.ndarray, condition: np.ndarray, *, axis: int | None = None) -> Any:
    """The slices whose condition holds; without an axis those of the flattened tensor.

    A condition beyond the last slice selects nothing.
    """
    extent = x.size if axis is None else x.shape[axis]
    return np.compress(condition.reshape(-1)[:extent], x, axis)


@evaluates("NonZero", 9, 13)
def non_zero(x: np.ndarray) -> Any:
    """The indices of nonzero elements, [rank, count]; a scalar gives [0, count]."""
    if x.ndim == 0:
        return np.zeros((0, int(bool(x))), np.int64)
    return np.array(np.nonzero(x), np.int64)


@evaluates("OneHot", 9, 11, 28)
def one_hot(indices: np.ndarray, depth: np.ndarray, values: np.ndarray, *, axis: int) -> Any:
    """The on-value at each index and the off-value elsewhere.

    An index out of range sets nothing.
    """
    extent = whole(depth)
    position = positive(axis, indices.ndim + 1)
    given = np.expand_dims(indices, position)
    shape = [1] * given.ndim
    shape[position] = extent
    steps = np.arange(extent).reshape(shape)
    hot = (given == steps) | (given + extent == steps)
    return np.where(hot, values[1], values[0]).astype(values.dtype, copy=False)


@evaluates("TopK", 11, 24)
def top_k(x: np.ndarray, k: Any, *, axis: int, largest: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The k largest or smallest elements in order, and their indices; equal ones by index.

    NaN counts as the largest, as numpy sorts it.
    """
    count, axis = whole(k), positive(axis, x.ndim)
    extent = x.shape[axis]
    if not 0 <= count <= extent:
        raise ValueError(f"k is {count}, the axis has {extent} elements")
    keys = x.astype(np.float32) if x.dtype in NARROW else x
    if largest:
        backwards = np.argsort(np.flip(keys, axis), axis, kind="stable")
        order = extent - 1 - np.flip(backwards, axis)
    else:
        order = np.argsort(keys, axis, kind="stable")
    order = np.take(order, np.arange(count), axis)
    return np.take_along_axis(x, order, axis), order.astype(np.int64)


@evaluates("TopK", 10)
def top_k_10(x: np.ndarray, k: np.ndarray, *, axis: int) -> Any:
    """TopK before opset 11: the largest elements only."""
    return top_k(x, k, axis=axis)


@evaluates("TopK", 1)
def top_k_1(x: np.ndarray, *, k: int, axis: int) -> Any:
    """TopK-1: k is an attribute."""
    return top_k(x, k, axis=axis)


def _extreme(choose: Any) -> Any:
    def arg(x: np.ndarray, *, axis: int, keepdims: int, select_last_index: int = 0) -> Any:
        """The index of the extreme along an axis; of equal elements the first, or the last."""
        extent = x.shape[axis]
        if not extent:
            along = positive(axis, x.ndim)
            rest = (*x.shape[:along], *(1,) * keepdims, *x.shape[along + 1 :])
            if prod(rest):
                raise ValueError(f"axis {axis} of {show_array(x)} has no elements")
            return np.zeros(rest, np.int64)
        if select_last_index:
            found = extent - 1 - choose(np.flip(x, axis), axis=axis, keepdims=bool(keepdims))
        else:
            found = choose(x, axis=axis, keepdims=bool(keepdims))
        return np.asarray(found, np.int64)

    return arg


evaluates("ArgMax", 1, 11, 12, 13)(_extreme(np.argmax))
evaluates("ArgMin", 1, 11, 12, 13)(_extreme(np.argmin))


@evaluates("Unique", 11, 28)
def unique(x: np.ndarray, *, axis: int | None = None, sorted: int) -> Any:  # noqa: A002
    """Distinct elements or slices, their first indices, the inverse indices and the counts."""
    if x.dtype.kind == "O" and axis is not None:  # numpy cannot sort rows of objects
        words, codes = np.unique(x, return_inverse=True)
        found, *places = unique(codes.reshape(x.shape), axis=axis, sorted=sorted)
        return np.asarray(words[found], object), *places
    found, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        index = np.empty_like(order)
        index[order] = np.arange(len(order))
        found = np.take(found, order, 0 if axis is None else axis)
        first, inverse, counts = first[order], index[inverse], counts[order]
    return found, *(each.astype(np.int64) for each in (first, inverse, counts))

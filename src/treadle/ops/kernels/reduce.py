"""Reductions and cumulative sums.

Axes are an attribute in old versions and an operand in new ones; without any, all axes are reduced,
or none if `noop_with_empty_axes` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from treadle.ops.kernels.common import NARROW, distinct, is_integer, positive, whole, whole_list
from treadle.ops.kernels.registry import evaluates

_add: Any = np.add.reduce
_most: Any = np.max
_least: Any = np.min
_times: Any = np.prod
_average: Any = np.mean
Axes = tuple[int, ...] | None
Reduction = Callable[[np.ndarray, Axes, bool], Any]


def _largest(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    if x.size:
        return _most(x, axis=axes, keepdims=keep)
    return _most(x, axis=axes, keepdims=keep, initial=_bottom(x.dtype))


def _smallest(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    if x.size:
        return _least(x, axis=axes, keepdims=keep)
    return _least(x, axis=axes, keepdims=keep, initial=_top(x.dtype))


def _bottom(dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return False if dtype.kind == "b" else np.asarray(-np.inf).astype(dtype)[()]


def _top(dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return True if dtype.kind == "b" else np.asarray(np.inf).astype(dtype)[()]


def _sum(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    return _add(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _product(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    return _times(x, axis=axes, keepdims=keep, dtype=x.dtype)


def _mean(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    if is_integer(x):
        return _whole_mean(x, axes, keep)
    if x.size:
        return _average(x, axis=axes, keepdims=keep)
    return _sum(x, axes, keep) / np.zeros((), x.dtype)


def _whole_mean(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    """The exact integer mean, rounded toward zero, 0 for no elements, as in onnxruntime.

    It sums quotients and remainders by the count, which cannot overflow as the sum of x may.
    """
    x = x.astype(np.uint64 if x.dtype.kind == "u" else np.int64)
    count = max(prod(x.shape if axes is None else [x.shape[axis] for axis in axes]), 1)
    quotients, rests = (_sum(each, axes, keep) for each in np.divmod(x, count))
    below = quotients + rests // count
    return below + ((below < 0) & (rests % count != 0))


def _l1(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    return _sum(np.abs(x), axes, keep)


def _l2(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    return np.sqrt(_sum(np.square(x), axes, keep))


def _log_sum(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    return np.log(_sum(x, axes, keep))


def _sum_square(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    return _sum(np.square(x), axes, keep)


def _log_sum_exp(x: np.ndarray, axes: Axes, keep: bool) -> Any:
    if is_integer(x):
        x = x.astype(np.float64)
    most = np.asarray(_largest(x, axes, True))
    most = np.where(np.isfinite(most), most, np.zeros((), most.dtype))
    total = np.log(_sum(np.exp(x - most), axes, True)) + most
    return total if keep else np.squeeze(total, axes)


def _register(op: str, reduction: Reduction, old: Sequence[int], new: Sequence[int]) -> None:
    def reduced(x: np.ndarray, axes: Axes, keep: bool) -> Any:
        axes = None if axes is None else distinct(axes, x.ndim)
        if x.dtype in NARROW:
            return np.asarray(reduction(x.astype(np.float32), axes, keep)).astype(x.dtype)
        return np.asarray(reduction(x, axes, keep)).astype(x.dtype, copy=False)

    def by_operand(
        x: np.ndarray, axes: Any = None, *, keepdims: int, noop_with_empty_axes: int
    ) -> Any:
        over = whole_list(axes)
        if over:
            return reduced(x, tuple(over), bool(keepdims))
        return reduced(x, () if noop_with_empty_axes else None, bool(keepdims))

    def by_attribute(x: np.ndarray, *, axes: Sequence[int] | None = None, keepdims: int) -> Any:
        return reduced(x, tuple(axes) if axes else None, bool(keepdims))

    evaluates(op, *old)(by_attribute)
    evaluates(op, *new)(by_operand)


_register("ReduceSum", _sum, (1, 11), (13,))
_register("ReduceMax", _largest, (1, 11, 12, 13), (18, 20))
_register("ReduceMin", _smallest, (1, 11, 12, 13), (18, 20))
_register("ReduceMean", _mean, (1, 11, 13), (18,))
_register("ReduceProd", _product, (1, 11, 13), (18,))
_register("ReduceL1", _l1, (1, 11, 13), (18,))
_register("ReduceL2", _l2, (1, 11, 13), (18,))
_register("ReduceSumSquare", _sum_square, (1, 11, 13), (18,))
_register("ReduceLogSum", _log_sum, (1, 11, 13), (18, 28))
_register("ReduceLogSumExp", _log_sum_exp, (1, 11, 13), (18, 28))


def _running(accumulate: Any, neutral: int) -> Any:
    def running(x: np.ndarray, axis: np.ndarray, *, exclusive: int, reverse: int) -> np.ndarray:
        """Cumulative sums or products, of everything up to each element or before it."""
        along = positive(whole(axis), x.ndim)
        given = np.flip(x, along) if reverse else x
        result = accumulate(given, axis=along, dtype=x.dtype)
        if exclusive and x.shape[along]:
            first = np.full_like(np.take(result, [0], along), neutral)
            kept = np.take(result, np.arange(x.shape[along] - 1), along)
            result = np.concatenate([first, kept], along)
        return np.flip(result, along) if reverse else result

    return running


evaluates("CumSum", 11, 14)(_running(np.cumsum, 0))
evaluates("CumProd", 26)(_running(np.cumprod, 1))

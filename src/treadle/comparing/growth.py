"""Measures how the error of a value grows from iteration to iteration."""

from __future__ import annotations

import numpy as np

from treadle.tracing import Column

_LONGEST = 2**24
"""The most iterations of an outermost loop of which each has an error of its own."""


def _wide(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.complex128 if rows.dtype.kind == "c" else np.float64)


def largest_errors(got: Column, wanted: Column) -> np.ndarray:
    """The largest absolute error in each iteration of the outermost loop, float64[iterations].

    Empty if the values are strings, or not tensors of one shape, or if the iterations are too many.
    """
    one, other = got.rows(), wanted.rows()
    if (
        one is None
        or other is None
        or one.shape[1:] != other.shape[1:]
        or {one.dtype.kind, other.dtype.kind} & {*"OU"}
    ):
        return np.zeros(0)
    count = min(len(one), len(other))
    with np.errstate(invalid="ignore"):
        error = np.abs(_wide(one[:count]) - _wide(other[:count]))
    known = np.nan_to_num(error.reshape(count, -1), nan=np.inf)
    error = np.asarray(known.max(axis=1, initial=0))
    if not wanted.loops or not count:
        return error
    outer = wanted.at[:count, 0]
    if int(outer.max()) >= _LONGEST:
        return np.zeros(0)
    grown = np.zeros(int(outer.max()) + 1)
    np.maximum.at(grown, outer, error)
    return grown

"""Measures how the error of a value grows from iteration to iteration."""

from __future__ import annotations

import numpy as np

from treadle.tracing import Column


def largest_errors(got: Column, wanted: Column) -> np.ndarray:
    """The largest absolute error in each iteration of the outermost loop, float64[iterations].

    Empty if the values are strings, or not tensors of one shape.
    """
    one, other = got.rows(), wanted.rows()
    if one is None or other is None or one.shape[1:] != other.shape[1:] or one.dtype.kind in "OU":
        return np.zeros(0)
    count = min(len(one), len(other))
    with np.errstate(invalid="ignore"):
        error = np.abs(one[:count].astype(np.float64) - other[:count].astype(np.float64))
    known = np.nan_to_num(error.reshape(count, -1), nan=np.inf)
    error = np.asarray(known.max(axis=1, initial=0))
    if not wanted.loops or not count:
        return error
    outer = wanted.at[:count, 0]
    grown = np.zeros(int(outer.max()) + 1)
    np.maximum.at(grown, outer, error)
    return grown

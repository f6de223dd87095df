"""Summarizes a value over iterations for the page: a sparkline, a heat map, its NaNs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from treadle.comparing import order_of
from treadle.html_report.heat_map import heat_map
from treadle.ir import DType, Model, dtype_of
from treadle.tracing import Column

_POINTS = 120
_COLUMNS, _ROWS = 160, 32
_DIGITS = 4
_SMALL_FLOATS = {each for each in DType if each.value.startswith(("bfloat", "float"))}

Data = dict[str, Any]


def series_of(columns: Iterable[Column]) -> dict[str, Data]:
    """The series of each numeric value, by its path and name."""
    found = ((f"{each.path}/{each.name}", series(each)) for each in columns)
    return {name: data for name, data in found if data is not None}


def series(column: Column) -> Data | None:
    """`low`, `mean` and `high` of at most 120 groups of occurrences, and the heat map.

    None for values without occurrences, and without numbers: strings, optionals, sequences.
    """
    rows = _flat(column)
    if not len(rows) or not any(row.size for row in rows):
        return None
    low, high, mean, nans = _each(rows)
    bounds = [_digits(np.nanmin(low)), _digits(np.nanmax(high))] if np.isfinite(low).any() else None
    data: Data = {
        "times": len(rows),
        "low": _thinned(low, np.fmin),
        "mean": _thinned(mean, None),
        "high": _thinned(high, np.fmax),
        "range": bounds,
    }
    if nans.any():
        data["nan"] = column.at[int(nans.argmax())].tolist()
    if isinstance(rows, np.ndarray) and rows.shape[0] > 1 and rows.shape[1] > 1:
        data["heat"] = heat_map(_matrix(rows))
    return data


def _flat(column: Column) -> np.ndarray | list[np.ndarray]:
    """float64[occurrences, elements], or a list of elements per occurrence if their number varies.

    [] if it is not a numeric tensor.
    """
    rows = column.rows()
    if rows is not None:
        if not rows.size or not _has_numbers(rows):
            return []
        return rows.astype(np.float64).reshape(len(rows), -1)
    if all(isinstance(each, np.ndarray) and _has_numbers(each) for each in column.made):
        return [each.astype(np.float64).reshape(-1) for each in column.made]
    return []


def _has_numbers(array: np.ndarray) -> bool:
    return array.dtype.kind in "biuf" or dtype_of(array.dtype) in _SMALL_FLOATS


def _each(rows: np.ndarray | list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The least, greatest and mean finite element of each occurrence, and whether it has NaN."""
    if isinstance(rows, list):
        each = [np.concatenate(_each(row.reshape(1, -1))) for row in rows]
        low, high, mean, nans = np.array(each).T
        return low, high, mean, nans != 0
    finite = np.isfinite(rows)
    count = finite.sum(axis=1)
    total = rows.sum(axis=1, where=finite)
    low = rows.min(axis=1, where=finite, initial=np.inf)
    high = rows.max(axis=1, where=finite, initial=-np.inf)
    is_known = count > 0
    mean = np.divide(total, count, out=np.full(len(rows), np.nan), where=is_known)
    low, high = (np.where(is_known, each, np.nan) for each in (low, high))
    return low, high, mean, np.isnan(rows).any(axis=1)


def _thinned(points: np.ndarray, take: np.ufunc | None) -> list[float | None]:
    """At most 120 points: the least, greatest or middle value of each group."""
    parts = np.array_split(points, min(_POINTS, len(points)))
    chosen = [part[len(part) // 2] if take is None else take.reduce(part) for part in parts]
    return [None if np.isnan(each) else _digits(each) for each in chosen]


def _digits(number: Any) -> float:
    return float(f"{float(number):.{_DIGITS}g}")


def _matrix(rows: np.ndarray) -> np.ndarray:
    """Elements as rows, occurrences as columns, reduced to the picture's size.

    NaN is never lost.
    """
    across = np.array_split(np.arange(len(rows)), min(_COLUMNS, len(rows)))
    down = np.array_split(np.arange(rows.shape[1]), min(_ROWS, rows.shape[1]))
    with np.errstate(invalid="ignore"):
        return np.array([[rows[np.ix_(a, d)].max() for a in across] for d in down])


def first_nan(model: Model, series: Mapping[str, Data]) -> Data | None:
    """The value and iteration in which NaN first appears, in the order of execution."""
    order = order_of(model)
    found = [
        (order[name].key(data["nan"]), name, data["nan"])
        for name, data in series.items()
        if "nan" in data and name in order
    ]
    if not found:
        return None
    _, name, iterations = min(found)
    return {"value": name, "step": order[name].step, "iterations": iterations}

"""Finds the rows of a batch that can run together: their cells have equal shapes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from treadle.predict.columns import Column, Ragged, Rows, Stacked, cells_of
from treadle.predict.layout import Layout


def groups(columns: Mapping[str, Column], layout: Layout, alive: np.ndarray) -> Iterator[Rows]:
    """The rows that run together, group by group, in the order of their first rows.

    `alive` says which rows run at all. Cells of a group have one shape, without the time axis of
    padded inputs; cells of an input without a batch axis have one content.
    """
    numbers = np.flatnonzero(alive)
    found = None
    columns = {} if layout.axes.most == 1 else columns
    for name, column in columns.items():
        key = _key(column, layout.axes.inputs.get(name) is None, layout.time_of(name))
        if key is not None:
            found = _refined(found, key[numbers])
    if found is None:
        if len(numbers):
            yield numbers
        return
    order = np.argsort(found, kind="stable")
    bounds = np.flatnonzero(np.diff(found[order])) + 1
    split = np.split(numbers[order], bounds) if len(numbers) else []
    yield from sorted(split, key=lambda rows: int(rows[0]))


def _refined(groups: np.ndarray | None, key: np.ndarray) -> np.ndarray:
    """Numbers of groups that tell rows with different keys apart, too."""
    numbers = _numbered(key)
    if groups is None or not len(key):
        return numbers
    together = groups * (numbers.max() + 1) + numbers
    return _numbered(together)


def _numbered(key: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.unique(key, return_inverse=True)[1].ravel()
    return found


def _key(column: Column, shared: bool, time: int | None) -> np.ndarray | None:
    """A number for each row, equal where cells can run together; None if all can."""
    if isinstance(column, Stacked):
        return _contents(column.values) if shared else None
    if isinstance(column, Ragged) and not shared:
        return None if time == 0 else column.lengths
    keys: dict[Hashable, int] = {}
    cells = cells_of(column)
    return np.array([keys.setdefault(_kind(c, shared, time), len(keys)) for c in cells], np.int64)


def _contents(values: np.ndarray) -> np.ndarray | None:
    """A number for each row, equal where the bytes of the cells are; None if all are."""
    if not values.size:
        return None
    rows = np.ascontiguousarray(values).reshape(len(values), -1).view(np.uint8)
    if (rows == rows[0]).all():
        return None
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _kind(cell: Any, shared: bool, time: int | None) -> Hashable:
    if cell is None:
        return None
    if shared:
        return cell.shape, str(cell.tolist()) if cell.dtype == object else cell.tobytes()
    return cell.dtype.str, tuple(n for axis, n in enumerate(cell.shape) if axis != time)

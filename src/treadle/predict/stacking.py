"""Stacks the cells of rows into feeds.

rows of one length   ->  one feed, stacked along the batch axis
with lengths         ->  one feed, shorter rows padded with zeros, and the length of each row
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treadle.predict.columns import Column, Loose, Ragged, Rows, Stacked, cell_of
from treadle.predict.layout import Layout
from treadle.predict.typed import Failed


def row_lengths(
    columns: Mapping[str, Column], layout: Layout, alive: np.ndarray, failed: Failed
) -> np.ndarray:
    """The length of each row along the time axes: int64[rows], 0 where a row is not alive.

    Rows whose inputs have different lengths are noted as failed.
    """
    if not layout.lengths:
        return np.zeros(len(alive), np.int64)
    found = [_extents(columns[name], axis, alive) for name, axis in layout.times.items()]
    table = np.stack(found) if found else np.zeros((0, len(alive)), np.int64)
    equal = (table == table[:1]).all(axis=0) if found else np.zeros(len(alive), bool)
    for row in np.flatnonzero(alive & ~equal).tolist():
        shown = ", ".join(map(str, sorted(set(table[:, row].tolist()))))
        failed.setdefault(row, f"a row has several lengths: {shown}")
    return table[0] if found else np.zeros(len(alive), np.int64)


def _extents(column: Column, axis: int, alive: np.ndarray) -> np.ndarray:
    if isinstance(column, Loose):
        shown = zip(column.cells, alive.tolist(), strict=True)
        return np.array([c.shape[axis] if is_alive else 0 for c, is_alive in shown], np.int64)
    if isinstance(column, Ragged) and axis == 0:
        return np.where(alive, column.lengths, 0)
    extent = column.values.shape[axis + isinstance(column, Stacked)]
    return np.where(alive, extent, 0)


def row_bytes(columns: Mapping[str, Column], row: int) -> int:
    """The bytes of the cells of a row."""
    return sum(int(cell_of(column, row).nbytes) for column in columns.values())


def feed_of(
    columns: Mapping[str, Column], rows: Rows, layout: Layout, lengths: np.ndarray
) -> dict[str, np.ndarray]:
    """The feed of rows that run together; `lengths` has the lengths of all rows of the batch."""
    feed: dict[str, np.ndarray] = {}
    for name, column in columns.items():
        axis = layout.axes.inputs.get(name)
        if axis is None:
            feed[name] = np.asarray(cell_of(column, int(rows[0])))
            continue
        time = layout.time_of(name)
        longest = int(lengths[rows].max()) if time is not None else 0
        stacked = _stacked(column, rows) if time is None else _padded(column, rows, time, longest)
        feed[name] = np.ascontiguousarray(np.moveaxis(stacked, 0, axis))
    if layout.lengths:
        feed[layout.lengths] = lengths[rows].astype(layout.counts)
    return feed


def _stacked(column: Column, rows: Rows) -> np.ndarray:
    """The cells of rows, which have one shape, with the rows first."""
    if isinstance(column, Loose):
        return np.stack([column.cells[row] for row in rows.tolist()])
    if isinstance(column, Stacked):
        chosen: np.ndarray = column.values[_chosen(rows)]
        return chosen
    return _behind_each_other(column, rows)


def _behind_each_other(column: Ragged, rows: Rows) -> np.ndarray:
    """Cells of one length; without a copy if they lie behind each other."""
    length, first = int(column.lengths[rows[0]]), int(column.starts[rows[0]])
    count, inner = len(rows), column.values.shape[1:]
    starts = column.starts[rows]
    if (starts == first + length * np.arange(count)).all():
        return column.values[first : first + count * length].reshape(count, length, *inner)
    gathered: np.ndarray = column.values[starts[:, None] + np.arange(length)]
    return gathered


def _chosen(rows: Rows) -> Rows | slice:
    """Rows as an index; a slice, which copies nothing, if they are neighbours."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else rows


def _padded(column: Column, rows: Rows, time: int, longest: int) -> np.ndarray:
    """The cells of rows with the rows first, and zeros behind the shorter ones."""
    if isinstance(column, Stacked):
        return _stacked(column, rows)
    if isinstance(column, Loose) or time:
        return np.stack(_widened([cell_of(column, row) for row in rows.tolist()], time, longest))
    there = np.arange(longest) < column.lengths[rows, None]
    made = np.zeros((len(rows), longest, *column.values.shape[1:]), column.values.dtype)
    made[there] = column.values[(column.starts[rows, None] + np.arange(longest))[there]]
    return made


def _widened(cells: Sequence[np.ndarray], axis: int, longest: int) -> list[np.ndarray]:
    made = []
    for cell in cells:
        shape = (*cell.shape[:axis], longest, *cell.shape[axis + 1 :])
        wide = np.zeros(shape, cell.dtype)
        wide[(*(slice(None),) * axis, slice(cell.shape[axis]))] = cell
        made.append(wide)
    return made

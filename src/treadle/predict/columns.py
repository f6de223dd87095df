"""Columns of a batch, with one cell for each row.

Stacked   cells of one shape: one array with the rows first
Ragged    cells that differ in their first extent only: one array, and where each cell lies in it
Loose     any other cells: a list, None for a null
Texts     messages of a few rows, which are only written
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

Rows = np.ndarray
"""Numbers of rows, ascending: int64[R]."""

_NUMBERS = "biuf"
_PYTHON_NUMBERS = (bool, int, float)


def _no_rows() -> Rows:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Stacked:
    """Cells of one shape: `values[k]` is the cell of row k; rows in `nulls` have none."""

    values: np.ndarray
    nulls: Rows = field(default_factory=_no_rows)


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Cells that lie one behind the other: row k is `values[starts[k] : starts[k] + lengths[k]]`.

    Rows in `nulls` have no cell, whatever their length.
    """

    values: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    nulls: Rows = field(default_factory=_no_rows)


@dataclass(frozen=True, slots=True, eq=False)
class Loose:
    """Cells of any kind; None for a null."""

    cells: Sequence[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts of a few rows out of `count`: the other cells are null."""

    count: int
    texts: Mapping[int, str]

    def array(self) -> np.ndarray:
        """The cells as an array of objects."""
        found = np.empty(self.count, object)
        for row, text in self.texts.items():
            found[row] = text
        return found


Column = Stacked | Ragged | Loose


def ragged(values: np.ndarray, lengths: np.ndarray, nulls: Rows | None = None) -> Ragged:
    """Cells of these lengths, without gaps between them."""
    starts = np.zeros(len(lengths), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    return Ragged(values, starts, lengths, _no_rows() if nulls is None else nulls)


def nulls_of(column: Column) -> Rows:
    """The numbers of the rows that have no cell."""
    if isinstance(column, Loose):
        return np.flatnonzero([cell is None for cell in column.cells])
    return column.nulls


def cells_of(column: Column) -> list[Any]:
    """The cells as a list; None for a null. Cells are views of the column."""
    if isinstance(column, Loose):
        return list(column.cells)
    if isinstance(column, Stacked):
        cells: list[Any] = list(column.values)
    else:
        ends = (column.starts + column.lengths).tolist()
        bounds = zip(column.starts.tolist(), ends, strict=True)
        cells = [column.values[start:end] for start, end in bounds]
    for row in column.nulls.tolist():
        cells[row] = None
    return cells


def cell_of(column: Column, row: int) -> Any:
    """The cell of one row."""
    if isinstance(column, Loose):
        return column.cells[row]
    if isinstance(column, Stacked):
        return column.values[row]
    start = column.starts[row]
    return column.values[start : start + column.lengths[row]]


def column_of(cells: Sequence[Any]) -> Column:
    """The column of these cells: stacked or ragged if they are numbers of one type, else loose."""
    types = set(map(type, cells))
    if len(types) != 1:
        return Loose(cells)
    (found,) = types
    if found is np.ndarray:
        return _of_arrays(cells)
    if found is list:
        return _of_lists(cells)
    values = _numbers(cells, found)
    return Loose(cells) if values is None else Stacked(values)


def _numbers(items: Sequence[Any], type_: type) -> np.ndarray | None:
    """Numbers of one type as an array; None if they are not numbers, or too large for one."""
    if type_ not in _PYTHON_NUMBERS and not issubclass(type_, np.number | np.bool):
        return None
    try:
        values = np.array(items)
    except OverflowError:
        return None
    return values if values.dtype.kind in _NUMBERS else None


def _of_lists(cells: Sequence[list[Any]]) -> Column:
    flat = list(chain.from_iterable(cells))
    types = set(map(type, flat))
    values = _numbers(flat, *types) if len(types) == 1 else None
    return Loose(cells) if values is None else _cut(values, cells)


def _of_arrays(cells: Sequence[np.ndarray]) -> Column:
    """Arrays of one dtype that differ in their first extent at most, else loose."""
    dtypes, inner = {cell.dtype for cell in cells}, {cell.shape[1:] for cell in cells}
    ranks = {cell.ndim for cell in cells}
    if len(dtypes) != 1 or len(inner) != 1 or len(ranks) != 1:
        return Loose(cells)
    if next(iter(dtypes)).kind not in _NUMBERS:
        return Loose(cells)
    if ranks == {0}:
        return Stacked(np.array(cells))
    return _cut(np.concatenate(cells), cells)


def _cut(values: np.ndarray, cells: Iterable[Any]) -> Column:
    lengths = np.fromiter(map(len, cells), np.int64)
    if (lengths == lengths[0]).all():
        return Stacked(values.reshape(len(lengths), lengths[0], *values.shape[1:]))
    return ragged(values, lengths)

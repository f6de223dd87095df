"""Batches of rows: a dict of arrays, a pandas.DataFrame or a pyarrow.Table, read and written back.

    columns in    arrays of whole columns if the cells are numbers, else lists of cells
    columns out   an array if all rows have one shape and none is null, else lists; None: a null

pandas and pyarrow are imported only where such a batch comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.errors import InputError, InputTypeError, or_nearest
from treadle.messages import a_or_an
from treadle.predict.arrow import read_arrow, write_arrow
from treadle.predict.columns import Column, Stacked, Texts, cells_of, column_of

Columns = Mapping[str, Column | Texts]


@dataclass(frozen=True, slots=True)
class TableKind:
    """The functions for one kind of batch.

    `is_one` recognises a batch of this kind; `names` and `rows` describe a batch, `read` reads a
    column, and `with_columns` adds columns of results to a batch.
    """

    is_one: Callable[[object], bool]
    names: Callable[[Any], Sequence[str]]
    read: Callable[[Any, str], Column]
    with_columns: Callable[[Any, Columns], Any]
    rows: Callable[[Any], int]


def kind_of(batch: object) -> TableKind:
    """The kind of a batch; raises InputTypeError for an object that is not a batch."""
    for kind in _KINDS:
        if kind.is_one(batch):
            return kind
    raise InputTypeError(
        f"the batch is {a_or_an(type(batch).__name__)}, wanted a dict of numpy arrays,"
        " a pandas.DataFrame or a pyarrow.Table"
    )


def column(kind: TableKind, batch: object, name: str, input_name: str) -> Column:
    """The column of an input; raises InputError, listing the columns, if it is missing."""
    names = kind.names(batch)
    if name not in names:
        hint = or_nearest(name, names)
        raise InputError(
            f'the batch has no column "{name}" for the input "{input_name}"; it has'
            f" {', '.join(map(str, names)) or 'none'}{hint}"
        )
    return kind.read(batch, name)


def _is_of(module: str, name: str) -> Callable[[object], bool]:
    def is_one(batch: object) -> bool:
        found = type(batch)
        return found.__name__ == name and found.__module__.partition(".")[0] == module

    return is_one


def _of_array(values: np.ndarray) -> Column:
    """The column of an array with the rows first."""
    return Stacked(values) if values.dtype.kind in "biuf" else column_of(list(values))


def _dict_column(batch: Mapping[str, Any], name: str) -> Column:
    cells = batch[name]
    return _of_array(cells) if isinstance(cells, np.ndarray) else column_of(list(cells))


def _dict_rows(batch: Mapping[str, Any]) -> int:
    lengths = {name: len(cells) for name, cells in batch.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"the columns of the batch have different lengths: {shown}")
    return next(iter(lengths.values()), 0)


def _dict_with(batch: Mapping[str, Any], made: Columns) -> dict[str, Any]:
    return {**batch, **{name: _stacked(column) for name, column in made.items()}}


def _stacked(column: Column | Texts) -> np.ndarray:
    """An array with the rows first; of objects if rows are null or have different shapes."""
    if isinstance(column, Texts):
        return column.array()
    if isinstance(column, Stacked) and not len(column.nulls):
        return column.values
    cells = cells_of(column)
    kinds = {_kind(cell) for cell in cells}
    return np.stack(cells) if len(kinds) == 1 and None not in kinds else _objects(cells)


def _kind(cell: Any) -> tuple[object, ...] | None:
    """What cells of one array have in common; None for a cell that is no array."""
    return (cell.shape, cell.dtype) if isinstance(cell, np.ndarray) else None


def _objects(cells: Sequence[Any]) -> np.ndarray:
    """An array of the cells, scalars as Python objects."""
    found = np.empty(len(cells), object)
    for row, cell in enumerate(cells):
        found[row] = (
            cell.item() if isinstance(cell, np.ndarray | np.generic) and not cell.ndim else cell
        )
    return found


def _frame_column(batch: Any, name: str) -> Column:
    found = batch[name]
    if isinstance(found.dtype, np.dtype) and found.dtype.kind in "biuf":
        return Stacked(found.to_numpy())
    return column_of(found.tolist())


def _frame_with(batch: Any, made: Columns) -> Any:
    import pandas

    new = {name: pandas.Series(_series(column), index=batch.index) for name, column in made.items()}
    return batch.assign(**new)


def _series(column: Column | Texts) -> np.ndarray:
    """An array of numbers if there is one for each row, else of objects."""
    found = _stacked(column)
    return found if found.ndim == 1 else _objects(list(found))


def _arrow_with(batch: Any, made: Columns) -> Any:
    for name, column in made.items():
        array = write_arrow(column)
        number = batch.schema.get_field_index(name)
        batch = (
            batch.append_column(name, array)
            if number < 0
            else batch.set_column(number, name, array)
        )
    return batch


_KINDS = (
    TableKind(
        _is_of("pandas", "DataFrame"), lambda batch: list(batch.columns), _frame_column,
        _frame_with, len,
    ),
    TableKind(
        _is_of("pyarrow", "Table"), lambda batch: list(batch.column_names),
        lambda batch, name: read_arrow(batch.column(name)), _arrow_with,
        lambda batch: int(batch.num_rows),
    ),
    TableKind(
        lambda batch: isinstance(batch, Mapping), lambda batch: list(batch), _dict_column,
        _dict_with, _dict_rows,
    ),
)  # fmt: skip

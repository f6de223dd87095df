"""Batches of rows: a dict of arrays, a pandas.DataFrame or a pyarrow.Table, read and written back.

    columns in    a list of cells, one for each row: numpy arrays or scalars, None for a null
    columns out   an array if all rows have one shape and none is null, else lists; None: a null

pandas and pyarrow are imported only where such a batch comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.errors import InputError, InputTypeError, did_you_mean
from treadle.messages import a_or_an

Cells = list[Any]
Columns = Mapping[str, Cells]


@dataclass(frozen=True, slots=True)
class TableKind:
    """The functions for one kind of batch.

    `is_one` recognises a batch of this kind; `names` and `rows` describe a batch, `cells` reads a
    column, and `with_columns` adds columns of results to a batch.
    """

    is_one: Callable[[object], bool]
    names: Callable[[Any], Sequence[str]]
    cells: Callable[[Any, str], Cells]
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


def column(kind: TableKind, batch: object, name: str, input_name: str) -> Cells:
    """The cells of a column; raises InputError, listing the columns, if it is missing."""
    names = kind.names(batch)
    if name not in names:
        hint = did_you_mean(name, names)
        raise InputError(
            f'the batch has no column "{name}" for the input "{input_name}"; it has'
            f" {', '.join(map(str, names)) or 'none'}{hint}"
        )
    return kind.cells(batch, name)


def _is_of(module: str, name: str) -> Callable[[object], bool]:
    def is_one(batch: object) -> bool:
        found = type(batch)
        return found.__name__ == name and found.__module__.partition(".")[0] == module

    return is_one


def _dict_cells(batch: Mapping[str, Any], name: str) -> Cells:
    return list(batch[name])


def _dict_rows(batch: Mapping[str, Any]) -> int:
    lengths = {name: len(cells) for name, cells in batch.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"the columns of the batch have different lengths: {told}")
    return next(iter(lengths.values()), 0)


def _dict_with(batch: Mapping[str, Any], made: Columns) -> dict[str, Any]:
    return {**batch, **{name: stacked(cells) for name, cells in made.items()}}


def stacked(cells: Cells) -> np.ndarray:
    """An array with the rows first; of objects if rows are null or have different shapes."""
    arrays = [np.asarray(cell) for cell in cells if cell is not None]
    kinds = {(array.shape, array.dtype) for array in arrays}
    if len(arrays) == len(cells) and len(kinds) == 1 and arrays:
        return np.stack(arrays)
    found = np.empty(len(cells), object)
    found[:] = [None if cell is None else _plain(cell) for cell in cells]
    return found


def _plain(cell: Any) -> Any:
    """A scalar as a Python object; arrays unchanged."""
    array = np.asarray(cell)
    return array.item() if not array.ndim else array


def _frame_cells(batch: Any, name: str) -> Cells:
    return [None if cell is None else cell for cell in batch[name].tolist()]


def _frame_with(batch: Any, made: Columns) -> Any:
    import pandas

    new = {name: pandas.Series(_series(cells), index=batch.index) for name, cells in made.items()}
    return batch.assign(**new)


def _series(cells: Cells) -> Any:
    if all(cell is not None and not np.ndim(cell) for cell in cells) and cells:
        return stacked(cells)
    found = np.empty(len(cells), object)
    found[:] = [None if cell is None else _plain(cell) for cell in cells]
    return found


def _arrow_cells(batch: Any, name: str) -> Cells:
    import pyarrow

    found = batch.column(name).combine_chunks()
    if pyarrow.types.is_list(found.type) and not pyarrow.types.is_nested(found.type.value_type):
        return _list_cells(found)
    return list(found.to_pylist())


def _list_cells(found: Any) -> Cells:
    """The cells of a column of numeric lists, without a Python object for each number."""
    values = found.values.to_numpy(zero_copy_only=False)
    offsets = found.offsets.to_numpy()
    valid = found.is_valid().to_numpy(zero_copy_only=False)
    bounds = zip(offsets[:-1].tolist(), offsets[1:].tolist(), valid.tolist(), strict=True)
    return [values[start:end] if is_there else None for start, end, is_there in bounds]


def _arrow_with(batch: Any, made: Columns) -> Any:
    import pyarrow

    for name, cells in made.items():
        array = _arrow_array(pyarrow, cells)
        number = batch.schema.get_field_index(name)
        batch = (
            batch.append_column(name, array)
            if number < 0
            else batch.set_column(number, name, array)
        )
    return batch


def _arrow_array(pyarrow: Any, cells: Cells) -> Any:
    first = next((np.asarray(cell) for cell in cells if cell is not None), None)
    if first is None:
        return pyarrow.nulls(len(cells))
    if first.dtype.kind in "OU" or first.ndim > 1:
        return pyarrow.array([None if c is None else np.asarray(c).tolist() for c in cells])
    element = pyarrow.from_numpy_dtype(first.dtype)
    if not first.ndim:
        values = [None if cell is None else np.asarray(cell).item() for cell in cells]
        return pyarrow.array(values, element)
    return pyarrow.array(cells, pyarrow.list_(element))


_KINDS = (
    TableKind(
        _is_of("pandas", "DataFrame"), lambda batch: list(batch.columns), _frame_cells,
        _frame_with, len,
    ),
    TableKind(
        _is_of("pyarrow", "Table"), lambda batch: list(batch.column_names), _arrow_cells,
        _arrow_with, lambda batch: int(batch.num_rows),
    ),
    TableKind(
        lambda batch: isinstance(batch, Mapping), lambda batch: list(batch), _dict_cells,
        _dict_with, _dict_rows,
    ),
)  # fmt: skip

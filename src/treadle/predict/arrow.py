"""Columns of Arrow tables, read and written without a Python object for each row.

pyarrow is imported only where such a batch comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.errors import InputError
from treadle.predict.columns import (
    Column,
    Loose,
    Ragged,
    Stacked,
    Texts,
    cells_of,
    column_of,
    ragged,
)

_LARGE = 2**31 - 1
"""The greatest offset of Arrow's usual lists."""


def read_arrow(chunked: Any) -> Column:
    """The cells of a column: numbers, and lists of numbers to any depth, as arrays."""
    import pyarrow

    array = chunked.combine_chunks() if isinstance(chunked, pyarrow.ChunkedArray) else chunked
    found = _read(pyarrow, array)
    return column_of(array.to_pylist()) if found is None else found


def _read(pyarrow: Any, array: Any) -> Column | None:
    types, type_ = pyarrow.types, array.type
    nulls = np.flatnonzero(~array.is_valid().to_numpy(zero_copy_only=False))
    if types.is_floating(type_):
        return Stacked(array.to_numpy(zero_copy_only=False), nulls)
    if types.is_integer(type_) or types.is_boolean(type_):
        zero = False if types.is_boolean(type_) else 0
        filled = array.fill_null(zero) if array.null_count else array
        return Stacked(filled.to_numpy(zero_copy_only=False), nulls)
    if types.is_fixed_size_list(type_):
        size = type_.list_size
        values = _elements(pyarrow, array.values.slice(array.offset * size, len(array) * size))
        if values is None:
            return None
        return Stacked(values.reshape(len(array), size, *values.shape[1:]), nulls)
    if types.is_list(type_) or types.is_large_list(type_):
        values, offsets = _elements(pyarrow, array.values), array.offsets.to_numpy()
        if values is None:
            return None
        return _even(values, offsets.astype(np.int64), nulls)
    return None


def _elements(pyarrow: Any, array: Any) -> np.ndarray | None:
    """What lists hold, as one array; None if inner lists have different lengths, or nulls."""
    if array.null_count and not pyarrow.types.is_floating(array.type):
        return None
    found = _read(pyarrow, array)
    return found.values if isinstance(found, Stacked) else None


def _even(values: np.ndarray, offsets: np.ndarray, nulls: np.ndarray) -> Column:
    """Lists between offsets: stacked if all have one length."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    if len(lengths) and (lengths == lengths[0]).all():
        chosen = values[offsets[0] : offsets[-1]]
        return Stacked(chosen.reshape(len(lengths), lengths[0], *values.shape[1:]), nulls)
    return Ragged(values, starts, lengths, nulls)


def write_arrow(column: Column | Texts) -> Any:
    """A column of a table: numbers or lists of them; null where a cell is."""
    import pyarrow

    if isinstance(column, Texts):
        return pyarrow.array(column.array(), pyarrow.string())
    if isinstance(column, Loose):
        return _loose(pyarrow, column)
    if column.values.dtype.kind in "OSU":
        return _loose(pyarrow, Loose(cells_of(column)))
    if isinstance(column, Stacked):
        return _stacked(pyarrow, column.values, column.nulls)
    return _lists(pyarrow, column, _stacked(pyarrow, column.values, np.empty(0, np.int64)))


def _stacked(pyarrow: Any, values: np.ndarray, nulls: np.ndarray) -> Any:
    """Cells of one shape: numbers, or lists in lists for each axis."""
    if values.ndim > 1:
        count, length = values.shape[:2]
        inner = _stacked(pyarrow, values.reshape(-1, *values.shape[2:]), np.empty(0, np.int64))
        return _lists(pyarrow, ragged(values, np.full(count, length), nulls), inner)
    mask = None
    if len(nulls):
        mask = np.zeros(len(values), bool)
        mask[nulls] = True
    return pyarrow.array(_known(pyarrow, values), mask=mask)


def _known(pyarrow: Any, values: np.ndarray) -> np.ndarray:
    """The values in a dtype that Arrow has: floats of 8 bits and bfloat16 become float32."""
    try:
        pyarrow.from_numpy_dtype(values.dtype)
    except pyarrow.ArrowNotImplementedError:
        if values.dtype.kind == "c":
            raise InputError(f"Arrow has no type for an output of {values.dtype}") from None
        return values.astype(np.float32)
    return values


def _lists(pyarrow: Any, cells: Ragged, elements: Any) -> Any:
    """Lists of these lengths over their elements, which lie one behind the other."""
    offsets = np.append(cells.starts, len(elements))
    large = offsets[-1] > _LARGE
    kind = pyarrow.LargeListArray if large else pyarrow.ListArray
    made = pyarrow.array(offsets.astype(np.int64 if large else np.int32))
    mask = np.zeros(len(cells.lengths), bool)
    mask[cells.nulls] = True
    return kind.from_arrays(made, elements, mask=pyarrow.array(mask) if len(cells.nulls) else None)


def _loose(pyarrow: Any, column: Loose) -> Any:
    cells = [None if cell is None else _of_cell(pyarrow, cell) for cell in column.cells]
    first = next((cell for cell in cells if cell is not None), None)
    if first is None:
        return pyarrow.nulls(len(cells))
    if not isinstance(first, np.ndarray) or first.ndim > 1 or first.dtype.kind in "OSU":
        return pyarrow.array([c.tolist() if isinstance(c, np.ndarray) else c for c in cells])
    element = pyarrow.from_numpy_dtype(first.dtype)
    if first.ndim:
        return pyarrow.array(cells, pyarrow.list_(element))
    return pyarrow.array([None if cell is None else cell.item() for cell in cells], element)


def _of_cell(pyarrow: Any, cell: Any) -> Any:
    """A cell as an array; a sequence, or a tensor of strings, as Python objects."""
    if isinstance(cell, list | tuple):
        return [np.asarray(item).tolist() for item in cell]
    array = np.asarray(cell)
    return array if array.dtype.kind in "OSU" else _known(pyarrow, array)

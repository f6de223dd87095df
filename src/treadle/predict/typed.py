"""Converts columns to the types of inputs, whole columns at a time where every number fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treadle.errors import InputError
from treadle.feeds import convert
from treadle.ir import DType, Tensor, Type, show_shape
from treadle.predict.columns import Column, Loose, Stacked, cells_of, nulls_of

Failed = dict[int, str]
"""The numbers of the rows that failed, with the reason."""


@dataclass(frozen=True, slots=True)
class InputKind:
    """The type that a cell of an input must have: a dtype, and a rank without the batch axis.

    None means any. `batched` is true if the input has a batch axis.
    """

    name: str
    dtype: DType | None
    rank: int | None
    batched: bool


def input_kind(name: str, type_: Type | None, rank: int | None, axis: int | None) -> InputKind:
    """The kind of an input of this type and rank, with this batch axis."""
    dtype = type_.dtype if isinstance(type_, Tensor) else None
    batched = axis is not None
    return InputKind(name, dtype, None if rank is None else rank - batched, batched)


def typed_columns(
    columns: Mapping[str, Column], kinds: Mapping[str, InputKind]
) -> tuple[dict[str, Column], Failed]:
    """The columns with the dtypes of their inputs, and the rows whose cells are not valid.

    The first input that a row does not fit gives its reason; dtypes come before ranks.
    """
    failed: Failed = {}
    made = {name: _typed(column, kinds[name], failed) for name, column in columns.items()}
    for name, column in made.items():
        _expect_rank(column, kinds[name], failed)
    return made, failed


def _typed(column: Column, kind: InputKind, failed: Failed) -> Column:
    if not isinstance(column, Loose):
        values = _converted(column.values, kind.dtype)
        if values is not None:
            for row in column.nulls.tolist():
                failed.setdefault(row, _null(kind))
            return replace(column, values=values)
    return Loose([_cell(cell, kind, k, failed) for k, cell in enumerate(cells_of(column))])


def _null(kind: InputKind) -> str:
    return f'the cell for the input "{kind.name}" is null'


def _cell(cell: Any, kind: InputKind, row: int, failed: Failed) -> np.ndarray | None:
    if cell is None:
        failed.setdefault(row, _null(kind))
        return None
    try:
        return _array(cell, kind.dtype)
    except InputError as error:
        failed.setdefault(row, f'the cell for the input "{kind.name}": {error}')
        return None


def _array(cell: Any, dtype: DType | None) -> np.ndarray:
    """A cell as an array of the dtype: floats are rounded to it, other numbers must fit."""
    try:
        array = np.asarray(cell)
    except ValueError:
        raise InputError("its lists are not equally long or deep") from None
    if dtype is None or array.dtype == dtype.numpy != np.dtype(object):
        return array
    if array.dtype.kind == dtype.numpy.kind == "f":
        return _rounded(array, dtype.numpy)
    made = convert(array.tolist(), Tensor(dtype, None))
    assert isinstance(made, np.ndarray), "a tensor is an array"
    return made


def _rounded(array: np.ndarray, wanted: np.dtype[Any]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(wanted)


def _converted(values: np.ndarray, dtype: DType | None) -> np.ndarray | None:
    """All numbers of a column in a dtype; None if some may not fit, which each cell then says."""
    if dtype is None or values.dtype == dtype.numpy:
        return values
    found, wanted = values.dtype.kind, dtype.numpy.kind
    if found == wanted == "f":
        return _rounded(values, dtype.numpy)
    if found not in "biu" or wanted not in "iuf":
        return None
    with np.errstate(all="ignore"):
        made = values.astype(dtype.numpy)
        same = (made.astype(values.dtype) == values).all() and ((made < 0) == (values < 0)).all()
    return made if same else None


def _expect_rank(column: Column, kind: InputKind, failed: Failed) -> None:
    """Note the rows whose cells have another rank than the input wants of one row."""
    if kind.rank is None or _rank(column) == kind.rank:
        return
    for row, cell in enumerate(cells_of(column)):
        if cell is not None and np.ndim(cell) != kind.rank:
            without = " without the batch" if kind.batched else ""
            failed.setdefault(
                row,
                f'a cell for the input "{kind.name}" has the shape {show_shape(np.shape(cell))},'
                f" wanted {kind.rank} axes: those of the input{without}",
            )


def _rank(column: Column) -> int | None:
    """The rank of every cell; None if cells may differ."""
    if isinstance(column, Loose):
        return None
    return column.values.ndim - isinstance(column, Stacked)


def living(count: int, failed: Failed, columns: Mapping[str, Column]) -> np.ndarray:
    """Which rows can run: bool[count]."""
    alive = np.ones(count, bool)
    alive[list(failed)] = False
    for column in columns.values():
        alive[nulls_of(column)] = False
    return alive

"""Columns of Arrow tables, read and written: numbers, lists to any depth, nulls, slices."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from treadle.errors import InputError
from treadle.predict.arrow import read_arrow, write_arrow
from treadle.predict.columns import Loose, Ragged, Stacked, Texts, cells_of

pyarrow = pytest.importorskip("pyarrow")


def listed(cells: Any) -> list[Any]:
    plain = (np.ndarray, np.generic)
    return [cell.tolist() if isinstance(cell, plain) else cell for cell in cells]


COLUMNS = {
    "floats with a null": (pyarrow.float32(), [0.5, None, 2.0], Stacked),
    "integers with a null": (pyarrow.int64(), [1, None, 3], Stacked),
    "booleans": (pyarrow.bool_(), [True, False, None], Stacked),
    "lists of one length": (pyarrow.list_(pyarrow.int8()), [[1, 2], [3, 4]], Stacked),
    "lists of several lengths": (pyarrow.list_(pyarrow.float64()), [[1.0], [], [2.0, 3.0]], Ragged),
    "large lists": (pyarrow.large_list(pyarrow.int64()), [[1], [2, 3]], Ragged),
    "lists of a fixed size": (pyarrow.list_(pyarrow.int32(), 2), [[1, 2], [3, 4]], Stacked),
    "lists of a fixed size with uneven lists in them": (
        pyarrow.list_(pyarrow.list_(pyarrow.int32()), 2), [[[1], [2, 3]], [[4], [5]]], Loose,
    ),
    "lists of lists": (
        pyarrow.list_(pyarrow.list_(pyarrow.int32())), [[[1, 2]], [[3, 4]]], Stacked,
    ),
    "lists of uneven lists": (
        pyarrow.list_(pyarrow.list_(pyarrow.int32())), [[[1, 2], [3]], [[4]]], Loose,
    ),
    "lists that hold nulls": (pyarrow.list_(pyarrow.int32()), [[1, None], [2, 3]], Loose),
    "texts": (pyarrow.string(), ["a", None, "b"], Loose),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_read(name: str) -> None:
    type_, cells, kind = COLUMNS[name]
    array = pyarrow.array(cells, type_)
    column = read_arrow(array)
    assert isinstance(column, kind)
    if None not in cells:
        assert listed(cells_of(column)) == cells
    else:
        assert [cell is None for cell in cells_of(column)] == [cell is None for cell in cells]
    assert len(cells_of(read_arrow(array.slice(1)))) == len(cells) - 1
    assert listed(cells_of(read_arrow(array.slice(1)))) == listed(cells_of(column))[1:]


def test_chunks_are_one_column() -> None:
    chunked = pyarrow.chunked_array([[1.0, 2.0], [3.0]])
    assert listed(cells_of(read_arrow(chunked))) == [1.0, 2.0, 3.0]


WRITTEN = {
    "numbers": (Stacked(np.float32([1, 2])), pyarrow.float32(), [1.0, 2.0]),
    "numbers with a null": (
        Stacked(np.int64([1, 2]), np.array([0])), pyarrow.int64(), [None, 2],
    ),
    "matrices": (
        Stacked(np.arange(4, dtype=np.int32).reshape(2, 2, 1)),
        pyarrow.list_(pyarrow.list_(pyarrow.int32())), [[[0], [1]], [[2], [3]]],
    ),
    "lists with a null": (
        Ragged(np.float64([1, 2, 3]), np.array([0, 1]), np.array([1, 2]), np.array([0])),
        pyarrow.list_(pyarrow.float64()), [None, [2.0, 3.0]],
    ),
    "bfloat16 as float32": (
        Stacked(np.array([1.5, 2], ml_dtypes.bfloat16)), pyarrow.float32(), [1.5, 2.0],
    ),
    "messages": (Texts(3, {1: "why"}), pyarrow.string(), [None, "why", None]),
    "no messages": (Texts(2, {}), pyarrow.string(), [None, None]),
    "only nulls": (Loose([None, None]), pyarrow.null(), [None, None]),
    "numbers of their own": (
        Loose([np.float32(1), None, np.float32(2)]), pyarrow.float32(), [1.0, None, 2.0],
    ),
    "vectors of their own": (
        Loose([np.int64([1]), None, np.int64([2, 3])]), pyarrow.list_(pyarrow.int64()),
        [[1], None, [2, 3]],
    ),
    "matrices of their own": (
        Loose([np.int64([[1]]), np.int64([[2, 3]])]),
        pyarrow.list_(pyarrow.list_(pyarrow.int64())), [[[1]], [[2, 3]]],
    ),
    "sequences": (
        Loose([[np.int64([1, 2])], []]), pyarrow.list_(pyarrow.list_(pyarrow.int64())),
        [[[1, 2]], []],
    ),
    "texts": (Stacked(np.array(["a", "b"], object)), pyarrow.string(), ["a", "b"]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_a_column_is_written(name: str) -> None:
    column, type_, cells = WRITTEN[name]
    array = write_arrow(column)
    assert array.type == type_
    assert array.to_pylist() == cells


def test_complex_numbers_have_no_type_in_arrow() -> None:
    with pytest.raises(InputError, match="Arrow has no type for an output of complex64"):
        write_arrow(Stacked(np.complex64([1j])))

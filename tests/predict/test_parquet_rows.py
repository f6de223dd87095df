"""Rows of a Parquet file in parts: the right ones, and each decoded once."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treadle.predict.parquet_rows import ParquetRows

ROWS = 1_000
TABLE = pa.table({"x": np.arange(ROWS), "words": [str(n) for n in range(ROWS)]})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "rows.parquet"
    pq.write_table(TABLE, file, row_group_size=300)
    return file


@pytest.mark.parametrize("size", [1, 7, 100, 300, 450, 1_000, 2_000])
def test_parts_are_the_rows_of_the_file(size: int, path: Path) -> None:
    reader = ParquetRows.of(path, size)
    for start in range(0, ROWS, size):
        assert reader.read(start, size).equals(TABLE.slice(start, size))


def test_parts_in_any_order(path: Path, rng: np.random.Generator) -> None:
    reader = ParquetRows.of(path, 64)
    for start, count in rng.integers(0, ROWS, (60, 2)):
        assert reader.read(int(start), int(count)).equals(TABLE.slice(start, count))


def test_rows_are_decoded_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ParquetRows.of(path, 10)
    began: list[list[int]] = []

    def batches(size: int, row_groups: list[int]) -> Any:
        began.append(row_groups)
        return pq.ParquetFile(path).iter_batches(size, row_groups=row_groups)

    monkeypatch.setattr(reader, "_file", _File(TABLE.schema, batches))
    for start in (*range(0, 200, 20), 920, 960):
        reader.read(start, 20)
    assert began == [[0, 1, 2, 3], [3]]


class _File:
    def __init__(self, schema: pa.Schema, batches: Any) -> None:
        self.schema_arrow, self.iter_batches = schema, batches


def test_a_file_without_rows(tmp_path: Path) -> None:
    pq.write_table(TABLE.slice(0, 0), tmp_path / "none.parquet")
    assert ParquetRows.of(tmp_path / "none.parquet", 10).read(0, 10).equals(TABLE.slice(0, 0))

"""Rows of a Parquet file, read forwards."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import Any


class ParquetRows:
    """Reads parts of a file; one that lies behind the last goes on where that ended.

    Row groups may have a million rows: a part that began its group anew would decode what the
    parts before have decoded.
    """

    def __init__(self, file: Any, batch: int) -> None:
        groups = range(file.metadata.num_row_groups)
        sizes = [file.metadata.row_group(number).num_rows for number in groups]
        self._file, self._batch = file, max(1, batch)
        self._starts = [0, *accumulate(sizes)][:-1]
        self._batches: Any = None
        self._rest: Any = None
        self._position = 0

    @classmethod
    def of(cls, path: Path, batch: int) -> ParquetRows:
        """The rows of a file, decoded `batch` at a time."""
        import pyarrow.parquet

        return cls(pyarrow.parquet.ParquetFile(path), batch)

    def read(self, start: int, count: int) -> Any:
        """At most `count` rows from `start` on, as a pyarrow.Table."""
        import pyarrow

        self._seek(start)
        taken: list[Any] = []
        while count:
            batch = self._rest or next(self._batches, None)
            if batch is None:
                break
            low = min(start - self._position, batch.num_rows)
            found = batch.slice(low, count)
            taken.append(found)
            used = low + found.num_rows
            self._rest = batch.slice(used) if used < batch.num_rows else None
            self._position += used
            start, count = start + found.num_rows, count - found.num_rows
        return pyarrow.Table.from_batches(taken, schema=self._file.schema_arrow)

    def _seek(self, start: int) -> None:
        """Begin at the row group of `start`, unless reading on gets there with less work."""
        group = max(0, bisect_right(self._starts, start) - 1)
        first = self._starts[group] if self._starts else 0
        if self._batches is not None and first <= self._position <= start:
            return
        groups = range(group, len(self._starts))
        self._batches = self._file.iter_batches(self._batch, row_groups=list(groups))
        self._rest, self._position = None, first

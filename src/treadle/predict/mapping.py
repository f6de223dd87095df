"""Runs a Predictor over a Parquet file, in several processes; an interrupt loses little work.

    input.parquet -> batches of rows -> a part file each, by any worker -> output.parquet, in order

The parts are kept in OUTPUT.parts until all are written. A file there records their model, input
and settings; `resume` reuses parts whose record is the same.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treadle.errors import ConfigurationError, DataError, InputError, RunError
from treadle.predict.parquet_rows import ParquetRows
from treadle.predict.predictor import Predictor

Advance = Callable[[int, int], None]
"""Called with the number of finished rows and the number of all rows."""

_MADE_OF = "made_of.json"
_SUFFIX = ".parquet"


@dataclass(frozen=True, slots=True)
class Mapped:
    """The outcome: rows in all, failed rows, and rows finished by an earlier call."""

    rows: int
    failed: int
    resumed: int


def map_parquet(
    predictor: Predictor,
    source: Path,
    target: Path,
    *,
    workers: int = 1,
    rows_of_part: int = 65_536,
    resume: bool = False,
    advance: Advance | None = None,
) -> Mapped:
    """Write the rows of a Parquet file with the outputs of a model, in the same order.

    Each of the `workers` processes has the predictor and reads the rows of one part at a time. The
    output appears when all parts are done; an interrupt leaves the parts for `resume`. Raises
    DataError for a file that is not Parquet, InputError if the output exists, and the predictor's
    own errors.
    """
    parquet = _parquet()
    try:
        rows = parquet.ParquetFile(source).metadata.num_rows
    except (OSError, ValueError) as error:
        raise DataError(f"{source} is not a readable Parquet file: {error}") from None
    if target.suffix != _SUFFIX:
        raise InputError(f'"{target}" must end in {_SUFFIX}')
    folder = target.with_name(f"{target.name}.parts")
    made_of = _made_of(predictor, source, rows_of_part)
    _prepare_folder(folder, made_of, resume=resume)
    starts = [*range(0, rows, rows_of_part)] or [0]
    parts = {start: folder / f"{start:015d}{_SUFFIX}" for start in starts}
    missing = [start for start, path in parts.items() if not path.exists()]
    resumed = rows - sum(min(rows_of_part, rows - start) for start in missing)
    done = resumed
    if advance is not None:
        advance(done, rows)
    for start in _worked(predictor, source, parts, missing, rows_of_part, workers):
        done += min(rows_of_part, rows - start)
        if advance is not None:
            advance(done, rows)
    failed = _join(parquet, list(parts.values()), target)
    shutil.rmtree(folder)
    return Mapped(rows, failed, resumed)


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ConfigurationError(
            "Parquet files need pyarrow: pip install 'treadle[data]'"
        ) from None
    return pyarrow.parquet


def _made_of(predictor: Predictor, source: Path, rows_of_part: int) -> str:
    """The record of everything that decides the content of the parts."""
    found = source.stat()
    settings = predictor.describe()
    words = {
        "input": [str(source.resolve()), found.st_size, found.st_mtime_ns],
        "rows": rows_of_part,
        "predictor": hashlib.sha256(settings.encode()).hexdigest(),
    }
    return json.dumps(words, indent=1)


def _prepare_folder(folder: Path, made_of: str, *, resume: bool) -> None:
    marker = folder / _MADE_OF
    if resume and folder.exists():
        if marker.exists() and marker.read_text(encoding="utf-8") == made_of:
            return
        raise InputError(
            f"{folder} holds parts of another model, input or settings; leave out --resume to "
            "start again"
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    marker.write_text(made_of, encoding="utf-8")


def _worked(
    predictor: Predictor,
    source: Path,
    parts: Mapping[int, Path],
    missing: list[int],
    rows_of_part: int,
    workers: int,
) -> Iterator[int]:
    """Yield the start of each part when it is finished."""
    if workers == 1 or len(missing) < 2:
        reader = ParquetRows.of(source, rows_of_part)
        for start in missing:
            _work(predictor, reader, parts[start], start, rows_of_part)
            yield start
        return
    context = multiprocessing.get_context("spawn")
    given = (predictor, source, rows_of_part)
    with ProcessPoolExecutor(workers, context, _begin_worker, given) as pool:
        waiting: dict[Future[None], int] = {}
        queue = iter(missing)
        try:
            while True:
                for start in queue:
                    waiting[pool.submit(_work_here, parts[start], start)] = start
                    if len(waiting) >= 2 * workers:
                        break
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    future.result()
                    yield waiting.pop(future)
        except BrokenProcessPool:
            raise RunError(
                "a worker ended before its rows were done, perhaps for lack of memory; --resume "
                "continues where it stopped, --rows gives each worker fewer rows at a time"
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_worker: list[tuple[Predictor, ParquetRows, int]] = []


def _begin_worker(predictor: Predictor, source: Path, rows_of_part: int) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent reports Ctrl-C
    _worker[:] = [(predictor, ParquetRows.of(source, rows_of_part), rows_of_part)]


def _work_here(part: Path, start: int) -> None:
    predictor, reader, rows_of_part = _worker[0]
    _work(predictor, reader, part, start, rows_of_part)


def _work(predictor: Predictor, reader: ParquetRows, part: Path, start: int, rows: int) -> None:
    """Write one part, completely or not at all."""
    parquet = _parquet()
    table = predictor(reader.read(start, rows))
    unfinished = part.with_suffix(f".{os.getpid()}")
    parquet.write_table(table, unfinished)
    os.replace(unfinished, part)


def _join(parquet: Any, parts: list[Path], target: Path) -> int:
    """Write the parts one after the other into the output; returns the number of failed rows."""
    import pyarrow

    schema = pyarrow.unify_schemas(
        [parquet.read_schema(part) for part in parts], promote_options="permissive"
    )
    unfinished, failed = target.with_name(f"{target.name}.{os.getpid()}"), 0
    try:
        with parquet.ParquetWriter(unfinished, schema) as writer:
            for part in parts:
                table = parquet.read_table(part)
                if "error" in table.column_names:
                    failed += table.num_rows - table.column("error").null_count
                writer.write_table(_as(table, schema))
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
    return failed


def _as(table: Any, schema: Any) -> Any:
    """The table with the columns of a schema, nulls for missing ones."""
    import pyarrow

    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pyarrow.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pyarrow.table(columns, schema=schema)

"""Writes recorded values to an .npz file, completely or not at all."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from treadle.errors import InputError
from treadle.tracing.columns import Column


def write_npz(path: str, columns: Iterable[Column]) -> None:
    """Write the columns: `PATH/NAME`, iterations first, and `PATH/NAME@at`."""
    target = Path(path)
    try:
        handle, draft = tempfile.mkstemp(".npz", dir=target.parent)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for key, array in _entries(columns):
                with archive.open(f"{key}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
        Path(draft).replace(target)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _entries(columns: Iterable[Column]) -> Iterator[tuple[str, np.ndarray]]:
    for column in columns:
        key, rows = f"{column.path}/{column.name}", column.rows()
        if rows is not None:
            yield key, _plain(rows)
        else:
            for number, value in enumerate(column.made):
                yield from _of(f"{key}[{number}]", value)
        yield f"{key}@at", column.at


def _of(key: str, value: object) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _of(f"{key}[{number}]", item)
    elif value is None:
        yield f"{key}()", np.empty(0)
    else:
        yield key, _plain(np.asarray(value))


def _plain(array: np.ndarray) -> np.ndarray:
    return array.astype(str) if array.dtype == object else array

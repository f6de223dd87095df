"""Reads the arrays of .npz and .npy files, and writes .npz files completely or not at all.

A file may be a stranger's: pickles are not read, and an archive that unpacks to far more than it
holds is refused.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from treadle.errors import InputError, LoadLimitExceeded
from treadle.files import replaced_file
from treadle.limits import spend
from treadle.tracing.columns import Column

_ALWAYS_UNPACKED = 2**28
_USUAL_RATIO = 200
Content = TypeVar("Content")


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by key; raises InputError if it is none, or damaged."""
    return _read(path, _arrays)


def read_npy(path: Path) -> np.ndarray:
    """The array of an .npy file; raises InputError if it is none, or damaged."""
    array = _read(path, lambda file: np.load(file, allow_pickle=False))
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} is not an .npy file; give an .npz file with --input")
    return array


def _arrays(file: IO[bytes]) -> dict[str, np.ndarray]:
    if not zipfile.is_zipfile(file):
        raise InputError(f"{file.name} is not an .npz file; numpy.savez writes one")
    _expect_to_fit(file)
    with np.load(file, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f'its entry "{key}" is not an array')  # noqa: TRY004  told as of the file
    return arrays


def _expect_to_fit(file: IO[bytes]) -> None:
    """Raise LoadLimitExceeded or ValueError if the archive unpacks to far more than its size."""
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
    unpacked = sum(each.file_size for each in entries)
    packed = sum(each.compress_size for each in entries)
    spend(unpacked, "an archive")
    if unpacked > max(_ALWAYS_UNPACKED, _USUAL_RATIO * packed):
        raise ValueError(
            f"it unpacks to {unpacked} bytes, {_USUAL_RATIO} times what it holds and more;"
            " write it with numpy.savez, which does not compress"
        )
    file.seek(0)


def _read(path: Path, read: Callable[[IO[bytes]], Content]) -> Content:
    """Read a file; raises InputError if it is damaged."""
    if path.exists() and not path.is_file():  # a pipe waits, and a device may have no end
        raise InputError(f"{path} is not a regular file")
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of odd headers, which it reads anyway
            return read(file)
    except (MemoryError, LoadLimitExceeded, InputError):
        raise
    except Exception as error:  # noqa: BLE001  border: numpy and zipfile raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path} cannot be read: {reason}") from None


def write_npz(path: str, columns: Iterable[Column]) -> None:
    """Write the columns: `PATH/NAME`, iterations first, and `PATH/NAME@at`."""
    target = Path(path)
    try:
        with replaced_file(target) as draft, zipfile.ZipFile(draft, "w") as archive:
            for key, array in _entries(columns):
                with archive.open(f"{key}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


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

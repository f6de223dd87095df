"""Values in .npz files, one key each.

A tensor is the key `name`; a sequence is `name[0]`, `name[1]`, ..., an empty one `name[]`; an
absent optional is `name()`. Strings are stored as text (`<U`), types unknown to numpy (bfloat16,
float8, int4 ...) as raw bytes, whose dtype the reader must know. A file with both inputs and
outputs uses the keys `in:name` and `out:name`.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click
import numpy as np

from treadle.errors import InputError
from treadle.ir import DType, Sequence, Tensor, Type, dtype_of
from treadle.tracing import read_npy, read_npz

_ITEM = re.compile(r"^(?P<name>.*)(?P<kind>\[(?P<index>\d{0,18})\]|\(\))$", re.DOTALL)
Content = TypeVar("Content")


def read_archive(path: Path, prefix: str) -> dict[str, object]:
    """The values of an .npz file by name; only those with the prefix, if a key has it."""
    arrays = _read(path, read_npz)
    if any(key.startswith(prefix) for key in arrays):
        arrays = {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
    return _values(arrays)


def read_array(path: Path) -> np.ndarray:
    """The array of an .npy file."""
    return _read(path, read_npy)


def _read(path: Path, read: Callable[[Path], Content]) -> Content:
    """Read a file; raises UsageError if it is damaged."""
    try:
        return read(path)
    except InputError as error:
        raise click.UsageError(str(error)) from None


def write_archive(path: Path, values: Mapping[str, object]) -> None:
    """Write the values to an .npz file; raises InputError for a pipe or a device."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file")
    arrays: dict[str, np.ndarray] = {}
    for name, value in values.items():
        arrays |= _keys(name, value)
    # not np.savez: its own argument names could clash with names of values
    with zipfile.ZipFile(path, "w") as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def as_type(value: object, type_: Type | None) -> object:
    """View a value read from a file as raw bytes with the dtype of the type."""
    if isinstance(value, list):
        element = type_.element if isinstance(type_, Sequence) else None
        return [as_type(item, element) for item in value]
    if not isinstance(value, np.ndarray) or value.dtype.kind != "V":
        return value
    dtype = type_.dtype if isinstance(type_, Tensor) else None
    fits = dtype is not None and dtype.numpy.itemsize == value.dtype.itemsize
    return value.view(dtype.numpy) if dtype is not None and fits else value


def like(value: object, model: object) -> object:
    """View a value read from a file as raw bytes with the dtypes of a similar value."""
    if isinstance(value, list) and isinstance(model, list):
        return [like(item, other) for item, other in zip(value, model, strict=False)] + value[
            len(model) :
        ]
    if isinstance(model, np.ndarray):
        return as_type(value, Tensor(dtype_of(model.dtype)))
    return value


def _values(arrays: Mapping[str, np.ndarray]) -> dict[str, object]:
    values: dict[str, object] = {}
    items: dict[str, dict[int, np.ndarray]] = {}
    for key, array in arrays.items():
        match = _ITEM.match(key)
        if match is None:
            values[key] = array
        elif match["index"]:
            items.setdefault(match["name"], {})[int(match["index"])] = array
        else:
            values[match["name"]] = None if match["kind"] == "()" else []
    values |= {name: [found[k] for k in sorted(found)] for name, found in items.items()}
    return values


def _keys(name: str, value: object) -> dict[str, np.ndarray]:
    if value is None:
        return {f"{name}()": np.empty(0)}
    if isinstance(value, list):
        found = {} if value else {f"{name}[]": np.empty(0)}
        for position, item in enumerate(value):
            found |= _keys(f"{name}[{position}]", item)
        return found
    array = np.asarray(value)
    return {name: array.astype(str) if dtype_of(array.dtype) is DType.STRING else array}

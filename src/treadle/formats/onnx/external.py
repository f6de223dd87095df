"""External data: read, or memory-mapped if long, and only from inside the model's own folder.

The rules of the standard (docs/ExternalData.md): `location` is relative to the model file, `offset`
and `length` are in bytes. A path that is absolute, climbs out by "..", or is a link to outside is
refused. A hard link in the folder to a file elsewhere is read: it cannot be distinguished from
other files.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx

from treadle import ops
from treadle.errors import DataError
from treadle.formats.file_content import content_of
from treadle.ir import DType, Literal, show_shape
from treadle.limits import spend


@dataclass(slots=True)
class Folder:
    """The folder of a model file and the data files opened in it; None for a model in memory.

    `supplied` are initializers given by the caller, by name, which replace the file's.
    """

    path: Path | None
    files: dict[str, np.ndarray] = field(default_factory=dict)
    supplied: Mapping[str, Literal] = field(default_factory=dict)

    def open(self, location: str) -> np.ndarray:
        """The bytes of the file at the location, read or mapped once."""
        if location not in self.files:
            self.files[location] = _content(self.resolve(location), location)
        return self.files[location]

    def resolve(self, location: str) -> Path:
        """The file that a location names; raises DataError if it is not safe to open."""
        if self.path is None:
            raise DataError(
                f'its data are in the file "{location}", and a model given as bytes has no folder;'
                " load it by its path"
            )
        relative = Path(location)
        try:
            root = self.path.resolve()
            target = (root / relative).resolve()
            is_file = target.is_file()
        except (OSError, RuntimeError, ValueError) as error:  # a NUL, a loop of links, too long
            reason = f"the location of its data, {location[:80]!r}, is not a path: {error}"
            raise DataError(reason) from None
        climbs = Path(os.path.normpath(location)).parts[:1] == ("..",)
        if not location or climbs or relative.is_absolute() or not target.is_relative_to(root):
            raise DataError(
                f'its data are in "{location}", outside the folder of the model, and'
                " only files inside it are read; move the file there"
            )
        if not is_file:
            raise DataError(f'its data file "{location}" is missing from {root}')
        return target


def _content(path: Path, location: str) -> np.ndarray:
    try:
        return content_of(path)
    except OSError as error:
        raise DataError(f'its data file "{location}" cannot be read: {error.strerror}') from error


def read_tensor(tensor: onnx.TensorProto, folder: Folder) -> Literal:
    """The literal of a tensor, its data mapped if they are external; raises DataError."""
    if not ops.is_external(tensor):
        return ops.tensor_from_proto(tensor)
    dtype = ops.element_from_proto(tensor.data_type)
    if dtype is None or dtype is DType.STRING:
        raise DataError(f"elements of type {dtype or tensor.data_type} cannot be external")
    where = {entry.key: entry.value for entry in tensor.external_data}
    shape = tuple(tensor.dims)
    spend(-(-math.prod(shape) * dtype.bits // 8), f'the tensor "{tensor.name}"')
    data = _window(folder.open(where.get("location", "")), where, dtype, shape)
    literal = ops.tensor_from_proto(tensor, ops.array_from_bytes(data, dtype, shape, tensor.name))
    assert literal.external is not None
    return replace(literal, external=replace(literal.external, folder=str(folder.path)))


def _window(
    data: np.ndarray, where: dict[str, str], dtype: DType, shape: tuple[int, ...]
) -> np.ndarray:
    wanted = -(-math.prod(shape) * dtype.bits // 8)
    try:
        offset = int(where.get("offset") or 0)
        length = int(where.get("length") or wanted)
    except ValueError as error:
        raise DataError(f"offset and length must be whole numbers, found {where}") from error
    if length != wanted:
        raise DataError(f"{wanted} bytes are wanted for {dtype}{show_shape(shape)}, found {length}")
    if offset < 0 or offset + length > data.size:
        raise DataError(
            f'bytes {offset} to {offset + length} are wanted, "{where["location"]}" has {data.size}'
        )
    return data[offset : offset + length]

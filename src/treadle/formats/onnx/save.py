"""Writes a model to a file: binary or text by the suffix, with external data beside it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from treadle.errors import InputError, Unsupported
from treadle.files import replaced_file
from treadle.formats.data_files import copy_data_files, expect_no_data_file
from treadle.formats.onnx.dense import without_sparse
from treadle.formats.onnx.text import print_text
from treadle.formats.onnx.write import write_model
from treadle.ir import Model

_LARGEST = 2**31 - 1
_TEXT = ".onnxtxt"


def save(model: Model, path: Path) -> None:
    """Write the model; external data files are copied if the target folder differs.

    The file is replaced at once, so a reader never sees half of it. Raises InputError for a path
    that cannot be written.
    """
    try:
        _save(model, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f'"{path}" cannot be written: {reason}') from None


def _save(model: Model, path: Path) -> None:
    if not path.name or path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    is_text = path.suffix == _TEXT
    expect_no_data_file(model, path)
    proto = write_model(without_sparse(model) if is_text else model)
    if not is_text and proto.ByteSize() > _LARGEST:
        raise Unsupported("the model", None, "over 2 GiB without external data", str(path))
    copy_data_files(model, path)
    _replace(path, print_text(proto).encode() if is_text else proto.SerializeToString())


def _replace(path: Path, data: bytes) -> None:
    with replaced_file(path) as draft:
        draft.write_bytes(data)

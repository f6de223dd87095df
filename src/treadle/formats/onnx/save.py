"""Writes a model to a file: binary or text by the suffix, with external data beside it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from treadle.errors import InputError, Unsupported
from treadle.files import replaced_file
from treadle.formats.onnx.dense import without_sparse
from treadle.formats.onnx.text import print_text
from treadle.formats.onnx.write import write_model
from treadle.ir import External, Literal, Model, SparseArray, walk

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
    is_text = path.suffix == _TEXT
    proto = write_model(without_sparse(model) if is_text else model)
    if is_text:
        _replace(path, print_text(proto).encode())
    else:
        if proto.ByteSize() > _LARGEST:
            raise Unsupported("the model", None, "over 2 GiB without external data", str(path))
        _replace(path, proto.SerializeToString())
    for external in _externals(model):
        _bring(external, path.parent)


def _replace(path: Path, data: bytes) -> None:
    if not path.name or path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    with replaced_file(path) as draft:
        draft.write_bytes(data)


def _externals(model: Model) -> Iterator[External]:
    blocks = [model.main, *(function.block for function in model.functions.values())]
    literals: list[Literal | SparseArray] = []
    seen = set(blocks)
    for visit in walk(model):
        if visit.block not in seen:
            seen.add(visit.block)
            blocks.append(visit.block)
        literals += [
            a.value
            for a in getattr(visit.step, "attributes", {}).values()
            if isinstance(a.value, Literal)
        ]
    literals += [constant.data for block in blocks for constant in block.constants]
    found = (data.external for data in literals if isinstance(data, Literal))
    yield from {(e.folder, e.location): e for e in found if e is not None}.values()


def _bring(external: External, folder: Path) -> None:
    source, target = Path(external.folder) / external.location, folder / external.location
    if target.exists() and target.samefile(source):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)

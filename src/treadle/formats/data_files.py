"""The files that hold tensors of a model: which they are, and copies of them beside a saved model.

A file is only written where nothing else is lost: not over the model being saved, not over the data
that it is saved from, and not over other data of the same name.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from treadle.errors import InputError
from treadle.files import replaced_file
from treadle.ir import External, Literal, Model, SparseArray, walk

_EMBED = "save the model with external_data=False, or in another folder"


def expect_no_data_file(model: Model, path: Path) -> None:
    """Raise InputError if a file to write is one from which tensors of the model are read."""
    if any(_is_same(path, _source(external)) for external in _externals(model)):
        reason = "tensors of the model are read from this file; save it under another name"
        raise InputError(f'"{path}" cannot be written: {reason}')


def copy_data_files(model: Model, path: Path) -> None:
    """Copy the external data of a model to where the model saved at a path will look for them.

    A file that is already there stays. Raises InputError if something else would be lost.
    """
    sources: dict[Path, Path] = {}
    for external in _externals(model):
        source = _source(external)
        target = path.parent / os.path.normpath(external.location)
        _expect_free(source, target, path)
        if not _is_same(source, sources.setdefault(target, source)):
            raise InputError(
                f'"{path}" cannot be written: tensors of the model are read from two files named'
                f' "{external.location}"; save the model with external_data=False'
            )
    for target, source in sources.items():
        if not _is_same(source, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with replaced_file(target) as draft:
                shutil.copyfile(source, draft)


def _expect_free(source: Path, target: Path, path: Path) -> None:
    if not source.is_file():
        raise InputError(
            f'"{path}" cannot be written: the data file "{source}" is gone; save the model with'
            " external_data=False"
        )
    if _is_same(path, target):
        reason = "tensors of the model belong in a file of this name; save it under another name"
        raise InputError(f'"{path}" cannot be written: {reason}')
    if _is_same(source, target) or not target.exists() or path.exists():
        return
    if not target.is_file() or not filecmp.cmp(source, target, shallow=False):
        raise InputError(f'"{path}" cannot be written: "{target}" holds other data; {_EMBED}')


def _source(external: External) -> Path:
    return Path(external.folder) / external.location


def _is_same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


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

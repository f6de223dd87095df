"""Finds models by files, folders, globs and `-`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import click

from treadle.cli.options import Piped, piped_model

__all__ = ["SUFFIXES", "Target", "targets_of"]

SUFFIXES = (".onnx", ".onnxtxt", ".xml")
"""The suffixes of models in a folder; an .xml counts only if it is OpenVINO IR."""
_HEAD = 1024


@dataclass(frozen=True, slots=True)
class Target:
    """One model: its source, its name in messages, and its path below --output-dir."""

    source: Path | Piped
    name: str
    relative: Path


def targets_of(words: Sequence[str], exclude: Sequence[str] = ()) -> list[Target]:
    """Every model once, in order; raises UsageError for missing files and an empty selection.

    `exclude`: globs over the names of files found in folders and by globs.
    """
    found: dict[str, Target] = {}
    for word in words:
        for target in _of_word(word, exclude):
            found.setdefault(target.name, target)
    if not found:
        raise click.UsageError(f"no model in {', '.join(words)}: no {', '.join(SUFFIXES)} file")
    return list(found.values())


def _of_word(word: str, exclude: Sequence[str]) -> Iterator[Target]:
    path = Path(word)
    if word == "-":
        yield Target(piped_model(), "standard input", Path("model.onnx"))
    elif path.is_dir():
        yield from (_of(file, path) for file in _below(path) if not _is_excluded(file, exclude))
    elif path.exists():
        yield _of(path, path.parent)
    elif glob.has_magic(word):
        yield from _of_glob(word, exclude)
    else:
        raise click.UsageError(f"File '{word}' does not exist.")


def _of_glob(word: str, exclude: Sequence[str]) -> Iterator[Target]:
    root = Path(*_plain_parts(Path(word)))
    for name in sorted(glob.glob(word, recursive=True)):
        file = Path(name)
        if file.is_file() and not _is_excluded(file, exclude):
            yield _of(file, root)


def _plain_parts(path: Path) -> Iterator[str]:
    """The folders before the first part that is a pattern."""
    for part in path.parts:
        if glob.has_magic(part):
            return
        yield part


def _below(folder: Path) -> Iterator[Path]:
    """The models in a folder and its subfolders, except hidden ones; no pipes or devices."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(root, name)
            if file.suffix in SUFFIXES and file.is_file() and _may_be_model(file):
                yield file


def _may_be_model(file: Path) -> bool:
    """Whether it is OpenVINO IR, if it is an .xml."""
    if file.suffix != ".xml":
        return True
    with file.open("rb") as opened:
        return b"<net" in opened.read(_HEAD)


def _is_excluded(file: Path, exclude: Sequence[str]) -> bool:
    name = file.as_posix()
    return any(fnmatch(name, glob_) or fnmatch(file.name, glob_) for glob_ in exclude)


def _of(file: Path, root: Path) -> Target:
    return Target(file, file.as_posix(), file.relative_to(root))

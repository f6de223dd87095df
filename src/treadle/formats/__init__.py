"""Files in, files out: `read` closes a source into a Model, `write` makes a file of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treadle.errors import Finding, InputError, Unsupported
from treadle.formats import onnx
from treadle.formats.onnx import schema_function
from treadle.ir import Model

__all__ = ["locate", "onnx", "read", "schema_function", "write"]


def read(source: object) -> tuple[Model | None, list[Finding]]:
    """The closed model of any source, or None, with what reading it brought to light."""
    return onnx.read(source)


def locate(source: object, findings: Sequence[Finding], model: Model) -> list[Finding]:
    """The findings on a model of this source, with line and column where it is a text."""
    return onnx.locate(source, findings, model.functions)


def write(model: Model, path: str | Path) -> None:
    """Write the model; the suffix says the format: .onnx or .onnxtxt."""
    target = Path(path)
    if not _is_path(target):
        raise InputError(f"{str(target)!r} is no path that a file can have")
    if target.suffix not in (".onnx", ".onnxtxt"):
        raise Unsupported(
            f'the suffix "{target.suffix}"',
            None,
            "models are written as .onnx or .onnxtxt",
            str(path),
        )
    onnx.save(model, target)


def _is_path(path: Path) -> bool:
    """Whether a file system can have it: no NUL, no lone surrogate that stands for no byte."""
    try:
        return b"\0" not in bytes(path)
    except UnicodeEncodeError:
        return False

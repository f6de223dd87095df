"""File formats: `read` loads a source as a closed Model, `write` writes a Model to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from treadle.arguments import path_text
from treadle.boundary import is_debugging
from treadle.errors import Finding, InputError, Unsupported
from treadle.formats import onnx
from treadle.formats.onnx import schema_function
from treadle.ir import Leaf, Model, expanded_size, verify, walk
from treadle.limits import expect_size, spend

__all__ = ["lacks_layer", "locate", "onnx", "read", "schema_function", "write"]

_XML = ("<?xml", "<net", "<!DOCTYPE")


def read(
    source: object, *, broken: bool = False, supplied: onnx.Supplied | None = None
) -> tuple[Model | None, list[Finding]]:
    """Read any source; returns the closed model, or None, and the findings.

    A path that ends in .xml, or a text that is XML, is OpenVINO IR, everything else ONNX. `broken`:
    return an ONNX model that cannot be closed too, for checks only. `supplied` replaces parts of an
    ONNX model. Bytes that begin like a text are read as text.
    """
    if isinstance(source, bytes | bytearray) or _is_text(source):
        spend(len(source), "the source")
    model, findings = _read(_text_or_same(source), broken=broken, supplied=supplied)
    if model is not None:
        if is_debugging():
            verify(model, "the reader")
        nodes, depth = expanded_size(model)
        expect_size(sum(1 for _ in walk(model)) if model.functions else nodes, depth)
    return model, findings


def _read(
    source: object, *, broken: bool, supplied: onnx.Supplied | None
) -> tuple[Model | None, list[Finding]]:
    is_file = isinstance(source, str | os.PathLike) and path_text(source, "the source").endswith(
        ".xml"
    )
    if not is_file and not _is_xml(source):
        return onnx.read(source, broken=broken, supplied=supplied)
    if supplied is not None:
        raise InputError("initializers and extents of dims can be given for ONNX files only")
    from treadle.formats import openvino  # its tables are slow to build, and few callers need them

    if _is_xml(source):
        return openvino.read_text(source)
    assert isinstance(source, str | os.PathLike)
    return openvino.read(os.fspath(source))


def _text_or_same(source: object) -> object:
    """The text in bytes that hold one (no ModelProto begins with "<"); other sources unchanged."""
    if not isinstance(source, bytes) or not source.lstrip().startswith(b"<"):
        return source
    try:
        return source.decode()
    except UnicodeDecodeError:
        return source


def _is_text(source: object) -> TypeGuard[str]:
    """Whether a str is a model in ONNX's text form or XML, and not a path."""
    return isinstance(source, str) and source.lstrip().startswith("<")


def _is_xml(source: object) -> TypeGuard[str]:
    return isinstance(source, str) and source.lstrip().startswith(_XML)


def locate(source: object, findings: Sequence[Finding], model: Model) -> list[Finding]:
    """The findings on a model of this source, with line and column if it is a text."""
    given = _text_or_same(source)
    return list(findings) if _is_xml(given) else onnx.locate(given, findings, model.functions)


def write(model: Model, path: str | Path, *, external: bool = True) -> None:
    """Write the model; the suffix selects the format: .onnx, .onnxtxt, or .xml for OpenVINO IR.

    `external=False`: external tensors are copied into the model itself.
    """
    target = Path(path)
    if not _is_path(target):
        raise InputError(f"{str(target)!r} is not a valid path")
    if target.suffix == ".xml":
        from treadle.formats import openvino

        openvino.save(model, target)
        return
    if target.suffix not in (".onnx", ".onnxtxt"):
        raise Unsupported(
            f'the suffix "{target.suffix}"',
            None,
            "models are written as .onnx, .onnxtxt or .xml",
            str(path),
        )
    onnx.save(model if external else onnx.inline_external(model), target)


def lacks_layer(leaf: Leaf) -> bool:
    """Whether OpenVINO IR has no layer for an operator, which then needs its definition."""
    from treadle.formats import openvino

    return openvino.lacks(leaf)


def _is_path(path: Path) -> bool:
    """Whether a file system can have the path: no NUL, no lone surrogate without a byte."""
    try:
        return b"\0" not in bytes(path)
    except UnicodeEncodeError:
        return False

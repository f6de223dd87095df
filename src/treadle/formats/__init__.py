"""Files in, files out: `read` closes a source into a Model, `write` makes a file of one."""

from __future__ import annotations

import os
from pathlib import Path

from treadle.errors import Finding, Unsupported
from treadle.formats import onnx, openvino
from treadle.formats.onnx import schema_function
from treadle.ir import Model

__all__ = ["onnx", "openvino", "read", "schema_function", "write"]


def read(source: object) -> tuple[Model | None, list[Finding]]:
    """The closed model of any source, or None, with what reading it brought to light.

    A path that ends in .xml is OpenVINO IR, everything else ONNX.
    """
    if isinstance(source, str | os.PathLike) and _is_openvino(str(source)):
        return openvino.read(os.fspath(source))
    return onnx.read(source)


def _is_openvino(source: str) -> bool:
    return source.endswith(".xml") and "\n" not in source


def write(model: Model, path: str | Path, *, external: bool = True) -> None:
    """Write the model; the suffix says the format: .onnx or .onnxtxt.

    `external=False`: tensors that lie in another file are written into the model itself.
    """
    target = Path(path)
    if target.suffix not in (".onnx", ".onnxtxt"):
        raise Unsupported(
            f'the suffix "{target.suffix}"',
            None,
            "models are written as .onnx or .onnxtxt",
            str(path),
        )
    onnx.save(model if external else onnx.inline_external(model), target)

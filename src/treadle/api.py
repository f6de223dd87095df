"""The functions of `treadle`: each a few lines over the rooms."""

from __future__ import annotations

import os
from typing import Any

from treadle import checks, formats, passes
from treadle import infer as inference
from treadle.errors import DataError, Finding, LoadError
from treadle.ir import Model
from treadle.single import Operator

__all__ = ["check", "infer", "load", "operator", "save"]


def load(source: object) -> Model:
    """Load a model from whatever holds one.

    `source`: a path (.onnx, .onnxtxt, OpenVINO's .xml), bytes, a text model (with a line break), a
    ModelProto, an onnx_ir.Model or an onnxscript function. Bodies are closed and names resolved.
    Raises LoadError, with every finding, where that cannot be done; what a check merely complains
    of stops nothing.
    """
    model, findings = formats.read(source)
    if model is not None:
        return model
    blocking = [found for found in findings if found.blocks]
    error = DataError if all(found.code == "CF002" for found in blocking) else LoadError
    raise error("the model cannot be loaded:", blocking)


def save(model: Model, path: str | os.PathLike[str], *, external_data: bool = True) -> None:
    """Write the model, as ONNX: .onnx is lossless, .onnxtxt keeps what onnx's text form keeps.

    Loops of OpenVINO that ONNX has no form for are rewritten first. `external_data=False` brings
    tensors that lie in another file into this one.
    """
    formats.write(passes.to_onnx_loops(model), os.fspath(path), external=external_data)


def check(source: object) -> list[Finding]:
    """Everything that is wrong with a model, or may be; never raises for a bad one."""
    if isinstance(source, Model):
        return checks.check(source)
    model, findings = formats.read(source)
    return findings if model is None else [*findings, *checks.check(model)]


def infer(source: object) -> Model:
    """The model with a type on every value, those of bodies included.

    A body's declared shapes are claims, not facts: a carried value that changes its shape gets a
    dim of None there, whatever the file declares. Raises LoadError as `load` does.
    """
    return inference.infer(source if isinstance(source, Model) else load(source))


def operator(
    source: object, opset: int | None = None, domain: str = "", **attributes: Any
) -> Operator:
    """One operator as a callable: a name, a NodeProto, a FunctionProto or an onnxscript function.

        treadle.operator("Softmax", opset=13, axis=0)(x)

    Raises Unsupported for a name the opset does not have, InvalidModel for a node that is wrong.
    """
    return Operator(source, opset, domain, **attributes)

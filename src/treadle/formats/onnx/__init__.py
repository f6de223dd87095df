"""ONNX files: binary, text, protos and objects of other libraries, to and from a Model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treadle.checks import finding
from treadle.errors import Finding, LoadError
from treadle.formats.onnx.dense import without_sparse
from treadle.formats.onnx.external import Folder
from treadle.formats.onnx.functions import schema_function
from treadle.formats.onnx.inline_external_data import has_external, inline_external, inline_step
from treadle.formats.onnx.read import identity, read_model
from treadle.formats.onnx.reference import reference_run
from treadle.formats.onnx.save import save
from treadle.formats.onnx.single_node import (
    function_id,
    input_names,
    named,
    opsets_of,
    parameters_of,
    proto_of,
    read_alone,
)
from treadle.formats.onnx.source import NoModel, open_source, text_of
from treadle.formats.onnx.source_locations import located
from treadle.formats.onnx.supplied import Supplied
from treadle.formats.onnx.text import print_text
from treadle.formats.onnx.write import write_function, write_model
from treadle.ir import FunctionId, Model

__all__ = [
    "Supplied",
    "function_id",
    "has_external",
    "inline_external",
    "inline_step",
    "input_names",
    "locate",
    "named",
    "opsets_of",
    "parameters_of",
    "proto_of",
    "read",
    "read_alone",
    "reference_run",
    "save",
    "schema_function",
    "to_bytes",
    "to_text",
    "write_function",
    "write_model",
]


def read(
    source: object, *, broken: bool = False, supplied: Supplied | None = None
) -> tuple[Model | None, list[Finding]]:
    """Read a source; returns the closed model and the findings; never raises for a faulty one.

    `source`: a path, bytes, a text model, a ModelProto, an onnx_ir.Model or an onnxscript function.
    The model is None if it cannot be read or closed; `broken`: for checks, return it all the same.
    """
    try:
        opened = open_source(source)
    except NoModel as reason:
        return None, locate(source, [finding("CF001", "", str(reason))])
    proto, folder = opened.proto, Folder(opened.folder)
    if supplied is not None:
        proto = supplied.with_extents(proto)
        folder = Folder(opened.folder, supplied.data(), supplied.literals(proto))
    try:
        model, findings = read_model(proto, folder, broken=broken)
    except LoadError as problem:  # objects without a path of their own: a declaration, a default
        return None, locate(source, [finding("CF001", "", str(problem))])
    return model, locate(source, findings, map(identity, proto.functions))


def locate(
    source: object, findings: Sequence[Finding], functions: Iterable[FunctionId] = ()
) -> list[Finding]:
    """The findings with line and column if the source is a text model.

    `functions` are those of the model, in the order of the file.
    """
    text = text_of(source) if findings else None
    return list(findings) if text is None else located(text, list(map(str, functions)), findings)


def to_bytes(model: Model, *, unique_names: bool = False) -> bytes:
    """Serialize the model as one ONNX file without external data."""
    proto = write_model(model, unique_names=unique_names, external=False)
    return bytes(proto.SerializeToString())


def to_text(model: Model) -> str:
    """Print the model in onnx's text form."""
    return print_text(write_model(without_sparse(model)))

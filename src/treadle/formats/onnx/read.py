"""Closes a ModelProto into a Model, and collects the findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import onnx

from treadle import ops
from treadle.errors import Finding, LoadError
from treadle.formats.onnx.attribute_graphs import graphs_of
from treadle.formats.onnx.external import Folder
from treadle.formats.onnx.formalities import report_formalities
from treadle.formats.onnx.graph import read_body, read_graph
from treadle.formats.onnx.names import normal_domain
from treadle.formats.onnx.read_context import ReadContext
from treadle.formats.onnx.scope import Scope
from treadle.formats.onnx.unknown_fields import known_fields, leftover, metadata_of
from treadle.ir import Attribute, Function, FunctionId, Model

_MODEL = known_fields(onnx.ModelProto, "training_info", "configuration")
_FUNCTION = known_fields(onnx.FunctionProto)
_STILL_CLOSED = {"CF104", "CF701", "CF702", "CF703"}
"""Rules that stop a session but do not prevent closing the model."""


def read_model(
    proto: onnx.ModelProto, folder: Folder | None = None, *, broken: bool = False
) -> tuple[Model | None, list[Finding]]:
    """Close the model; returns it, or None, and the findings.

    `broken`: a model that cannot be closed is returned too, for checks: undefined values are absent
    in it, and control flow with wrong counts is a Leaf. The findings then include the formal ones.
    """
    findings: list[Finding] = []
    opsets = _opsets(proto.opset_import)
    functions = frozenset(map(identity, proto.functions))
    reading = ReadContext(
        folder or Folder(None), proto.ir_version, opsets, functions, findings, read_body
    )
    _check_versions(reading, proto.ir_version, opsets)
    main = read_graph(reading, proto.graph, Scope("main", findings))
    model = Model(
        main,
        {identity(function): read_function(reading, function) for function in proto.functions},
        opsets,
        proto.ir_version,
        proto.producer_name,
        proto.producer_version,
        proto.domain,
        proto.model_version if proto.HasField("model_version") else None,
        proto.doc_string,
        metadata_of(proto),
        _kept("model", leftover(proto, _MODEL)),
    )
    if broken:
        report_formalities(reading, proto)
    open_ends = {found.code for found in findings if found.blocks} - _STILL_CLOSED
    is_given = broken and not any(code.startswith("CF0") for code in open_ends)
    return (model if not open_ends or is_given else None), findings


def read_function(
    reading: ReadContext, proto: onnx.FunctionProto, *, free: bool = False
) -> Function:
    """Close the function over its inputs.

    `free`: undefined names become additional params, after the declared ones, as the bodies
    inserted by schema functions need.
    """
    named = identity(proto)
    opsets = _opsets(proto.opset_import) or dict(reading.opsets)
    inner = replace(reading, opsets=opsets)
    declared = {info.name: info for info in proto.value_info}
    graph = onnx.GraphProto(name=proto.name, node=proto.node)
    graph.input.extend(declared.pop(n, onnx.ValueInfoProto(name=n)) for n in proto.input)
    graph.output.extend(onnx.ValueInfoProto(name=n) for n in proto.output)
    graph.value_info.extend(declared.values())
    scope = Scope(str(named), reading.findings, open=free)
    block = read_graph(inner, graph, scope)
    block = replace(block, params=(*block.params, *scope.free.values()), claims=())
    return Function(
        named,
        block,
        tuple(proto.attribute),
        _defaults(reading, proto, str(named)),
        opsets,
        proto.doc_string,
        metadata_of(proto),
        _kept("function", leftover(proto, _FUNCTION)),
    )


def _defaults(reading: ReadContext, proto: onnx.FunctionProto, path: str) -> dict[str, Attribute]:
    """The defaults of the attributes: no graphs, since references to graphs are not followed."""
    defaults = {}
    for attribute in proto.attribute_proto:
        if graphs_of(attribute):
            message = f'the default of the attribute "{attribute.name}" is a graph'
            hint = "write the graph into the nodes that refer to it"
            reading.report("CF206", path, message, hint)
            continue
        try:
            defaults[attribute.name] = ops.attribute_from_proto(attribute)
        except LoadError as problem:
            reading.report("CF002", path, f'attribute "{attribute.name}": {problem}')
    return defaults


def identity(proto: onnx.FunctionProto) -> FunctionId:
    """The identity of the function."""
    return FunctionId(normal_domain(proto.domain), proto.name, proto.overload)


def _opsets(imports: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {normal_domain(entry.domain): entry.version for entry in imports}


def _kept(name: str, rest: onnx.ModelProto | onnx.FunctionProto) -> dict[str, bytes]:
    return {name: rest.SerializeToString()} if rest.ByteSize() else {}


def _check_versions(reading: ReadContext, ir_version: int, opsets: Mapping[str, int]) -> None:
    if ir_version > onnx.IR_VERSION:
        reading.report(
            "CF003",
            "",
            f"the file has IR version {ir_version}, the newest that is read is {onnx.IR_VERSION}",
            "install a newer onnx, or export with an older IR version",
        )
    for domain, version in opsets.items():
        newest = ops.newest_opset(domain)
        if newest and version > newest:
            reading.report(
                "CF703",
                "",
                f"the file imports opset {version} of {domain or 'ai.onnx'}, the newest known is"
                f" {newest}",
                "install a newer onnx, or export with an older opset",
            )


def function_from_proto(
    proto: onnx.FunctionProto, opsets: Mapping[str, int], findings: list[Finding]
) -> Function:
    """Close a function from the standard's schemas; free names become params."""
    reading = ReadContext(Folder(None), onnx.IR_VERSION, opsets, frozenset(), findings, read_body)
    return read_function(reading, proto, free=True)

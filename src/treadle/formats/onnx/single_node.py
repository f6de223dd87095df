"""Reads a single node or function: wraps it in a model with an input for every name it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import onnx
import onnx.helper

from treadle import ops
from treadle.arguments import shown
from treadle.errors import Finding, InputTypeError
from treadle.formats.onnx.external import Folder
from treadle.formats.onnx.graph import read_body, read_graph
from treadle.formats.onnx.names import normal_domain
from treadle.formats.onnx.read import read_function
from treadle.formats.onnx.read_context import ReadContext
from treadle.formats.onnx.scope import Scope
from treadle.ir import FunctionId, Model

Proto = onnx.NodeProto | onnx.FunctionProto


def proto_of(source: object) -> Proto:
    """The NodeProto or FunctionProto of a source, which may be an onnxscript function.

    Raises InputTypeError for anything else.
    """
    to_proto = getattr(source, "to_function_proto", None)
    proto = to_proto() if callable(to_proto) else source
    if not isinstance(proto, Proto):
        raise InputTypeError(
            f"{shown(source)} is not an operator; give an operator's name, a"
            " NodeProto, a FunctionProto or an onnxscript function"
        )
    return proto


def named(
    op: str, domain: str, version: int, attributes: Mapping[str, Any], variadic: int = 1
) -> onnx.NodeProto:
    """A node of an operator with one value for each formal input of its schema.

    `variadic` is the number of values for a variadic input.
    """
    schema = ops.schema(domain, op, version)
    assert schema is not None
    inputs = [formal.name for formal in schema.inputs]
    inputs += [f"{inputs[-1]}_{k}" for k in range(1, variadic)]
    outputs = [formal.name for formal in schema.outputs if formal.option != "optional"]
    return onnx.helper.make_node(op, inputs, outputs or ["output"], domain=domain, **attributes)


def parameters_of(proto: Proto) -> tuple[str, ...] | None:
    """The attributes that a function accepts; None for a node, whose schema defines them."""
    if isinstance(proto, onnx.NodeProto):
        return None
    return (*proto.attribute, *(default.name for default in proto.attribute_proto))


def read_alone(
    proto: Proto, opsets: Mapping[str, int], attributes: Mapping[str, Any]
) -> tuple[Model, list[Finding]]:
    """A model of one step: its inputs are the names the node reads, captures last.

    `attributes` override the node's own; Python values or AttributeProtos.
    """
    findings: list[Finding] = []
    functions = {}
    reading = ReadContext(Folder(None), onnx.IR_VERSION, opsets, frozenset(), findings, read_body)
    node = proto
    if isinstance(proto, onnx.FunctionProto):
        function = read_function(reading, proto)
        functions[function.id] = function
        node = onnx.helper.make_node(
            proto.name, list(proto.input), list(proto.output), domain=proto.domain
        )
    assert isinstance(node, onnx.NodeProto)
    graph = onnx.GraphProto(name=node.op_type)
    graph.node.append(_overridden(node, attributes))
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    scope = Scope("main", findings, open=True)
    inner = ReadContext(
        Folder(None), onnx.IR_VERSION, opsets, frozenset(functions), findings, read_body
    )
    block = read_graph(inner, graph, scope)
    block = replace(block, params=tuple(scope.free.values()), claims=())
    return Model(block, functions, dict(opsets), onnx.IR_VERSION), findings


def _overridden(node: onnx.NodeProto, attributes: Mapping[str, Any]) -> onnx.NodeProto:
    if not attributes:
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    kept = [attribute for attribute in copy.attribute if attribute.name not in attributes]
    del copy.attribute[:]
    copy.attribute.extend(kept)
    for name, value in attributes.items():
        is_proto = isinstance(value, onnx.AttributeProto)
        made = value if is_proto else onnx.helper.make_attribute(name, value)
        copy.attribute.append(made)
    return copy


def input_names(proto: Proto) -> tuple[str, ...]:
    """The names of the inputs by position, "" for an absent one."""
    return tuple(proto.input)


def opsets_of(proto: Proto) -> dict[str, int]:
    """The opsets that a function imports; none for a node."""
    imports = proto.opset_import if isinstance(proto, onnx.FunctionProto) else ()
    return {normal_domain(entry.domain): entry.version for entry in imports}


def function_id(proto: Proto) -> FunctionId:
    """The domain, name and overload of the operator."""
    name = proto.op_type if isinstance(proto, onnx.NodeProto) else proto.name
    return FunctionId(normal_domain(proto.domain), name, proto.overload)

"""Closes a NodeProto into a Step: control flow by a table, functions a Call, the rest a Leaf."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import onnx

from treadle import ops
from treadle.errors import LoadError, nearest
from treadle.formats.onnx import branch, loop, scan
from treadle.formats.onnx.attribute_graphs import graphs_of
from treadle.formats.onnx.external import read_tensor
from treadle.formats.onnx.names import normal_domain
from treadle.formats.onnx.read_context import Body, Build, NodeContext, ReadContext, merged_captures
from treadle.formats.onnx.scope import MOST_HINTS, Scope
from treadle.formats.onnx.unknown_fields import known_fields, leftover, metadata_of
from treadle.ir import Attribute, Block, Call, FunctionId, Info, Kind, Leaf, Step, Value
from treadle.limits import poll

_CONTROL_FLOW: Mapping[tuple[str, str], tuple[Build, Callable[[onnx.NodeProto, int], int]]] = {
    ("", "If"): (branch.read, branch.body_input_count),
    ("", "Loop"): (loop.read, loop.body_input_count),
    ("", "Scan"): (scan.read, scan.given),
}
_UNKNOWN = ("device_configurations",)
_KNOWN = known_fields(onnx.NodeProto, *_UNKNOWN)
_DEFINED_ELSEWHERE = ("com.microsoft", "ai.onnx.contrib", "org.pytorch.aten")
"""Domains whose operators are defined by a runtime."""

_TENSORS = (onnx.AttributeProto.TENSOR, onnx.AttributeProto.TENSORS)


def read_node(
    reading: ReadContext,
    node: onnx.NodeProto,
    scope: Scope,
    path: str,
    result: Callable[[str], Value],
) -> Step:
    """Close one node; its results get their names in the scope."""
    poll()
    domain = normal_domain(node.domain)
    _, given = _CONTROL_FLOW.get((domain, node.op_type), (None, None))
    operands = tuple(scope.resolve(name, path) if name else None for name in node.input)
    bodies = _bodies(
        reading, node, scope, path, given(node, reading.opsets.get("", 1)) if given else None
    )
    attributes = _attributes(reading, node, path)
    version = _version(reading, node, domain, path)
    results = tuple(scope.define(result(name), path) if name else None for name in node.output)
    scope.later.difference_update(node.output)
    info = Info(
        node.name,
        node.doc_string,
        metadata_of(node),
        domain,
        node.op_type,
        version,
        node.overload,
        path,
        dict(attributes),
        _kept(node),
    )
    context = NodeContext(node, path, version, operands, results, attributes, bodies, info, reading)
    return _step(context, domain)


def _kept(node: onnx.NodeProto) -> bytes:
    """The parts that the IR cannot express; for a graph attribute its text."""
    given = [
        attribute for attribute in node.attribute if attribute.doc_string and graphs_of(attribute)
    ]
    if not given and not any(getattr(node, name) for name in _UNKNOWN):
        return b""
    rest = leftover(node, _KNOWN)
    for attribute in given:
        rest.attribute.add(name=attribute.name, doc_string=attribute.doc_string)
    return bytes(rest.SerializeToString())


def _step(context: NodeContext, domain: str) -> Step:
    function = FunctionId(domain, context.node.op_type, context.node.overload)
    if function in context.reading.functions:
        return _call(context, function, 0)
    build, _ = _CONTROL_FLOW.get((domain, context.node.op_type), (None, None))
    step = build(context) if build is not None else None
    if step is not None:
        return step
    schema = ops.schema(domain, context.node.op_type, context.version)
    if context.bodies and build is None and schema is not None and schema.is_function:
        return _call(context, function, context.version)
    captures, blocks = closed(context.bodies)
    return Leaf(
        domain,
        context.node.op_type,
        context.version,
        context.operands,
        context.results,
        context.attributes,
        blocks,
        captures,
        context.info,
    )


def _call(context: NodeContext, function: FunctionId, version: int) -> Call:
    captures, blocks = closed(context.bodies)
    return Call(
        function,
        context.operands,
        context.results,
        version,
        context.attributes,
        blocks,
        captures,
        context.info,
    )


def _bodies(
    reading: ReadContext, node: onnx.NodeProto, scope: Scope, path: str, given: int | None
) -> dict[str, Body]:
    bodies = {}
    if (node.domain, node.op_type) in ops.GENERATION:
        reading = replace(reading, apart=True)
    for attribute in node.attribute:
        for name, graph in graphs_of(attribute).items():
            count = len(graph.input) if given is None else given
            bodies[name] = reading.read_body(reading, graph, scope, f"{path}.{name}", count)
    return bodies


def _attributes(reading: ReadContext, node: onnx.NodeProto, path: str) -> dict[str, Attribute]:
    attributes = {}
    for proto in node.attribute:
        if graphs_of(proto):
            continue
        if proto.type == onnx.AttributeProto.GRAPH and not proto.ref_attr_name:
            message = f'the graph attribute "{proto.name}" holds no graph'
            reading.report("CF206", path, message, "give it one, or remove it")
            continue
        try:
            attributes[proto.name] = _attribute(reading, proto)
        except LoadError as problem:
            reading.report("CF002", path, f'attribute "{proto.name}": {problem}')
    return attributes


def _attribute(reading: ReadContext, proto: onnx.AttributeProto) -> Attribute:
    if proto.type not in _TENSORS or proto.ref_attr_name:
        return ops.attribute_from_proto(proto)
    if proto.type == onnx.AttributeProto.TENSOR:
        value = read_tensor(proto.t, reading.folder)
        return Attribute(proto.name, Kind.TENSOR, value, proto.doc_string)
    values = tuple(read_tensor(tensor, reading.folder) for tensor in proto.tensors)
    return Attribute(proto.name, Kind.TENSORS, values, proto.doc_string)


def _version(reading: ReadContext, node: onnx.NodeProto, domain: str, path: str) -> int:
    if FunctionId(domain, node.op_type, node.overload) in reading.functions:
        return 0
    opset = reading.opsets.get(domain)
    if opset is None:
        opset = _assumed_opset(reading, domain, path)
    if opset is None:
        return 0
    contrib = ops.contrib_operator(domain, node.op_type, opset)
    if not ops.newest_opset(domain):
        if contrib is None:
            _report_undefined(reading, node.op_type, domain, path)
        return opset if contrib is None else contrib.version
    version = ops.since_version(domain, node.op_type, opset)
    if version is not None:
        return version
    _report_unknown(reading, node.op_type, domain, opset, path, contrib)
    return opset if contrib is None else contrib.version


def _assumed_opset(reading: ReadContext, domain: str, path: str) -> int | None:
    """The opset onnxruntime assumes for a domain that is not imported; None if there is none."""
    opset = ops.assumed_opset(domain) if reading.opsets else None
    shown = domain or "ai.onnx"
    message = f'no opset of the domain "{shown}" is imported'
    if opset is not None:
        message += f", {opset} is assumed"
    hint = f'add opset_import {{domain: "{shown}" version: {opset or "..."}}} to the model'
    reading.report("CF702", path, message, hint, blocks=opset is None)
    return opset


_CUSTOM = (
    "register the library that implements it by SessionOptions.register_custom_ops_library, or "
    "add the missing function to the model"
)


def _report_undefined(reading: ReadContext, op: str, domain: str, path: str) -> None:
    if domain.startswith(_DEFINED_ELSEWHERE):
        return
    message = f'nothing here defines {op} of the domain "{domain}"'
    own = [function.name for function in reading.functions if function.domain == domain]
    close = _nearest(reading, op, own)
    hint = f"did you mean {close}?" if close else _CUSTOM
    reading.report("CF707", path, message, hint)


def _report_unknown(
    reading: ReadContext,
    op: str,
    domain: str,
    opset: int,
    path: str,
    contrib: ops.ContribOperator | None,
) -> None:
    if opset > ops.newest_opset(domain):
        return
    shown = domain or "ai.onnx"
    if contrib is not None:
        message = f"opset {opset} of {shown} has no operator {op}, only onnxruntime has it"
        hint = "other runtimes refuse the file; convert the model"
        reading.report("CF701", path, message, hint, blocks=False)
        return
    known = ops.known_operators(domain)
    close = _nearest(reading, op, known)
    if op in known:
        hint = f"{op} exists in other opsets; convert the model, or import an opset that has it"
    elif close:
        hint = f"did you mean {close}?"
    else:
        hint = "if it is a function of the model's own, its definition is missing"
    reading.report("CF701", path, f"opset {opset} of {shown} has no operator {op}", hint)


def _nearest(reading: ReadContext, op: str, known: Collection[str]) -> str | None:
    return None if len(reading.findings) > MOST_HINTS else nearest(op, known)


def closed(bodies: Mapping[str, Body]) -> tuple[tuple[Value, ...], dict[str, Block]]:
    """The captures of all bodies together, and each block with its params for them at the end."""
    if not bodies:
        return (), {}
    captures, params = merged_captures(list(bodies.values()))
    blocks = {
        name: replace(body.block, params=(*body.block.params, *own))
        for (name, body), own in zip(bodies.items(), params, strict=True)
    }
    return captures, blocks

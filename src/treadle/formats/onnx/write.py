"""Writes a Model as a ModelProto: every step by the table below."""

from __future__ import annotations

from dataclasses import replace

import onnx
from google.protobuf.message import DecodeError

from treadle import ops
from treadle.errors import Unsupported
from treadle.formats.onnx import branch, loop, scan
from treadle.formats.onnx.inline_external_data import inline_external
from treadle.formats.onnx.unknown_fields import write_metadata
from treadle.formats.onnx.value_info import write_claim
from treadle.formats.onnx.write_context import WriteContext, add_attributes
from treadle.ir import (
    Block,
    Branch,
    Call,
    Declaration,
    Function,
    Leaf,
    Loop,
    Model,
    Stacked,
    Step,
    Value,
    clone_with_new_values,
    domain_of,
    operator_of,
    ports,
    typed,
)

_TYPED_FUNCTIONS = 10
"""The IR version from which functions have value_info."""


def write_model(
    model: Model, *, unique_names: bool = False, external: bool = True
) -> onnx.ModelProto:
    """Write the ModelProto of a model.

    `unique_names`: no name is used twice in the whole model. `external=False`: external tensors are
    copied into the model.
    """
    try:
        return _write(model if external else inline_external(model), unique_names)
    except DecodeError:  # protobuf's error for messages nested too deeply to copy
        why = "its graphs are nested deeper than protobuf writes (about 30)"
        raise Unsupported("the model", None, why) from None


def _write(model: Model, unique_names: bool) -> onnx.ModelProto:
    proto = onnx.ModelProto(ir_version=model.ir_version)
    for field, value in (
        ("producer_name", model.producer),
        ("producer_version", model.producer_version),
        ("domain", model.domain),
        ("model_version", model.version),
        ("doc_string", model.doc),
    ):
        if value not in (None, ""):
            setattr(proto, field, value)
    for domain, version in model.opsets.items():
        proto.opset_import.add(domain=domain, version=version)
    proto.graph.CopyFrom(WriteContext(write_step, unique_names).graph(model.main))
    functions = list(model.functions.values())
    if model.ir_version < _TYPED_FUNCTIONS:
        functions = [replace(f, block=clone_with_new_values(f.block, _untyped)) for f in functions]
    proto.functions.extend(write_function(function, unique_names) for function in functions)
    write_metadata(model.metadata, proto)
    if "model" in model.kept:
        proto.MergeFromString(model.kept["model"])
    return proto


def write_function(function: Function, unique_names: bool = False) -> onnx.FunctionProto:
    """The FunctionProto of a model-local function."""
    writing = WriteContext(write_step, unique_names)
    graph = writing.graph(_without_constants(function.block))
    proto = onnx.FunctionProto(name=function.id.name, domain=function.id.domain)
    if function.id.overload:
        proto.overload = function.id.overload
    if function.doc:
        proto.doc_string = function.doc
    proto.input.extend(info.name for info in graph.input)
    proto.output.extend(info.name for info in graph.output)
    proto.attribute.extend(function.attributes)
    proto.attribute_proto.extend(map(ops.attribute_to_proto, function.defaults.values()))
    proto.node.extend(graph.node)
    proto.value_info.extend(_typed_ports(function.block, writing))
    proto.value_info.extend(graph.value_info)
    for domain, version in function.opsets.items():
        proto.opset_import.add(domain=domain, version=version)
    write_metadata(function.metadata, proto)
    if "function" in function.kept:
        proto.MergeFromString(function.kept["function"])
    return proto


def _typed_ports(block: Block, writing: WriteContext) -> list[onnx.ValueInfoProto]:
    # a graph declares the types of its results at its outputs, which a function lacks
    made = {value for step in block.steps for value in step.results if value is not None}
    results = [v for v in dict.fromkeys(block.results) if v in made and v.declared is None]
    return [
        write_claim(writing.names[v], Declaration(v.type, v.doc, v.metadata, v.kept))
        for v in (*block.params, *results)
        if v is not None and (v.type is not None or v.kept) and not (v in made and v.kept)
    ]


def _untyped(value: Value) -> Value:
    return typed(value, None)


def _without_constants(block: Block) -> Block:
    # a FunctionProto has no initializers: they become Constant nodes
    from treadle.ir import Attribute, Info, Kind, Literal

    if not block.constants:
        return block
    steps = []
    for constant in block.constants:
        sparse = not isinstance(constant.data, Literal)
        name, kind = ("sparse_value", Kind.SPARSE) if sparse else ("value", Kind.TENSOR)
        value = {name: Attribute(name, kind, constant.data)}
        info = Info(op="Constant")
        steps.append(Leaf("", "Constant", 11, (), (constant.value,), value, info=info))
    return replace(block, constants=(), steps=(*steps, *block.steps))


def write_step(writing: WriteContext, step: Step) -> onnx.NodeProto:
    """The node of a step."""
    match step:
        case Loop():
            return _loop(writing, step)
        case Branch():
            return branch.write(writing, step)
        case Leaf() | Call():
            return _leaf(writing, step)


def _leaf(writing: WriteContext, step: Leaf | Call) -> onnx.NodeProto:
    domain = domain_of(step)
    overload = "" if isinstance(step, Leaf) else step.function.overload
    info = step.info
    if (info.domain, info.overload) != (domain, overload):
        info = replace(info, domain=domain, overload=overload)
    node = writing.node(info, operator_of(step), step.operands, step.results)
    add_attributes(node, step.attributes)
    for name, block in step.blocks.items():
        own = len(block.params) - len(step.captures)
        captures = dict(zip(block.params[own:], step.captures, strict=True))
        writing.add_graph(node, name, writing.body(block, captures))
    return node


def _loop(writing: WriteContext, step: Loop) -> onnx.NodeProto:
    sliced = bool(ports(step).sliced)
    if not sliced and all(stack == Stacked() for stack in step.stacks):
        return loop.write(writing, step)
    if sliced and step.trip is None and step.condition is None and step.body.results[0] is None:
        return scan.write(writing, step)
    raise Unsupported(
        operator_of(step),
        None,
        "no ONNX operator both slices and stops early, or stacks along an axis without slicing",
        step.info.path,
    )

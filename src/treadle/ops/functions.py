"""The bodies of operators that the standard defines as functions of simpler ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto

from treadle.ir import Leaf, Type
from treadle.ops.proto import attribute_to_proto, leaf_to_proto
from treadle.ops.schema import canonical, newest_opset, onnx_schema, schema, since_version
from treadle.ops.type_protos import type_to_proto


def function_proto(
    leaf: Leaf, operand_types: Sequence[Type | None], opset: int | None = None
) -> FunctionProto | None:
    """The body of the leaf's operator at its version; None if it has none.

    `opset` is the version the body may be written for (the leaf's version by default). A body that
    depends on context may be rejected for unknown types; the result is then None.
    """
    return function_proto_of_node(leaf_to_proto(leaf), opset or leaf.version, operand_types)


def function_proto_of_node(
    node: NodeProto, opset: int, operand_types: Sequence[Type | None]
) -> FunctionProto | None:
    """The body of a node's operator at an opset; the node may carry graphs."""
    domain = canonical(node.domain)
    version = since_version(domain, node.op_type, opset)
    found = None if version is None else onnx_schema(domain, node.op_type, version)
    if version is None or found is None:
        return None
    made = _made(found, node, opset, operand_types)
    if not made:
        return None
    body = FunctionProto.FromString(made)
    if not _gives_all(body, node):
        return None
    _import_all(body)
    _give_types(body, found)
    _give_defaults(body, domain, node.op_type, version)
    return body


def _gives_all(body: FunctionProto, node: NodeProto) -> bool:
    """Whether the body makes the wanted outputs; builders stop early at odd attributes."""
    made = {*body.input, *(name for step in body.node for name in step.output)}
    pairs = zip(body.output, node.output, strict=False)
    return all(name in made for name, wanted in pairs if wanted)


def _give_types(body: FunctionProto, schema: Any) -> None:
    """Give references to the function's attributes their types, which onnx's builders leave out."""
    for node in body.node:
        for attribute in node.attribute:
            name = attribute.ref_attr_name
            if name in schema.attributes and attribute.type == AttributeProto.UNDEFINED:
                attribute.type = schema.attributes[name].type.value


def _made(
    found: Any, node: NodeProto, opset: int, operand_types: Sequence[Type | None]
) -> bytes | None:
    if found.has_function:
        opsets = found.function_opset_versions
        return bytes(found.get_function_with_opset_version(_fitting(opsets, opset)))
    if not found.has_context_dependent_function:
        return None
    opsets = found.context_dependent_function_opset_versions
    types = [type_to_proto(type_).SerializeToString() for type_ in operand_types]
    made = found.get_context_dependent_function_with_opset_version
    try:
        return bytes(made(_fitting(opsets, opset), node.SerializeToString(), types))
    except Exception:  # noqa: BLE001  border: the builders check little of what they read
        return None


def _fitting(opsets: Sequence[int], opset: int) -> int:
    return max((each for each in opsets if each <= opset), default=min(opsets))


def _import_all(body: FunctionProto) -> None:
    """Add the import of a domain that FlexAttention's body uses without importing it."""
    imported = {canonical(each.domain) for each in body.opset_import}
    for domain in sorted({canonical(node.domain) for node in body.node} - imported):
        body.opset_import.add(domain=domain, version=newest_opset(domain))


def _give_defaults(body: FunctionProto, domain: str, op: str, version: int) -> None:
    """Add the defaults of attributes, which onnx keeps in the schema, to the function."""
    found = schema(domain, op, version)
    assert found is not None
    defaults = {n: rule.default for n, rule in found.attributes.items() if rule.default is not None}
    present = {each.name for each in body.attribute_proto}
    for name in [name for name in body.attribute if name in defaults]:
        body.attribute.remove(name)
        if name not in present:
            body.attribute_proto.append(attribute_to_proto(defaults[name]))

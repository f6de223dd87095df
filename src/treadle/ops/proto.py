"""Leaves and attributes as onnx's NodeProto and AttributeProto.

Graph attributes are blocks of their step and handled by `formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from onnx import AttributeProto, NodeProto

from treadle.errors import LoadError
from treadle.ir import Attribute, Kind, Leaf, Reference
from treadle.ops.tensor_protos import (
    sparse_from_proto,
    sparse_to_proto,
    tensor_from_proto,
    tensor_to_proto,
)
from treadle.ops.type_protos import type_from_proto, type_to_proto


def _same(value: Any) -> Any:
    return value


# Kind: (AttributeProto.type, its field, one value to the field, one value from it)
_Codec = tuple[AttributeProto.AttributeType, str, Callable[[Any], Any], Callable[[Any], Any]]
_FIELDS: Mapping[Kind, _Codec] = {
    Kind.FLOAT: (AttributeProto.FLOAT, "f", float, float),
    Kind.INT: (AttributeProto.INT, "i", int, int),
    Kind.STRING: (AttributeProto.STRING, "s", _same, bytes),
    Kind.TENSOR: (AttributeProto.TENSOR, "t", tensor_to_proto, tensor_from_proto),
    Kind.SPARSE: (
        AttributeProto.SPARSE_TENSOR, "sparse_tensor", sparse_to_proto, sparse_from_proto,
    ),
    Kind.TYPE: (AttributeProto.TYPE_PROTO, "tp", type_to_proto, type_from_proto),
    Kind.FLOATS: (AttributeProto.FLOATS, "floats", float, float),
    Kind.INTS: (AttributeProto.INTS, "ints", int, int),
    Kind.STRINGS: (AttributeProto.STRINGS, "strings", _same, bytes),
    Kind.TENSORS: (AttributeProto.TENSORS, "tensors", tensor_to_proto, tensor_from_proto),
    Kind.SPARSES: (
        AttributeProto.SPARSE_TENSORS, "sparse_tensors", sparse_to_proto, sparse_from_proto,
    ),
    Kind.TYPES: (AttributeProto.TYPE_PROTOS, "type_protos", type_to_proto, type_from_proto),
    Kind.GRAPH: (AttributeProto.GRAPH, "g", _same, _same),
    Kind.GRAPHS: (AttributeProto.GRAPHS, "graphs", _same, _same),
}  # fmt: skip
_LISTS = {Kind.FLOATS, Kind.INTS, Kind.STRINGS, Kind.TENSORS, Kind.SPARSES, Kind.TYPES, Kind.GRAPHS}
_MESSAGES = {Kind.TENSOR, Kind.SPARSE, Kind.TYPE}
_GRAPHS = {Kind.GRAPH, Kind.GRAPHS}
_KIND_OF = {number: kind for kind, (number, *_) in _FIELDS.items()}


def attribute_kind(proto: AttributeProto) -> Kind:
    """The kind of an attribute; without a type (IR version 1), from the field it fills."""
    if proto.type in _KIND_OF:
        return _KIND_OF[proto.type]
    if proto.type != AttributeProto.UNDEFINED:
        raise LoadError(
            f"attribute {proto.name!r} is of type {proto.type}, which onnx does not have"
        )
    filled = {field.name for field, _ in proto.ListFields()}
    kinds = [kind for kind, (_, field, *_) in _FIELDS.items() if field in filled]
    if len(kinds) != 1:
        raise LoadError(f"attribute {proto.name!r} has neither a type nor a single value")
    return kinds[0]


def attribute_to_proto(attribute: Attribute) -> AttributeProto:
    """The AttributeProto of an attribute that holds no graph."""
    number, field, encode, _ = _FIELDS[attribute.kind]
    proto = AttributeProto(name=attribute.name)
    proto.type = number
    if attribute.doc:
        proto.doc_string = attribute.doc
    value = attribute.value
    if isinstance(value, Reference):
        proto.ref_attr_name = value.name
        return proto
    if attribute.kind in _GRAPHS:
        assert not value, f"graph attribute {attribute.name!r} must be a block"
    elif attribute.kind in _LISTS:
        assert isinstance(value, tuple)
        getattr(proto, field).extend([encode(item) for item in value])
    elif attribute.kind in _MESSAGES:
        if value is not None:
            getattr(proto, field).CopyFrom(encode(value))
    else:
        setattr(proto, field, encode(value))
    return proto


def attribute_from_proto(proto: AttributeProto) -> Attribute:
    """The attribute of an AttributeProto that holds no graph.

    A reference may have any kind; a missing graph, or an empty list of graphs, is None.
    """
    kind = attribute_kind(proto)
    if proto.ref_attr_name:
        return Attribute(proto.name, kind, Reference(proto.ref_attr_name), proto.doc_string)
    _, field, _, decode = _FIELDS[kind]
    value: Any
    if kind in _GRAPHS:
        return Attribute(proto.name, kind, None, proto.doc_string)
    if kind in _LISTS:
        value = tuple(decode(item) for item in getattr(proto, field))
    elif kind in _MESSAGES and not proto.HasField(field):
        value = None
    else:
        value = decode(getattr(proto, field))
    return Attribute(proto.name, kind, value, proto.doc_string)


def operand_names(leaf: Leaf) -> list[str]:
    """A name for each operand, by position; "" for one that is absent, as onnx writes it."""
    return _names("i", leaf.operands)


def result_names(leaf: Leaf) -> list[str]:
    """A name for each result, by position; "" for one that is absent."""
    return _names("o", leaf.results)


def leaf_to_proto(leaf: Leaf) -> NodeProto:
    """The NodeProto of a leaf without blocks, its values named by position: i0, i1 ..., o0 ..."""
    assert not leaf.blocks, f"{leaf.op} carries graphs; formats writes those"
    node = NodeProto(op_type=leaf.op, domain=leaf.domain)
    node.input.extend(operand_names(leaf))
    node.output.extend(result_names(leaf))
    node.attribute.extend(map(attribute_to_proto, leaf.attributes.values()))
    return node


def _names(prefix: str, values: Iterable[object | None]) -> list[str]:
    return ["" if v is None else f"{prefix}{k}" for k, v in enumerate(values)]

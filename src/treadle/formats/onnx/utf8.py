"""Checks that every string of a file is UTF-8: protobuf returns others as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import onnx

_TYPES = ("tensor_type", "sparse_tensor_type")
_WRAPPED = ("sequence_type", "optional_type")


def has_only_text(proto: onnx.ModelProto) -> bool:
    """Whether every name, operator, domain and comment of a model is valid text."""
    return set(map(type, _of_model(proto))) <= {str}


def _of_model(proto: onnx.ModelProto) -> list[object]:
    parts: list[object] = [
        proto.producer_name, proto.producer_version, proto.domain, proto.doc_string
    ]  # fmt: skip
    parts += _entries(proto.metadata_props)
    parts += (entry.domain for entry in proto.opset_import)
    pending = [proto.graph]
    for function in proto.functions:
        parts += (function.name, function.domain, function.overload, function.doc_string)
        parts += _entries(function.metadata_props)
        parts += (entry.domain for entry in function.opset_import)
        parts += (*function.input, *function.output, *function.attribute)
        parts += _of_values(function.value_info)
        parts += _of_attributes(function.attribute_proto, pending)
        parts += _of_nodes(function.node, pending)
    while pending:
        parts += _of_graph(pending.pop(), pending)
    return parts


def _of_graph(graph: onnx.GraphProto, pending: list[onnx.GraphProto]) -> list[object]:
    parts: list[object] = [graph.name, graph.doc_string, *_entries(graph.metadata_props)]
    for values in (graph.input, graph.output, graph.value_info):
        parts += _of_values(values)
    for tensor in graph.initializer:
        parts += _of_tensor(tensor)
    for sparse in graph.sparse_initializer:
        parts += (*_of_tensor(sparse.values), *_of_tensor(sparse.indices))
    for annotation in graph.quantization_annotation:
        parts.append(annotation.tensor_name)
        parts += _entries(annotation.quant_parameter_tensor_names)
    return parts + _of_nodes(graph.node, pending)


def _of_nodes(nodes: Iterable[onnx.NodeProto], pending: list[onnx.GraphProto]) -> list[object]:
    parts: list[object] = []
    for node in nodes:
        parts += (node.op_type, node.domain, node.name, node.overload, node.doc_string)
        parts += node.input
        parts += node.output
        if node.metadata_props:
            parts += _entries(node.metadata_props)
        if node.attribute:
            parts += _of_attributes(node.attribute, pending)
    return parts


def _of_attributes(
    attributes: Iterable[onnx.AttributeProto], pending: list[onnx.GraphProto]
) -> list[object]:
    parts: list[object] = []
    for attribute in attributes:
        parts += (attribute.name, attribute.ref_attr_name, attribute.doc_string)
        if attribute.HasField("g"):
            pending.append(attribute.g)
        pending += attribute.graphs
        tensors = [attribute.t] if attribute.HasField("t") else []
        for tensor in (*tensors, *attribute.tensors):
            parts += _of_tensor(tensor)
        types = [attribute.tp] if attribute.HasField("tp") else []
        for type_ in (*types, *attribute.type_protos):
            parts += _of_type(type_)
    return parts


def _of_tensor(tensor: onnx.TensorProto) -> Sequence[object]:
    return (tensor.name, tensor.doc_string, *_entries(tensor.external_data))


def _of_values(values: Iterable[onnx.ValueInfoProto]) -> list[object]:
    parts: list[object] = []
    types = set()
    for value in values:
        parts += (value.name, value.doc_string)
        if value.metadata_props:
            parts += _entries(value.metadata_props)
        types.add(value.type.SerializeToString())
    for type_ in types:  # most values share a few
        parts += _of_type(onnx.TypeProto.FromString(type_))
    return parts


def _of_type(type_: onnx.TypeProto) -> Iterator[object]:
    while True:
        yield type_.denotation
        word = type_.WhichOneof("value")
        if word in _TYPES:
            dims = getattr(type_, word).shape.dim
            yield from (text for dim in dims for text in (dim.dim_param, dim.denotation))
        elif word == "opaque_type":
            yield from (type_.opaque_type.domain, type_.opaque_type.name)
        if word not in (*_WRAPPED, "map_type"):
            return
        inner = getattr(type_, word)
        type_ = inner.value_type if word == "map_type" else inner.elem_type


def _entries(entries: Iterable[onnx.StringStringEntryProto]) -> Iterator[object]:
    return (text for entry in entries for text in (entry.key, entry.value))

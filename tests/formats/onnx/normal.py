"""Normalizes ModelProtos, so that equal models compare equal after a round trip.

* tensors are compared by their data, not by which field holds them (raw_data or typed)
* attributes and value_info are ordered by name; an empty text is one left out
* an attribute of the first IR versions, which has no type, gets the one its value shows
* the domain "ai.onnx" is ""; a graph without a name is called "graph"
"""

import onnx

from treadle import ops


def normal(model):
    model = _copy(model)
    _clear_empty(
        model, "producer_name", "producer_version", "domain", "model_version", "doc_string"
    )
    for entry in model.opset_import:
        entry.domain = "" if entry.domain == "ai.onnx" else entry.domain
    _graph(model.graph)
    for function in model.functions:
        _nodes(function.node)
        _clear_empty(function, "doc_string", "overload")
        _sort(function.value_info)
    return model


def _copy(message):
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _graph(graph):
    graph.name = graph.name or "graph"
    _clear_empty(graph, "doc_string")
    for tensor in graph.initializer:
        _tensor(tensor)
    for sparse in graph.sparse_initializer:
        _sparse(sparse)
    _nodes(graph.node)
    _sort(graph.value_info)


def _nodes(nodes):
    for node in nodes:
        node.domain = "" if node.domain == "ai.onnx" else node.domain
        _clear_empty(node, "name", "doc_string", "domain", "overload")
        for attribute in node.attribute:
            _attribute(attribute)
        _sort(node.attribute)


def _attribute(attribute):
    _clear_empty(attribute, "doc_string")
    if not attribute.type and not attribute.ref_attr_name:
        attribute.type = (
            onnx.AttributeProto.GRAPH
            if attribute.HasField("g")
            else ops.attribute_to_proto(ops.attribute_from_proto(attribute)).type
        )
    if attribute.HasField("t"):
        _tensor(attribute.t)
    if attribute.HasField("sparse_tensor"):
        _sparse(attribute.sparse_tensor)
    if attribute.HasField("g"):
        _graph(attribute.g)
    for tensor in attribute.tensors:
        _tensor(tensor)
    for graph in attribute.graphs:
        _graph(graph)


def _sparse(sparse):
    _tensor(sparse.values)
    _tensor(sparse.indices)


def _tensor(tensor):
    if not ops.is_external(tensor):
        tensor.CopyFrom(ops.tensor_to_proto(ops.tensor_from_proto(tensor)))


def _sort(entries):
    ordered = sorted(entries, key=lambda entry: entry.name)
    del entries[:]
    entries.extend(ordered)


def _clear_empty(message, *fields):
    for field in fields:
        if not getattr(message, field):
            message.ClearField(field)

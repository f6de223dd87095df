"""Formal requirements of the standard on declarations and tensors that no reader depends on.

Checked only by `check`: they never prevent reading a model.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import onnx

from treadle import ops
from treadle.errors import DataError
from treadle.formats.onnx.attribute_graphs import graphs_of
from treadle.formats.onnx.read_context import ReadContext
from treadle.ir import path_segment
from treadle.messages import join_words

_FIRST_IR_WITHOUT_LISTED = 4
_TWO = 2
_DATA_FIELDS = (
    "raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data",
    "uint64_data",
)  # fmt: skip


def report_formalities(reading: ReadContext, proto: onnx.ModelProto) -> None:
    """Report formal faults of inputs, outputs, initializers and tensors."""
    for noun, infos in (("input", proto.graph.input), ("output", proto.graph.output)):
        for info in infos:
            _declared(reading, info, noun)
    for graph, path in _graphs(proto.graph, "main"):
        _initializers(reading, graph, path, proto.ir_version)
        for info in (*graph.input, *graph.output, *graph.value_info):
            _opaque(reading, info, path)
        for node, where in _nodes(graph, path):
            for attribute in node.attribute:
                _tensors(reading, [attribute.t, *attribute.tensors], where)
                _sparse(reading, [attribute.sparse_tensor, *attribute.sparse_tensors], where)


def _graphs(graph: onnx.GraphProto, path: str) -> Iterator[tuple[onnx.GraphProto, str]]:
    pending = [(graph, path)]
    while pending:
        here, path = pending.pop(0)
        yield here, path
        pending += [
            (graph, f"{where}.{name}")
            for node, where in _nodes(here, path)
            for attribute in node.attribute
            for name, graph in graphs_of(attribute).items()
        ]


def _nodes(graph: onnx.GraphProto, path: str) -> Iterator[tuple[onnx.NodeProto, str]]:
    for position, node in enumerate(graph.node):
        yield node, f"{path}/{path_segment(node.op_type, position)}"


def _declared(reading: ReadContext, info: onnx.ValueInfoProto, noun: str) -> None:
    kind = info.type.WhichOneof("value") if info.HasField("type") else None
    if kind is None and noun == "input":
        message = f'the {noun} "{info.name}" declares no type'
        reading.report("CF307", "main", message, "declare its element type and shape")
    elif kind is None or (kind == "tensor_type" and not info.type.tensor_type.HasField("shape")):
        message = f'the {noun} "{info.name}" declares no shape'
        reading.report("CF308", "main", message, "declare its rank; extents may stay unknown")


def _initializers(reading: ReadContext, graph: onnx.GraphProto, path: str, ir_version: int) -> None:
    named = [tensor.name for tensor in graph.initializer]
    named += [sparse.values.name for sparse in graph.sparse_initializer]
    nameless = named.count("")
    if nameless:
        message = f"{nameless} of its initializers {'has' if nameless == 1 else 'have'} no name"
        reading.report("CF109", path, message, "name it, or remove it: nothing can read it")
    inputs = {info.name for info in graph.input}
    unlisted = [name for name in named if name and name not in inputs]
    if unlisted and ir_version < _FIRST_IR_WITHOUT_LISTED:
        message = (
            f"IR version {ir_version} wants initializers to be inputs too: {join_words(unlisted)}"
        )
        reading.report("CF108", path, message, "write IR version 4 or newer")
    _tensors(reading, graph.initializer, path)
    _sparse(reading, graph.sparse_initializer, path)


def _tensors(reading: ReadContext, tensors: list[onnx.TensorProto], path: str) -> None:
    for tensor in tensors:
        fields = [field for field in _DATA_FIELDS if len(getattr(tensor, field))]
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            fields.append("external_data")
        if len(fields) > 1:
            message = f'the tensor "{tensor.name}" has data in {" and in ".join(fields)}'
            reading.report("CF004", path, message, "keep the one that holds its elements")


def _sparse(reading: ReadContext, tensors: list[onnx.SparseTensorProto], path: str) -> None:
    for tensor in tensors:
        if not tensor.HasField("indices") or ops.is_external(tensor.indices):
            continue
        try:
            indices = ops.tensor_from_proto(tensor.indices).array
        except DataError:
            continue  # reported where it was read
        if indices.dtype.kind not in "iu" or indices.size < _TWO:
            continue
        if not _ascends(indices.reshape(len(indices), -1)):
            message = f'the sparse tensor "{tensor.values.name}" has indices out of order, or twice'
            reading.report("CF005", path, message, "sort them, and name every element once")


def _ascends(rows: np.ndarray) -> bool:
    """Whether the rows are in ascending lexicographic order without duplicates."""
    given = rows.tolist()
    return all(before < after for before, after in itertools.pairwise(given))


def _opaque(reading: ReadContext, info: onnx.ValueInfoProto, path: str) -> None:
    pending = [info.type]
    while pending:
        type_ = pending.pop()
        kind = type_.WhichOneof("value")
        if kind == "opaque_type" and not type_.opaque_type.name:
            message = f'"{info.name}" is of an opaque type without a name'
            reading.report(
                "CF309", path, message, "name the type: it cannot be distinguished from others"
            )
        elif kind in ("sequence_type", "optional_type"):
            pending.append(getattr(type_, kind).elem_type)
        elif kind == "map_type":
            pending.append(type_.map_type.value_type)

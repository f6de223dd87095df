"""Replacements by the caller for parts of a model file: extents, initializers, data files.

onnxruntime accepts these in a session's options; the model is read as if its file contained them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx

from treadle import ops
from treadle.errors import InputError
from treadle.formats.onnx.attribute_graphs import graphs_of
from treadle.ir import Literal, dtype_of, show_shape


@dataclass(frozen=True, slots=True)
class Supplied:
    """Extents by a dim's name and denotation, initializers by name, and data files by name.

    `external` are only for initializers whose data are in an external file.
    """

    dims: Mapping[str, int] = field(default_factory=dict)
    denotations: Mapping[str, int] = field(default_factory=dict)
    initializers: Mapping[str, np.ndarray] = field(default_factory=dict)
    external: Mapping[str, np.ndarray] = field(default_factory=dict)
    files: Mapping[str, memoryview] = field(default_factory=dict)

    def literals(self, proto: onnx.ModelProto) -> dict[str, Literal]:
        """The tensors that replace the model's; raises InputError for one that does not fit."""
        known = {tensor.name: tensor for tensor in proto.graph.initializer}
        for name in self.external:
            if name not in known or not ops.is_external(known[name]):
                what = "has data of its own" if name in known else "is not in the model"
                raise InputError(f'an external initializer is given for "{name}", which {what}')
        given = {**self.initializers, **self.external}
        return {
            name: _literal(known[name], array) for name, array in given.items() if name in known
        }

    def data(self) -> dict[str, np.ndarray]:
        """The bytes of the data files that are in memory."""
        return {name: np.frombuffer(data, np.uint8) for name, data in self.files.items()}

    def with_extents(self, proto: onnx.ModelProto) -> onnx.ModelProto:
        """The model with the given extents; raises InputError if two disagree."""
        if not self.dims and not self.denotations:
            return proto
        changed = onnx.ModelProto()
        changed.CopyFrom(proto)
        extents = self._by_name(changed.graph)
        for dim in _dims(changed.graph):
            extent = extents.get(dim.dim_param, -1) if dim.dim_param else -1
            if extent >= 0:
                dim.dim_value = extent
        return changed

    def _by_name(self, graph: onnx.GraphProto) -> dict[str, int]:
        """The extents by name; dims that have a denotation but no name get theirs here."""
        extents = dict(self.dims)
        for info in graph.input:
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                wanted = self.denotations.get(dim.denotation, -1) if dim.denotation else -1
                if wanted < 0:
                    continue
                known = dim.dim_value if dim.HasField("dim_value") else extents.get(dim.dim_param)
                if known is not None and known != wanted:
                    raise InputError(
                        f'axis {axis} of input "{info.name}" is {known}, and {dim.denotation} is'
                        f" overridden with {wanted}"
                    )
                if dim.dim_param:
                    extents[dim.dim_param] = wanted
                else:
                    dim.dim_value = wanted
        return extents


def _literal(tensor: onnx.TensorProto, array: np.ndarray) -> Literal:
    wanted, dtype = ops.element_from_proto(tensor.data_type), dtype_of(array.dtype)
    if dtype is None or dtype is not wanted or array.shape != tuple(tensor.dims):
        found = f"{dtype or array.dtype}{show_shape(array.shape)}"
        raise InputError(
            f'the initializer "{tensor.name}" is given as {found},'
            f" wanted {wanted}{show_shape(tuple(tensor.dims))}"
        )
    return Literal(np.ascontiguousarray(array).reshape(array.shape), dtype, tensor.name)


def _dims(graph: onnx.GraphProto) -> Iterator[onnx.TensorShapeProto.Dimension]:
    """Every dim declared by a graph or its bodies."""
    for info in (*graph.input, *graph.output, *graph.value_info):
        yield from _dims_of(info.type)
    for node in graph.node:
        for attribute in node.attribute:
            for body in graphs_of(attribute).values():
                yield from _dims(body)


def _dims_of(type_: onnx.TypeProto) -> Iterator[onnx.TensorShapeProto.Dimension]:
    match type_.WhichOneof("value"):
        case "tensor_type":
            yield from type_.tensor_type.shape.dim
        case "sequence_type":
            yield from _dims_of(type_.sequence_type.elem_type)
        case "optional_type":
            yield from _dims_of(type_.optional_type.elem_type)

"""TypeProto to `ir.Type` and back.

A Symbol is a dim_param. An Expression is written as the dim_param of its text, which reads back as
a Symbol of that name. Range, None and an extent over 2**63 - 1 become dims without a value, and a
Type of None an empty TypeProto. Opaque types, which no operator of the standard has, are read as
None, and so are negative dims, which exporters write for unknown ones.
"""

from __future__ import annotations

from onnx import TensorShapeProto, TypeProto

from treadle.ir import (
    Dim,
    DType,
    Expression,
    Map,
    Optional,
    Sequence,
    Shape,
    Sparse,
    Symbol,
    Tensor,
    Type,
    show_dim,
)
from treadle.ops.elements import element_from_proto, element_to_proto

_LARGEST = 2**63 - 1


def type_to_proto(type_: Type | None) -> TypeProto:
    """The TypeProto of a type; empty for None."""
    proto = TypeProto()
    match type_:
        case Tensor(dtype, shape):
            _write_tensor(proto.tensor_type, dtype, shape)
        case Sparse(dtype, shape):
            _write_tensor(proto.sparse_tensor_type, dtype, shape)
        case Sequence(element):
            proto.sequence_type.SetInParent()
            _write_element(proto.sequence_type, "elem_type", element)
        case Optional(element):
            proto.optional_type.SetInParent()
            _write_element(proto.optional_type, "elem_type", element)
        case Map(key, element):
            proto.map_type.key_type = element_to_proto(key)
            _write_element(proto.map_type, "value_type", element)
    return proto


def type_from_proto(proto: TypeProto) -> Type | None:
    """The type of a TypeProto; None if it has none."""
    match proto.WhichOneof("value"):
        case "tensor_type":
            tensor = proto.tensor_type
            return Tensor(element_from_proto(tensor.elem_type), _read_shape(tensor))
        case "sparse_tensor_type":
            sparse = proto.sparse_tensor_type
            return Sparse(element_from_proto(sparse.elem_type), _read_shape(sparse))
        case "sequence_type":
            return Sequence(type_from_proto(proto.sequence_type.elem_type))
        case "optional_type":
            return Optional(type_from_proto(proto.optional_type.elem_type))
        case "map_type":
            value = type_from_proto(proto.map_type.value_type)
            return Map(element_from_proto(proto.map_type.key_type), value)
    return None


def shape_to_proto(shape: Shape) -> TensorShapeProto:
    """The TensorShapeProto of a shape of known rank."""
    proto = TensorShapeProto()
    for dim in shape:
        _write_dim(proto.dim.add(), dim)
    return proto


def _write_tensor(
    proto: TypeProto.Tensor | TypeProto.SparseTensor, dtype: DType | None, shape: Shape | None
) -> None:
    proto.elem_type = element_to_proto(dtype)
    if shape is not None:
        proto.shape.CopyFrom(shape_to_proto(shape))


def _write_element(proto: object, field: str, element: Type | None) -> None:
    if element is not None:
        getattr(proto, field).CopyFrom(type_to_proto(element))


def _write_dim(proto: TensorShapeProto.Dimension, dim: Dim) -> None:
    match dim:
        case int() if abs(dim) <= _LARGEST:
            proto.dim_value = dim
        case Symbol() | Expression():
            proto.dim_param = show_dim(dim)


def _read_shape(proto: TypeProto.Tensor | TypeProto.SparseTensor) -> Shape | None:
    return tuple(map(_read_dim, proto.shape.dim)) if proto.HasField("shape") else None


def _read_dim(proto: TensorShapeProto.Dimension) -> Dim:
    match proto.WhichOneof("value"):
        case "dim_value":
            return int(proto.dim_value) if proto.dim_value >= 0 else None
        case "dim_param" if proto.dim_param:
            return Symbol(proto.dim_param)
    return None

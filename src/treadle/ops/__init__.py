"""What a leaf operator means: schema and version, type rule, numpy evaluation, onnx encoding."""

from treadle.ops.elements import element_from_proto, element_to_proto
from treadle.ops.proto import (
    attribute_from_proto,
    attribute_kind,
    attribute_to_proto,
    leaf_to_proto,
    operand_names,
    result_names,
)
from treadle.ops.tensor_protos import (
    array_from_bytes,
    decode_string,
    is_external,
    pack,
    sparse_from_proto,
    sparse_to_proto,
    tensor_from_proto,
    tensor_of,
    tensor_to_proto,
)
from treadle.ops.type_protos import shape_to_proto, type_from_proto, type_to_proto

__all__ = [
    "array_from_bytes",
    "attribute_from_proto",
    "attribute_kind",
    "attribute_to_proto",
    "decode_string",
    "element_from_proto",
    "element_to_proto",
    "is_external",
    "leaf_to_proto",
    "operand_names",
    "pack",
    "result_names",
    "shape_to_proto",
    "sparse_from_proto",
    "sparse_to_proto",
    "tensor_from_proto",
    "tensor_of",
    "tensor_to_proto",
    "type_from_proto",
    "type_to_proto",
]

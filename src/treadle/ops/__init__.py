"""Leaf operators: schemas and versions, type rules, numpy kernels, onnx encoding."""

from treadle.ops.attributes import attributes_of, defaults_of
from treadle.ops.contrib import (
    GENERATION,
    ContribOperator,
    assumed_opset,
    contrib_domains,
    contrib_operator,
    contrib_types,
)
from treadle.ops.copies import resolve_copies
from treadle.ops.elements import (
    element_from_proto,
    element_to_proto,
    element_word,
    tensor_of_string,
    type_string,
)
from treadle.ops.endless import why_endless
from treadle.ops.evaluate import Prepared, bind_kernel, describe, ignore_fp_warnings, without_kernel
from treadle.ops.fold import EXACT, fold, is_repeatable
from treadle.ops.functions import function_proto, function_proto_of_node
from treadle.ops.kernels import Kernel, Window, kernel, kernels, window
from treadle.ops.listed_values import wanted_value
from treadle.ops.operand_shapes import rank_fault, repeated_extents
from treadle.ops.proto import (
    attribute_from_proto,
    attribute_kind,
    attribute_to_proto,
    leaf_to_proto,
    operand_names,
    result_names,
)
from treadle.ops.random import RANDOM, set_seed
from treadle.ops.schema import (
    AttributeRule,
    Formal,
    Schema,
    canonical,
    known_operators,
    missed_input,
    newest_opset,
    requires,
    schema,
    since_version,
)
from treadle.ops.sizes import (
    MISFITS,
    Count,
    is_broadcast,
    may_grow,
    needed_bytes,
    result_bytes,
)
from treadle.ops.tensor_protos import (
    array_from_bytes,
    decode_string,
    expect_sparse,
    is_external,
    pack,
    sparse_from_proto,
    sparse_to_proto,
    tensor_from_proto,
    tensor_of,
    tensor_to_proto,
)
from treadle.ops.type_protos import shape_to_proto, type_from_proto, type_to_proto
from treadle.ops.types import has_negative_extents, result_types, type_of
from treadle.ops.work import FEW, multiplications

__all__ = [
    "EXACT",
    "FEW",
    "GENERATION",
    "MISFITS",
    "RANDOM",
    "AttributeRule",
    "ContribOperator",
    "Count",
    "Formal",
    "Kernel",
    "Prepared",
    "Schema",
    "Window",
    "array_from_bytes",
    "assumed_opset",
    "attribute_from_proto",
    "attribute_kind",
    "attribute_to_proto",
    "attributes_of",
    "bind_kernel",
    "canonical",
    "contrib_domains",
    "contrib_operator",
    "contrib_types",
    "decode_string",
    "defaults_of",
    "describe",
    "element_from_proto",
    "element_to_proto",
    "element_word",
    "expect_sparse",
    "fold",
    "function_proto",
    "function_proto_of_node",
    "has_negative_extents",
    "ignore_fp_warnings",
    "is_broadcast",
    "is_external",
    "is_repeatable",
    "kernel",
    "kernels",
    "known_operators",
    "leaf_to_proto",
    "may_grow",
    "missed_input",
    "multiplications",
    "needed_bytes",
    "newest_opset",
    "operand_names",
    "pack",
    "rank_fault",
    "repeated_extents",
    "requires",
    "resolve_copies",
    "result_bytes",
    "result_names",
    "result_types",
    "schema",
    "set_seed",
    "shape_to_proto",
    "since_version",
    "sparse_from_proto",
    "sparse_to_proto",
    "tensor_from_proto",
    "tensor_of",
    "tensor_of_string",
    "tensor_to_proto",
    "type_from_proto",
    "type_of",
    "type_string",
    "type_to_proto",
    "wanted_value",
    "why_endless",
    "window",
    "without_kernel",
]

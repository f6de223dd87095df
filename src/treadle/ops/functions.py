"""The bodies the standard gives operators that are functions of simpler ones."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import FunctionProto, NodeProto

from treadle.ir import Leaf, Type
from treadle.ops.proto import leaf_to_proto
from treadle.ops.schema import canonical, onnx_schema, since_version
from treadle.ops.type_protos import type_to_proto


def function_proto(
    leaf: Leaf, operand_types: Sequence[Type | None], opset: int | None = None
) -> FunctionProto | None:
    """The body of the leaf's operator, of the version it has; None where there is none.

    `opset` is the one the body may be written for (the leaf's version by default). A body that
    depends on context may be refused for types that are unknown; it is None then.
    """
    return function_proto_of_node(leaf_to_proto(leaf), opset or leaf.version, operand_types)


def function_proto_of_node(
    node: NodeProto, opset: int, operand_types: Sequence[Type | None]
) -> FunctionProto | None:
    """The body of a node's operator in force at an opset; the node may carry graphs."""
    domain = canonical(node.domain)
    version = since_version(domain, node.op_type, opset)
    found = None if version is None else onnx_schema(domain, node.op_type, version)
    if found is None:
        return None
    if found.has_function:
        made = found.get_function_with_opset_version(_fitting(found.function_opset_versions, opset))
        return FunctionProto.FromString(made)
    if not found.has_context_dependent_function:
        return None
    made = found.get_context_dependent_function_with_opset_version(
        _fitting(found.context_dependent_function_opset_versions, opset),
        node.SerializeToString(),
        [type_to_proto(type_).SerializeToString() for type_ in operand_types],
    )
    return FunctionProto.FromString(made) if made else None


def _fitting(opsets: Sequence[int], opset: int) -> int:
    return max((each for each in opsets if each <= opset), default=min(opsets))

"""Runs one node in treadle and in onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from treadle import ir, ops

_NO_KERNEL = (
    "ValidateOpsetForDomain",
    "NOT_IMPLEMENTED",
    "No Op registered",
    "is not a registered function/op",
)


def node_of(op: str, operands: Sequence[Any], outputs: int, attributes: Mapping[str, Any]) -> Any:
    names = ["" if each is None else f"i{k}" for k, each in enumerate(operands)]
    return helper.make_node(op, names, [f"o{k}" for k in range(outputs)], **attributes)


def ours(
    op: str,
    version: int,
    operands: Sequence[Any],
    outputs: int = 1,
    domain: str = "",
    **attributes: Any,
) -> tuple[Any, ...]:
    """The results of our kernel."""
    node = node_of(op, operands, outputs, attributes)
    given = {a.name: ops.attribute_from_proto(a) for a in node.attribute}
    values = tuple(None if each is None else ir.Value(f"i{k}") for k, each in enumerate(operands))
    results = tuple(ir.Value(f"o{k}") for k in range(outputs))
    return ops.bind_kernel(ir.Leaf(domain, op, version, values, results, given))(operands)


def theirs(
    op: str,
    version: int,
    operands: Sequence[Any],
    outputs: int = 1,
    domain: str = "",
    **attributes: Any,
) -> Sequence[Any] | None:
    """The results of onnxruntime; None where it has no kernel for the version."""
    node = node_of(op, operands, outputs, attributes)
    node.domain = domain
    inputs = [
        helper.make_value_info(f"i{k}", ops.type_to_proto(ops.type_of(each)))
        for k, each in enumerate(operands)
        if each is not None
    ]
    names = [helper.make_empty_tensor_value_info(f"o{k}") for k in range(outputs)]
    graph = helper.make_graph([node], "g", inputs, names)
    imports = [helper.make_opsetid(domain, version)]
    if domain:
        imports.append(helper.make_opsetid("", 15))
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session = onnxruntime.InferenceSession(
            _typed(model).SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        if any(word in f"{type(error).__name__} {error}" for word in _NO_KERNEL):
            return None
        raise
    feeds = {f"i{k}": each for k, each in enumerate(operands) if each is not None}
    found: Sequence[Any] = session.run(None, feeds)
    return [np.asarray(each) if isinstance(each, np.generic) else each for each in found]


def _typed(model: onnx.ModelProto) -> onnx.ModelProto:
    """With the outputs typed, since onnxruntime wants to know them in old opsets."""
    return onnx.shape_inference.infer_shapes(model)


def elements(name: str) -> int:
    return int(getattr(TensorProto, name))

"""Kernels from onnx.reference, for the versions it implements correctly.

The class is found in onnx.reference's own table, imported on first use, and instantiated once per
leaf with every attribute of that version's schema spelt out: otherwise it reads the newest schema's
defaults.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from treadle.ir import SparseArray, without_omitted_end
from treadle.ops.kernels.registry import (
    Attributes,
    Body,
    Kernel,
    Operands,
    Results,
    register,
    value,
)
from treadle.ops.tensor_protos import tensor_of
from treadle.ops.type_protos import type_to_proto

_TABLES = {
    "": "onnx.reference.ops._op_list",
    "ai.onnx.ml": "onnx.reference.ops.aionnxml._op_list",
    "ai.onnx.preview.training": "onnx.reference.ops.aionnx_preview_training._op_list",
    "ai.onnx.preview": "onnx.reference.ops.aionnx_preview._op_list",
}


def trust(op: str, *versions: int, domain: str = "") -> None:
    """Register onnx.reference's implementation of these versions."""
    for version in versions:
        bind = reference_kernel(op, version, domain)
        register(Kernel(domain, op, version, bind, "onnx.reference"))


def reference_kernel(op: str, version: int, domain: str = "") -> Callable[[Attributes, int], Body]:
    """The maker that instantiates onnx.reference's class for one version."""

    def bind(attributes: Attributes, outputs: int) -> Body:
        instance = _class(domain, op, version)(
            _node(domain, op, attributes, outputs),
            {"log": _quiet, "opsets": {domain: version}, "new_ops": None, "verbose": 0},
        )
        run = instance.run

        def body(inputs: Operands) -> Results:
            return tuple(map(_value, run(*without_omitted_end(tuple(inputs)))))

        return body

    return bind


@cache
def _class(domain: str, op: str, version: int) -> Callable[..., Any]:
    table = importlib.import_module(_TABLES[domain])
    found: Callable[..., Any] = table.load_op(domain, op, version)
    return found


def _node(domain: str, op: str, attributes: Attributes, outputs: int) -> NodeProto:
    results = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(op, [], results, domain=domain)
    for name, each in attributes.items():
        if each is not None:
            node.attribute.append(helper.make_attribute(name, _encoded(each)))
    return node


def _encoded(each: Any) -> Any:
    if hasattr(each, "dtype") and hasattr(each, "ndim"):
        return tensor_of(each)
    if isinstance(each, int | float | str | list):
        return each
    assert not isinstance(each, SparseArray), "kernels of onnx.reference take no sparse attribute"
    return type_to_proto(each)


def _value(result: Any) -> Any:
    """As `value`, with text as objects: the reference returns numpy's fixed-width strings."""
    is_text = isinstance(result, np.ndarray) and result.dtype.kind == "U"
    return result.astype(object) if is_text else value(result)


def _quiet(pattern: str, *arguments: object) -> None:
    """Silence onnx.reference's log of every call."""

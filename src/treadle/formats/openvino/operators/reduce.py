"""Reductions along axes; without axes nothing is reduced."""

from __future__ import annotations

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, register
from treadle.ir import DType, Value

_REDUCTIONS = {
    ("ReduceSum", 1): "ReduceSum",
    ("ReduceMean", 1): "ReduceMean",
    ("ReduceMax", 1): "ReduceMax",
    ("ReduceMin", 1): "ReduceMin",
    ("ReduceProd", 1): "ReduceProd",
    ("ReduceL1", 4): "ReduceL1",
    ("ReduceL2", 4): "ReduceL2",
}
_LOGICAL = {"ReduceLogicalAnd": "ReduceMin", "ReduceLogicalOr": "ReduceMax"}


def _reduced(context: LayerContext, op: str, value: Value) -> Value:
    keep = int(context.truth("keep_dims", False))
    return context.leaf(op, value, context.list64(1), keepdims=keep, noop_with_empty_axes=1)


def _enter(type_: str, version: int, op: str) -> None:
    def reduced(context: LayerContext) -> Made:
        return _reduced(context, op, context[0])

    register(type_, (version,), reduced, op)


def _enter_logical(type_: str, op: str) -> None:
    def reduced(context: LayerContext) -> Made:
        return context.cast(
            _reduced(context, op, context.cast(context[0], DType.INT32)), DType.BOOL
        )

    register(type_, (1,), reduced)


for (_type, _version), _op in _REDUCTIONS.items():
    _enter(_type, _version, _op)
for _type, _op in _LOGICAL.items():
    _enter_logical(_type, _op)

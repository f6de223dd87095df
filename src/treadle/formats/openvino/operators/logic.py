"""Comparisons, logic, bits, and tests of floats."""

from __future__ import annotations

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.broadcast import aligned
from treadle.formats.openvino.operators.registry import Made, layer, plain, register
from treadle.ir import DType

_BINARY = {
    ("Equal", 1): "Equal",
    ("Less", 1): "Less",
    ("LessEqual", 1): "LessOrEqual",
    ("Greater", 1): "Greater",
    ("GreaterEqual", 1): "GreaterOrEqual",
    ("LogicalAnd", 1): "And",
    ("LogicalOr", 1): "Or",
    ("LogicalXor", 1): "Xor",
    ("Xor", 1): "Xor",
    ("BitwiseAnd", 13): "BitwiseAnd",
    ("BitwiseOr", 13): "BitwiseOr",
    ("BitwiseXor", 13): "BitwiseXor",
}


def _binary(type_: str, version: int, op: str) -> None:
    register(type_, (version,), lambda context: context.leaf(op, *aligned(context)), op)


for (_type, _version), _op in _BINARY.items():
    _binary(_type, _version, _op)

plain({"LogicalNot": ("Not", 1), "BitwiseNot": ("BitwiseNot", 13), "IsNaN": ("IsNaN", 10)})


@layer("NotEqual", 1)
def not_equal(context: LayerContext) -> Made:
    """NotEqual: not (a == b)."""
    return context.leaf("Not", context.leaf("Equal", *aligned(context)))


_UNSIGNED = {
    DType.INT8: DType.UINT8,
    DType.INT16: DType.UINT16,
    DType.INT32: DType.UINT32,
    DType.INT64: DType.UINT64,
}


@layer("BitwiseLeftShift", 15)
def left_shift(context: LayerContext) -> Made:
    """Shift left; signed integers are shifted as they are."""
    value, count = aligned(context)
    signed = context.dtype(0)
    if signed not in _UNSIGNED:
        return context.leaf("BitShift", value, count, direction="LEFT")
    bits = [context.cast(each, _UNSIGNED[signed]) for each in (value, count)]
    return context.cast(context.leaf("BitShift", *bits, direction="LEFT"), signed)


@layer("BitwiseRightShift", 15)
def right_shift(context: LayerContext) -> Made:
    """Shift right with the sign: for x < 0, ~(~x >> n)."""
    value, count = aligned(context)
    signed = context.dtype(0)
    if signed not in _UNSIGNED:
        return context.leaf("BitShift", value, count, direction="RIGHT")
    is_negative = context.leaf("Less", value, context.like(0, 0))
    turned = context.leaf("Where", is_negative, context.leaf("BitwiseNot", value), value)
    bits = [context.cast(each, _UNSIGNED[signed]) for each in (turned, count)]
    moved = context.cast(context.leaf("BitShift", *bits, direction="RIGHT"), signed)
    return context.leaf("Where", is_negative, context.leaf("BitwiseNot", moved), moved)


@layer("IsInf", 10)
def is_inf(context: LayerContext) -> Made:
    """Infinite, with the requested signs."""
    return context.leaf(
        "IsInf",
        context[0],
        detect_negative=int(context.truth("detect_negative", True)),
        detect_positive=int(context.truth("detect_positive", True)),
    )


@layer("IsFinite", 10)
def is_finite(context: LayerContext) -> Made:
    """Neither infinite nor NaN."""
    other = context.leaf("Or", context.leaf("IsInf", context[0]), context.leaf("IsNaN", context[0]))
    return context.leaf("Not", other)

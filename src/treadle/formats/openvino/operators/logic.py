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
    register(type_, (version,), lambda hand: hand.leaf(op, *aligned(hand)), op)


for (_type, _version), _op in _BINARY.items():
    _binary(_type, _version, _op)

plain({"LogicalNot": ("Not", 1), "BitwiseNot": ("BitwiseNot", 13), "IsNaN": ("IsNaN", 10)})


@layer("NotEqual", 1)
def not_equal(hand: LayerContext) -> Made:
    """NotEqual: not (a == b)."""
    return hand.leaf("Not", hand.leaf("Equal", *aligned(hand)))


_UNSIGNED = {
    DType.INT8: DType.UINT8,
    DType.INT16: DType.UINT16,
    DType.INT32: DType.UINT32,
    DType.INT64: DType.UINT64,
}


@layer("BitwiseLeftShift", 15)
def left_shift(hand: LayerContext) -> Made:
    """Shift left; signed integers are shifted as they are."""
    value, count = aligned(hand)
    signed = hand.dtype(0)
    if signed not in _UNSIGNED:
        return hand.leaf("BitShift", value, count, direction="LEFT")
    bits = [hand.cast(each, _UNSIGNED[signed]) for each in (value, count)]
    return hand.cast(hand.leaf("BitShift", *bits, direction="LEFT"), signed)


@layer("BitwiseRightShift", 15)
def right_shift(hand: LayerContext) -> Made:
    """Shift right with the sign: for x < 0, ~(~x >> n)."""
    value, count = aligned(hand)
    signed = hand.dtype(0)
    if signed not in _UNSIGNED:
        return hand.leaf("BitShift", value, count, direction="RIGHT")
    is_negative = hand.leaf("Less", value, hand.like(0, 0))
    turned = hand.leaf("Where", is_negative, hand.leaf("BitwiseNot", value), value)
    bits = [hand.cast(each, _UNSIGNED[signed]) for each in (turned, count)]
    moved = hand.cast(hand.leaf("BitShift", *bits, direction="RIGHT"), signed)
    return hand.leaf("Where", is_negative, hand.leaf("BitwiseNot", moved), moved)


@layer("IsInf", 10)
def is_inf(hand: LayerContext) -> Made:
    """Infinite, with the requested signs."""
    return hand.leaf(
        "IsInf",
        hand[0],
        detect_negative=int(hand.truth("detect_negative", True)),
        detect_positive=int(hand.truth("detect_positive", True)),
    )


@layer("IsFinite", 10)
def is_finite(hand: LayerContext) -> Made:
    """Neither infinite nor NaN."""
    other = hand.leaf("Or", hand.leaf("IsInf", hand[0]), hand.leaf("IsNaN", hand[0]))
    return hand.leaf("Not", other)

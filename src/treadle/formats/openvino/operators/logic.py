"""Comparisons, logic, bits, and tests of floating-point numbers."""

from __future__ import annotations

from treadle.formats.openvino.hand import Hand
from treadle.formats.openvino.operators.broadcast import aligned
from treadle.formats.openvino.operators.registry import Made, layer, plain, register

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
def not_equal(hand: Hand) -> Made:
    """Is not a == b."""
    return hand.leaf("Not", hand.leaf("Equal", *aligned(hand)))


def _shift(type_: str, direction: str) -> None:
    def shifted(hand: Hand) -> Made:
        return hand.leaf("BitShift", *aligned(hand), direction=direction)

    register(type_, (15,), shifted)


_shift("BitwiseLeftShift", "LEFT")
_shift("BitwiseRightShift", "RIGHT")


@layer("IsInf", 10)
def is_inf(hand: Hand) -> Made:
    """Infinite, of the signs that are asked for."""
    return hand.leaf(
        "IsInf",
        hand[0],
        detect_negative=int(hand.truth("detect_negative", True)),
        detect_positive=int(hand.truth("detect_positive", True)),
    )


@layer("IsFinite", 10)
def is_finite(hand: Hand) -> Made:
    """Neither infinite nor no number."""
    other = hand.leaf("Or", hand.leaf("IsInf", hand[0]), hand.leaf("IsNaN", hand[0]))
    return hand.leaf("Not", other)

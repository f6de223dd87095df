"""Matrix products."""

from __future__ import annotations

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("MatMul", 1)
def matmul(hand: LayerContext) -> Made:
    """MatMul; a transposed operand with a single axis is left unchanged."""
    one = _turned(hand, 0, hand.truth("transpose_a", False))
    return hand.leaf("MatMul", one, _turned(hand, 1, hand.truth("transpose_b", False)))


def _turned(hand: LayerContext, position: int, turned: bool) -> Value:
    if not turned:
        return hand[position]
    rank = hand.rank(position)
    if rank < 2:
        return hand[position]
    return hand.transpose(hand[position], [*range(rank - 2), rank - 1, rank - 2])


@layer("Einsum", 7)
def einsum(hand: LayerContext) -> Made:
    """Einsum."""
    equation = hand.layer.data.get("equation", "")
    return hand.leaf("Einsum", *hand.operands, equation=equation)

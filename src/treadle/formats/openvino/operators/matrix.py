"""Matrix products."""

from __future__ import annotations

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("MatMul", 1)
def matmul(context: LayerContext) -> Made:
    """MatMul; a transposed operand with a single axis is left unchanged."""
    one = _turned(context, 0, context.truth("transpose_a", False))
    return context.leaf("MatMul", one, _turned(context, 1, context.truth("transpose_b", False)))


def _turned(context: LayerContext, position: int, turned: bool) -> Value:
    if not turned:
        return context[position]
    rank = context.rank(position)
    if rank < 2:
        return context[position]
    return context.transpose(context[position], [*range(rank - 2), rank - 1, rank - 2])


@layer("Einsum", 7)
def einsum(context: LayerContext) -> Made:
    """Einsum."""
    equation = context.layer.data.get("equation", "")
    return context.leaf("Einsum", *context.operands, equation=equation)

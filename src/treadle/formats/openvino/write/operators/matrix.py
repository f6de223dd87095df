"""Matrix products."""

from __future__ import annotations

from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator


@operator("MatMul")
def matmul(hand: OpContext) -> Made:
    """The matrix product, with batches broadcast as in numpy."""
    return hand.layer("MatMul-1", hand[0], hand[1], transpose_a=False, transpose_b=False)


@operator("Gemm")
def gemm(hand: OpContext) -> Made:
    """Alpha * A' * B' + beta * C."""
    made = hand.layer(
        "MatMul-1",
        hand[0],
        hand[1],
        transpose_a=bool(hand.integer("transA")),
        transpose_b=bool(hand.integer("transB")),
    )
    if hand.number("alpha", 1) != 1:
        made = hand.layer("Multiply-1", made, hand.like(0, hand.number("alpha")))
    if not hand.has(2):
        return made
    added = hand[2]
    if hand.number("beta", 1) != 1:
        added = hand.layer("Multiply-1", added, hand.like(0, hand.number("beta")))
    return hand.layer("Add-1", made, added)


@operator("Einsum")
def einsum(hand: OpContext) -> Made:
    """A sum of products over named axes."""
    return hand.layer("Einsum-7", *hand.all(), equation="".join(hand.text("equation").split()))

"""Matrix products."""

from __future__ import annotations

from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator


@operator("MatMul")
def matmul(context: OpContext) -> Made:
    """The matrix product, with batches broadcast as in numpy."""
    return context.layer("MatMul-1", context[0], context[1], transpose_a=False, transpose_b=False)


@operator("Gemm")
def gemm(context: OpContext) -> Made:
    """Alpha * A' * B' + beta * C."""
    made = context.layer(
        "MatMul-1",
        context[0],
        context[1],
        transpose_a=bool(context.integer("transA")),
        transpose_b=bool(context.integer("transB")),
    )
    if context.number("alpha", 1) != 1:
        made = context.layer("Multiply-1", made, context.like(0, context.number("alpha")))
    if not context.has(2):
        return made
    added = context[2]
    if context.number("beta", 1) != 1:
        added = context.layer("Multiply-1", added, context.like(0, context.number("beta")))
    return context.layer("Add-1", made, added)


@operator("Einsum")
def einsum(context: OpContext) -> Made:
    """A sum of products over named axes."""
    return context.layer(
        "Einsum-7", *context.all(), equation="".join(context.text("equation").split())
    )

"""Normalizations: by batch, instance, layer, neighbours, norm."""

from __future__ import annotations

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.refusals import Refusal


@operator("BatchNormalization")
def batch_normalization(context: OpContext) -> Made:
    """Normalize by given mean and variance."""
    training = context.integer("training_mode") or not context.integer(
        "is_test", int(context.version >= 7)
    )
    if training or any(context.wants(k) for k in range(1, len(context.leaf.results))):
        raise Refusal("it is in training mode", "export the model for inference")
    if not context.integer("spatial", 1):
        raise Refusal("spatial=0 (statistics per element) has no form")
    given = [context.convert(context[k], context.dtype(0)) for k in range(1, 5)]
    return context.layer(
        "BatchNormInference-5", context[0], *given, epsilon=context.number("epsilon", 1e-5)
    )


def _normalized(context: OpContext, axes: list[int]) -> Wire:
    return context.layer(
        "MVN-6",
        context[0],
        context.whole(*axes),
        normalize_variance=True,
        eps=context.number("epsilon", 1e-5),
        eps_mode="INSIDE_SQRT",
    )


@operator("InstanceNormalization")
def instance_normalization(context: OpContext) -> Made:
    """Normalize by the mean and variance of each channel of each item."""
    rank = context.rank(0)
    made = _normalized(context, list(range(2, rank)))
    scale, bias = (context.reshape(context[k], -1, *[1] * (rank - 2)) for k in (1, 2))
    return context.layer("Add-1", context.layer("Multiply-1", made, scale), bias)


@operator("LayerNormalization")
def layer_normalization(context: OpContext) -> Made:
    """Normalize by the mean and variance over the axes from `axis` on."""
    axes = list(range(context.axis(default=-1), context.rank(0)))
    made = context.layer("Multiply-1", _normalized(context, axes), context[1])
    if context.has(2):
        made = context.layer("Add-1", made, context[2])
    if not (context.wants(1) or context.wants(2)):
        return made
    mean = context.layer("ReduceMean-1", context[0], context.whole(*axes), keep_dims=True)
    apart = context.layer("SquaredDifference-1", context[0], mean)
    variance = context.layer("ReduceMean-1", apart, context.whole(*axes), keep_dims=True)
    wide = context.layer("Add-1", variance, context.like(0, context.number("epsilon", 1e-5)))
    return made, mean, context.layer("Divide-1", context.like(0, 1), context.layer("Sqrt-1", wide))


@operator("LRN")
def local_response(context: OpContext) -> Made:
    """Normalize by the squares of neighbouring channels."""
    data = {name: context.number(name) for name in ("alpha", "beta", "bias")}
    return context.layer(
        "LRN-1", context[0], context.whole(1), size=context.integer("size"), **data
    )


@operator("LpNormalization")
def norm(context: OpContext) -> Made:
    """Divide by the norm along an axis; zeros stay zeros."""
    kind = "ReduceL1-4" if context.integer("p", 2) == 1 else "ReduceL2-4"
    length = context.layer(
        kind, context[0], context.whole(context.axis(default=-1)), keep_dims=True
    )
    none = context.layer("Equal-1", length, context.like(0, 0))
    divisor = context.layer("Select-1", none, context.like(0, 1), length)
    return context.layer("Divide-1", context[0], divisor)

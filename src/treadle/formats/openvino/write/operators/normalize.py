"""Normalizations: by batch, instance, layer, neighbours, norm."""

from __future__ import annotations

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.refusals import Refusal


@operator("BatchNormalization")
def batch_normalization(hand: OpContext) -> Made:
    """Normalize by given mean and variance."""
    training = hand.integer("training_mode") or not hand.integer("is_test", int(hand.version >= 7))
    if training or any(hand.wants(k) for k in range(1, len(hand.leaf.results))):
        raise Refusal("it is in training mode", "export the model for inference")
    if not hand.integer("spatial", 1):
        raise Refusal("spatial=0 (statistics per element) has no form")
    given = [hand.convert(hand[k], hand.dtype(0)) for k in range(1, 5)]
    return hand.layer("BatchNormInference-5", hand[0], *given, epsilon=hand.number("epsilon", 1e-5))


def _normalized(hand: OpContext, axes: list[int]) -> Wire:
    return hand.layer(
        "MVN-6",
        hand[0],
        hand.whole(*axes),
        normalize_variance=True,
        eps=hand.number("epsilon", 1e-5),
        eps_mode="INSIDE_SQRT",
    )


@operator("InstanceNormalization")
def instance_normalization(hand: OpContext) -> Made:
    """Normalize by the mean and variance of each channel of each item."""
    rank = hand.rank(0)
    made = _normalized(hand, list(range(2, rank)))
    scale, bias = (hand.reshape(hand[k], -1, *[1] * (rank - 2)) for k in (1, 2))
    return hand.layer("Add-1", hand.layer("Multiply-1", made, scale), bias)


@operator("LayerNormalization")
def layer_normalization(hand: OpContext) -> Made:
    """Normalize by the mean and variance over the axes from `axis` on."""
    axes = list(range(hand.axis(default=-1), hand.rank(0)))
    made = hand.layer("Multiply-1", _normalized(hand, axes), hand[1])
    if hand.has(2):
        made = hand.layer("Add-1", made, hand[2])
    if not (hand.wants(1) or hand.wants(2)):
        return made
    mean = hand.layer("ReduceMean-1", hand[0], hand.whole(*axes), keep_dims=True)
    apart = hand.layer("SquaredDifference-1", hand[0], mean)
    variance = hand.layer("ReduceMean-1", apart, hand.whole(*axes), keep_dims=True)
    wide = hand.layer("Add-1", variance, hand.like(0, hand.number("epsilon", 1e-5)))
    return made, mean, hand.layer("Divide-1", hand.like(0, 1), hand.layer("Sqrt-1", wide))


@operator("LRN")
def local_response(hand: OpContext) -> Made:
    """Normalize by the squares of neighbouring channels."""
    data = {name: hand.number(name) for name in ("alpha", "beta", "bias")}
    return hand.layer("LRN-1", hand[0], hand.whole(1), size=hand.integer("size"), **data)


@operator("LpNormalization")
def norm(hand: OpContext) -> Made:
    """Divide by the norm along an axis; zeros stay zeros."""
    kind = "ReduceL1-4" if hand.integer("p", 2) == 1 else "ReduceL2-4"
    length = hand.layer(kind, hand[0], hand.whole(hand.axis(default=-1)), keep_dims=True)
    none = hand.layer("Equal-1", length, hand.like(0, 0))
    divisor = hand.layer("Select-1", none, hand.like(0, 1), length)
    return hand.layer("Divide-1", hand[0], divisor)

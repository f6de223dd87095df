"""Activations."""

from __future__ import annotations

import numpy as np

from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer, plain
from treadle.ir import DType, Value

plain(
    {
        "ReLU": ("Relu", 1),
        "Sigmoid": ("Sigmoid", 1),
        "Tanh": ("Tanh", 1),
        "SoftPlus": ("Softplus", 4),
        "SoftSign": ("Softsign", 9),
        "HSwish": ("HardSwish", 4),
        "Mish": ("Mish", 4),
    }
)


@layer("ELU", 1)
def elu(hand: LayerContext) -> Made:
    """x, or alpha * (exp(x) - 1) below zero."""
    return hand.leaf("Elu", hand[0], alpha=hand.number("alpha"))


@layer("SELU", 1)
def selu(hand: LayerContext) -> Made:
    """Selu: lambda * (x, or alpha * (exp(x) - 1) below zero)."""
    alpha, gamma = hand.scalar(1, "alpha"), hand.scalar(2, "lambda")
    return hand.leaf("Selu", hand[0], alpha=alpha, gamma=gamma)


@layer("PReLU", 1)
def prelu(hand: LayerContext) -> Made:
    """x, or slope * x below zero; a slope of rank 1 applies along axis 1."""
    slope = hand[1]
    if hand.rank(1) == 1 and hand.rank(0) > 1 and hand.shape(1) != (1,):
        shape = hand.whole(-1, *[1] * (hand.rank(0) - 2))
        slope = hand.leaf("Reshape", slope, shape)
    return hand.leaf("PRelu", hand[0], slope)


@layer("HSigmoid", 5)
def hsigmoid(hand: LayerContext) -> Made:
    """min(max(x + 3, 0), 6) / 6."""
    return hand.leaf("HardSigmoid", hand[0], alpha=1 / 6, beta=0.5)


@layer("HardSigmoid", 1)
def hard_sigmoid(hand: LayerContext) -> Made:
    """max(0, min(1, alpha * x + beta))."""
    alpha, beta = hand.scalar(1, "alpha"), hand.scalar(2, "beta")
    return hand.leaf("HardSigmoid", hand[0], alpha=alpha, beta=beta)


@layer("Swish", 4)
def swish(hand: LayerContext) -> Made:
    """Swish: x * sigmoid(beta * x)."""
    x, beta = hand[0], hand.get(1)
    scaled = x if beta is None else hand.leaf("Mul", x, beta)
    return hand.leaf("Mul", x, hand.leaf("Sigmoid", scaled))


@layer("Gelu", 2, 7)
def gelu(hand: LayerContext) -> Made:
    """Gelu, exact or by tanh."""
    mode = hand.text("approximation_mode", "erf", "erf", "tanh") if hand.version > 2 else "erf"
    return hand.leaf("Gelu", hand[0], approximate="tanh" if mode == "tanh" else "none")


@layer("SoftMax", 1, 8)
def softmax(hand: LayerContext) -> Made:
    """Softmax along one axis."""
    return hand.leaf("Softmax", hand[0], axis=hand.integer("axis", 1))


@layer("LogSoftmax", 5)
def log_softmax(hand: LayerContext) -> Made:
    """The logarithm of a softmax along one axis."""
    return hand.leaf("LogSoftmax", hand[0], axis=hand.integer("axis", 1))


@layer("ScaledDotProductAttention", 13)
def attention(hand: LayerContext) -> Made:
    """softmax(query @ key.T * scale + mask) @ value."""
    rank = hand.rank(1)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    scores = hand.leaf("MatMul", hand[0], hand.transpose(hand[1], swapped))
    scores = hand.leaf("Mul", scores, _scale(hand))
    mask = hand.get(3)
    if hand.truth("causal", False):
        # a given mask is ignored then
        mask, scores = None, _causal(hand, scores)
    if mask is not None and not (hand.shape(3) == () and not np.any(hand.known(3, "the mask"))):
        if not hand.is_float(3):
            away = hand.like(0, -np.inf)
            mask = hand.leaf("Where", mask, hand.like(0, 0.0), away)
        scores = hand.leaf("Add", scores, mask)
    return hand.leaf("MatMul", hand.leaf("Softmax", scores, axis=-1), hand[2])


def _causal(hand: LayerContext, scores: Value) -> Value:
    """Scores, minus infinity where the key comes after the query."""
    shape = hand.leaf("Shape", scores, start=-2)
    rest = hand.leaf("Trilu", hand.leaf("Expand", hand.like(0, 1.0), shape), upper=0)
    seen = hand.cast(rest, DType.BOOL)
    return hand.leaf("Where", seen, scores, hand.like(0, -np.inf))


def _scale(hand: LayerContext) -> Value:
    scale = hand.get(4)
    if scale is not None:
        return scale
    last = hand.leaf("Shape", hand[0], start=-1)
    width = hand.cast(last, hand.dtype(0))
    return hand.leaf("Reciprocal", hand.leaf("Sqrt", width))

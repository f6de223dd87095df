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
def elu(context: LayerContext) -> Made:
    """x, or alpha * (exp(x) - 1) below zero."""
    return context.leaf("Elu", context[0], alpha=context.number("alpha"))


@layer("SELU", 1)
def selu(context: LayerContext) -> Made:
    """Selu: lambda * (x, or alpha * (exp(x) - 1) below zero)."""
    alpha, gamma = context.scalar(1, "alpha"), context.scalar(2, "lambda")
    return context.leaf("Selu", context[0], alpha=alpha, gamma=gamma)


@layer("PReLU", 1)
def prelu(context: LayerContext) -> Made:
    """x, or slope * x below zero; a slope of rank 1 applies along axis 1."""
    slope = context[1]
    if context.rank(1) == 1 and context.rank(0) > 1 and context.shape(1) != (1,):
        shape = context.whole(-1, *[1] * (context.rank(0) - 2))
        slope = context.leaf("Reshape", slope, shape)
    return context.leaf("PRelu", context[0], slope)


@layer("HSigmoid", 5)
def hsigmoid(context: LayerContext) -> Made:
    """min(max(x + 3, 0), 6) / 6."""
    return context.leaf("HardSigmoid", context[0], alpha=1 / 6, beta=0.5)


@layer("HardSigmoid", 1)
def hard_sigmoid(context: LayerContext) -> Made:
    """max(0, min(1, alpha * x + beta))."""
    alpha, beta = context.scalar(1, "alpha"), context.scalar(2, "beta")
    return context.leaf("HardSigmoid", context[0], alpha=alpha, beta=beta)


@layer("Swish", 4)
def swish(context: LayerContext) -> Made:
    """Swish: x * sigmoid(beta * x)."""
    x, beta = context[0], context.get(1)
    scaled = x if beta is None else context.leaf("Mul", x, beta)
    return context.leaf("Mul", x, context.leaf("Sigmoid", scaled))


@layer("Gelu", 2, 7)
def gelu(context: LayerContext) -> Made:
    """Gelu, exact or by tanh."""
    mode = (
        context.text("approximation_mode", "erf", "erf", "tanh") if context.version > 2 else "erf"
    )
    return context.leaf("Gelu", context[0], approximate="tanh" if mode == "tanh" else "none")


@layer("SoftMax", 1, 8)
def softmax(context: LayerContext) -> Made:
    """Softmax along one axis."""
    return context.leaf("Softmax", context[0], axis=context.integer("axis", 1))


@layer("LogSoftmax", 5)
def log_softmax(context: LayerContext) -> Made:
    """The logarithm of a softmax along one axis."""
    return context.leaf("LogSoftmax", context[0], axis=context.integer("axis", 1))


@layer("ScaledDotProductAttention", 13)
def attention(context: LayerContext) -> Made:
    """softmax(query @ key.T * scale + mask) @ value."""
    rank = context.rank(1)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    scores = context.leaf("MatMul", context[0], context.transpose(context[1], swapped))
    scores = context.leaf("Mul", scores, _scale(context))
    mask = context.get(3)
    if context.truth("causal", False):
        # a given mask is ignored then
        mask, scores = None, _causal(context, scores)
    if mask is not None and not (
        context.shape(3) == () and not np.any(context.known(3, "the mask"))
    ):
        if not context.is_float(3):
            away = context.like(0, -np.inf)
            mask = context.leaf("Where", mask, context.like(0, 0.0), away)
        scores = context.leaf("Add", scores, mask)
    return context.leaf("MatMul", context.leaf("Softmax", scores, axis=-1), context[2])


def _causal(context: LayerContext, scores: Value) -> Value:
    """Scores, minus infinity where the key comes after the query."""
    shape = context.leaf("Shape", scores, start=-2)
    rest = context.leaf("Trilu", context.leaf("Expand", context.like(0, 1.0), shape), upper=0)
    seen = context.cast(rest, DType.BOOL)
    return context.leaf("Where", seen, scores, context.like(0, -np.inf))


def _scale(context: LayerContext) -> Value:
    scale = context.get(4)
    if scale is not None:
        return scale
    last = context.leaf("Shape", context[0], start=-1)
    width = context.cast(last, context.dtype(0))
    return context.leaf("Reciprocal", context.leaf("Sqrt", width))

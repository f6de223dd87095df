"""Normalizations."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("BatchNormInference", 1, 5)
def batch_norm(hand: LayerContext) -> Made:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta; version 1 has x third."""
    given = [hand[k] for k in range(5)]
    if hand.version < 5:
        gamma, beta, x, mean, variance = given
    else:
        x, gamma, beta, mean, variance = given
    name = "epsilon" if hand.has("epsilon") else "eps"
    return hand.leaf(
        "BatchNormalization", x, gamma, beta, mean, variance, epsilon=hand.number(name)
    )


@layer("MVN", 6)
def mvn(hand: LayerContext) -> Made:
    """(x - mean) / deviation along axes; epsilon inside or outside of the root."""
    inside = hand.text("eps_mode", None, "inside_sqrt", "outside_sqrt") == "inside_sqrt"
    return _standard(hand, hand.list64(1), hand.truth("normalize_variance"), inside)


@layer("MVN", 1)
def mvn_1(hand: LayerContext) -> Made:
    """The same over all but batch and channels, or over channels too; epsilon inside the root."""
    rank = hand.rank(0)
    if hand.has("reduction_axes"):
        axes = hand.integers("reduction_axes")
    else:
        axes = list(range(1 if hand.truth("across_channels", False) else 2, rank))
    return _standard(hand, hand.whole(*axes), hand.truth("normalize_variance", True), True)


def _standard(hand: LayerContext, axes: Value, divided: bool, inside: bool) -> Value:
    mean = hand.leaf("ReduceMean", hand[0], axes, keepdims=1)
    centered = hand.leaf("Sub", hand[0], mean)
    if not divided:
        return centered
    square = hand.leaf("Mul", centered, centered)
    variance = hand.leaf("ReduceMean", square, axes, keepdims=1)
    epsilon = hand.like(0, hand.number("eps"))
    if inside:
        return hand.leaf("Div", centered, hand.leaf("Sqrt", hand.leaf("Add", variance, epsilon)))
    return hand.leaf("Div", centered, hand.leaf("Add", hand.leaf("Sqrt", variance), epsilon))


@layer("NormalizeL2", 1)
def normalize_l2(hand: LayerContext) -> Made:
    """NormalizeL2: x / sqrt(sum of squares, with epsilon added or as its minimum)."""
    op = "Add" if hand.text("eps_mode", None, "add", "max") == "add" else "Max"
    square = hand.leaf("Mul", hand[0], hand[0])
    flags = {"keepdims": 1, "noop_with_empty_axes": 1}
    total = hand.leaf("ReduceSum", square, hand.list64(1), **flags)
    bounded = hand.leaf(op, total, hand.like(0, hand.number("eps")))
    return hand.leaf("Div", hand[0], hand.leaf("Sqrt", bounded))


@layer("LRN", 1)
def lrn(hand: LayerContext) -> Made:
    """Local response normalization over channels, or over all spatial axes."""
    size, alpha = hand.integer("size"), hand.number("alpha")
    beta, bias = hand.number("beta"), hand.number("bias")
    axes = sorted(axis % hand.rank(0) for axis in hand.wholes(1, "the axes"))
    if axes == [1]:
        return hand.leaf("LRN", hand[0], alpha=alpha, beta=beta, bias=bias, size=size)
    if axes != list(range(2, hand.rank(0))) or size % 2 == 0:
        raise IrError("CF909", f"LRN of size {size} over the axes {axes} has no ONNX form")
    square = hand.leaf("Mul", hand[0], hand[0])
    count = len(axes)
    window = {"kernel_shape": [size] * count, "pads": [size // 2] * (2 * count)}
    mean = hand.leaf("AveragePool", square, count_include_pad=1, **window)
    scaled = hand.leaf("Mul", mean, hand.like(0, alpha))
    root = hand.leaf("Pow", hand.leaf("Add", scaled, hand.like(0, bias)), hand.like(0, beta))
    return hand.leaf("Div", hand[0], root)


@layer("GroupNormalization", 12)
def group_normalization(hand: LayerContext) -> Made:
    """Normalize in groups of channels, then scale and shift each channel."""
    return hand.leaf(
        "GroupNormalization",
        hand[0],
        hand[1],
        hand[2],
        num_groups=hand.integer("num_groups"),
        epsilon=hand.number("epsilon"),
    )


@layer("RMS", 14)
def rms(hand: LayerContext) -> Made:
    """RMS: x / root of the mean of squares along the last axis * gamma."""
    square = hand.leaf("Mul", hand[0], hand[0])
    mean = hand.leaf("ReduceMean", square, hand.whole(-1), keepdims=1)
    root = hand.leaf("Sqrt", hand.leaf("Add", mean, hand.like(0, hand.number("epsilon"))))
    return hand.leaf("Mul", hand.leaf("Div", hand[0], root), hand[1])

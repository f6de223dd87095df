"""Normalizations."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.ir import Value


@layer("BatchNormInference", 1, 5)
def batch_norm(context: LayerContext) -> Made:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta; version 1 has x third."""
    given = [context[k] for k in range(5)]
    if context.version < 5:
        gamma, beta, x, mean, variance = given
    else:
        x, gamma, beta, mean, variance = given
    name = "epsilon" if context.has("epsilon") else "eps"
    return context.leaf(
        "BatchNormalization", x, gamma, beta, mean, variance, epsilon=context.number(name)
    )


@layer("MVN", 6)
def mvn(context: LayerContext) -> Made:
    """(x - mean) / deviation along axes; epsilon inside or outside of the root."""
    inside = context.text("eps_mode", None, "inside_sqrt", "outside_sqrt") == "inside_sqrt"
    return _standard(context, context.list64(1), context.truth("normalize_variance"), inside)


@layer("MVN", 1)
def mvn_1(context: LayerContext) -> Made:
    """The same over all but batch and channels, or over channels too; epsilon inside the root."""
    rank = context.rank(0)
    if context.has("reduction_axes"):
        axes = context.integers("reduction_axes")
    else:
        axes = list(range(1 if context.truth("across_channels", False) else 2, rank))
    return _standard(context, context.whole(*axes), context.truth("normalize_variance", True), True)


def _standard(context: LayerContext, axes: Value, divided: bool, inside: bool) -> Value:
    mean = context.leaf("ReduceMean", context[0], axes, keepdims=1)
    centered = context.leaf("Sub", context[0], mean)
    if not divided:
        return centered
    square = context.leaf("Mul", centered, centered)
    variance = context.leaf("ReduceMean", square, axes, keepdims=1)
    epsilon = context.like(0, context.number("eps"))
    if inside:
        return context.leaf(
            "Div", centered, context.leaf("Sqrt", context.leaf("Add", variance, epsilon))
        )
    return context.leaf(
        "Div", centered, context.leaf("Add", context.leaf("Sqrt", variance), epsilon)
    )


@layer("NormalizeL2", 1)
def normalize_l2(context: LayerContext) -> Made:
    """NormalizeL2: x / sqrt(sum of squares, with epsilon added or as its minimum)."""
    op = "Add" if context.text("eps_mode", None, "add", "max") == "add" else "Max"
    square = context.leaf("Mul", context[0], context[0])
    flags = {"keepdims": 1, "noop_with_empty_axes": 1}
    total = context.leaf("ReduceSum", square, context.list64(1), **flags)
    bounded = context.leaf(op, total, context.like(0, context.number("eps")))
    return context.leaf("Div", context[0], context.leaf("Sqrt", bounded))


@layer("LRN", 1)
def lrn(context: LayerContext) -> Made:
    """Local response normalization over channels, or over all spatial axes."""
    size, alpha = context.integer("size"), context.number("alpha")
    beta, bias = context.number("beta"), context.number("bias")
    axes = sorted(axis % context.rank(0) for axis in context.wholes(1, "the axes"))
    if axes == [1]:
        return context.leaf("LRN", context[0], alpha=alpha, beta=beta, bias=bias, size=size)
    if axes != list(range(2, context.rank(0))) or size % 2 == 0:
        raise IrError("CF909", f"LRN of size {size} over the axes {axes} has no ONNX form")
    square = context.leaf("Mul", context[0], context[0])
    count = len(axes)
    window = {"kernel_shape": [size] * count, "pads": [size // 2] * (2 * count)}
    mean = context.leaf("AveragePool", square, count_include_pad=1, **window)
    scaled = context.leaf("Mul", mean, context.like(0, alpha))
    root = context.leaf(
        "Pow", context.leaf("Add", scaled, context.like(0, bias)), context.like(0, beta)
    )
    return context.leaf("Div", context[0], root)


@layer("GroupNormalization", 12)
def group_normalization(context: LayerContext) -> Made:
    """Normalize in groups of channels, then scale and shift each channel."""
    return context.leaf(
        "GroupNormalization",
        context[0],
        context[1],
        context[2],
        num_groups=context.integer("num_groups"),
        epsilon=context.number("epsilon"),
    )


@layer("RMS", 14)
def rms(context: LayerContext) -> Made:
    """RMS: x / root of the mean of squares along the last axis * gamma."""
    square = context.leaf("Mul", context[0], context[0])
    mean = context.leaf("ReduceMean", square, context.whole(-1), keepdims=1)
    root = context.leaf(
        "Sqrt", context.leaf("Add", mean, context.like(0, context.number("epsilon")))
    )
    return context.leaf("Mul", context.leaf("Div", context[0], root), context[1])

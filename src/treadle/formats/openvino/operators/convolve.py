"""Convolutions, forward and transposed, with and without groups."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.formats.openvino.operators.windows import windows
from treadle.ir import Value


@layer("Convolution", 1)
def convolution(context: LayerContext) -> Made:
    """Conv."""
    return context.leaf("Conv", context[0], context[1], **windows(context))


@layer("GroupConvolution", 1)
def group_convolution(context: LayerContext) -> Made:
    """Conv in groups; the weights are [groups, outputs / groups, inputs / groups, ...]."""
    weights, groups = _ungrouped(context)
    return context.leaf("Conv", context[0], weights, group=groups, **windows(context))


def _ungrouped(context: LayerContext) -> tuple[Value, int]:
    """The weights without their group axis, and the number of groups."""
    shape = context.shape(1)
    groups = shape[0] if shape else None
    if not isinstance(groups, int):
        raise IrError("CF909", "the number of groups is not known")
    tail = context.leaf("Shape", context[1], start=2)
    flat = context.leaf("Concat", context.whole(-1), tail, axis=0)
    return context.leaf("Reshape", context[1], flat), groups


@layer("ConvolutionBackpropData", 1)
def transposed(context: LayerContext) -> Made:
    """ConvTranspose."""
    return _transposed(context, context[1], 1)


@layer("GroupConvolutionBackpropData", 1)
def group_transposed(context: LayerContext) -> Made:
    """ConvTranspose in groups; the weights are [groups, inputs / groups, outputs / groups, ...]."""
    return _transposed(context, *_ungrouped(context))


def _transposed(context: LayerContext, weights: Value, groups: int) -> Value:
    given = windows(context)
    strides = given["strides"]
    assert isinstance(strides, list)
    given["output_padding"] = context.integers("output_padding", [0] * len(strides))
    if context.get(2) is not None:
        given["output_shape"] = context.wholes(2, "the output shape")
        given.pop("pads", None)
    return context.leaf("ConvTranspose", context[0], weights, group=groups, **given)

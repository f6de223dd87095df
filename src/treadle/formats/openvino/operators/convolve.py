"""Convolutions, forward and transposed, with and without groups."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators.registry import Made, layer
from treadle.formats.openvino.operators.windows import windows
from treadle.ir import Value


@layer("Convolution", 1)
def convolution(hand: LayerContext) -> Made:
    """Conv."""
    return hand.leaf("Conv", hand[0], hand[1], **windows(hand))


@layer("GroupConvolution", 1)
def group_convolution(hand: LayerContext) -> Made:
    """Conv in groups; the weights are [groups, outputs / groups, inputs / groups, ...]."""
    weights, groups = _ungrouped(hand)
    return hand.leaf("Conv", hand[0], weights, group=groups, **windows(hand))


def _ungrouped(hand: LayerContext) -> tuple[Value, int]:
    """The weights without their group axis, and the number of groups."""
    shape = hand.shape(1)
    groups = shape[0] if shape else None
    if not isinstance(groups, int):
        raise IrError("CF909", "the number of groups is not known")
    tail = hand.leaf("Shape", hand[1], start=2)
    flat = hand.leaf("Concat", hand.whole(-1), tail, axis=0)
    return hand.leaf("Reshape", hand[1], flat), groups


@layer("ConvolutionBackpropData", 1)
def transposed(hand: LayerContext) -> Made:
    """ConvTranspose."""
    return _transposed(hand, hand[1], 1)


@layer("GroupConvolutionBackpropData", 1)
def group_transposed(hand: LayerContext) -> Made:
    """ConvTranspose in groups; the weights are [groups, inputs / groups, outputs / groups, ...]."""
    return _transposed(hand, *_ungrouped(hand))


def _transposed(hand: LayerContext, weights: Value, groups: int) -> Value:
    given = windows(hand)
    strides = given["strides"]
    assert isinstance(strides, list)
    given["output_padding"] = hand.integers("output_padding", [0] * len(strides))
    if hand.get(2) is not None:
        given["output_shape"] = hand.wholes(2, "the output shape")
        given.pop("pads", None)
    return hand.leaf("ConvTranspose", hand[0], weights, group=groups, **given)

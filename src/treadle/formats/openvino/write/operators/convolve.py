"""Convolutions, forward and transposed, with or without groups."""

from __future__ import annotations

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.operators.windows import Window, window
from treadle.formats.openvino.write.refusals import Refusal


@operator("Conv")
def convolution(hand: OpContext) -> Made:
    """Convolution by weights [O, I/G, ...], with an optional bias."""
    groups = hand.integer("group", 1)
    weights = grouped(hand, hand[1], 1, groups)
    made = convolved(hand, hand[0], weights, window(hand, hand.rank(1) - 2), groups)
    return biased(hand, made, 2)


def convolved(hand: OpContext, value: Wire, weights: Wire, found: Window, groups: int) -> Wire:
    """A convolution by weights already split into groups."""
    kind = "Convolution-1" if groups == 1 else "GroupConvolution-1"
    return hand.layer(kind, value, weights, **found.data())


def grouped(hand: OpContext, weights: Wire, position: int, groups: int) -> Wire:
    """The weights of an operand, [O, ...] or [I, ...], as [G, O/G, ...] or [G, I/G, ...]."""
    if groups == 1:
        return weights
    if weights.array is not None:
        array = weights.array
        return hand.constant(array.reshape(groups, -1, *array.shape[1:]))
    rest = [dim for dim in (hand.shape(position) or ())[1:] if isinstance(dim, int)]
    if len(rest) != hand.rank(position) - 1:
        raise Refusal("the shape of its weights is not known")
    return hand.layer("Reshape-1", weights, hand.whole(groups, -1, *rest), special_zero=False)


def biased(hand: OpContext, made: Wire, position: int) -> Wire:
    """Add one number per channel, if the bias is present."""
    if not hand.has(position):
        return made
    wide = hand.reshape(hand[position], 1, -1, *[1] * (hand.rank(1) - 2))
    return hand.layer("Add-1", made, wide)


@operator("ConvTranspose")
def transposed(hand: OpContext) -> Made:
    """The transposed convolution, by weights [I, O/G, ...]; its pads crop the result."""
    spatial = hand.rank(1) - 2
    found = window(hand, spatial)
    padding = hand.integers("output_padding") or [0] * spatial
    found = _cutting(hand, found, padding)
    groups = hand.integer("group", 1)
    kind = "ConvolutionBackpropData-1" if groups == 1 else "GroupConvolutionBackpropData-1"
    data = found.data() | {"output_padding": padding}
    return biased(hand, hand.layer(kind, hand[0], grouped(hand, hand[1], 1, groups), **data), 2)


def _cutting(hand: OpContext, found: Window, padding: list[int]) -> Window:
    """The window with pads that yield the requested shape."""
    wanted = hand.integers("output_shape")
    if wanted is None and found.auto_pad in ("explicit", "valid"):
        return found
    shape = hand.shape(1) or ()
    totals = []
    for k, stride in enumerate(found.strides):
        kernel = shape[2 + k]
        length = hand.extent(0, 2 + k)
        if not isinstance(kernel, int) or (wanted is not None and length is None):
            raise Refusal("its pads depend on unknown shapes", "give it pads")
        whole = (kernel - 1) * found.dilations[k] + 1 + padding[k]
        extent = None if wanted is None else wanted[k - len(found.strides)]
        totals.append(whole - stride if extent is None or length is None
                      else whole + stride * (length - 1) - extent)  # fmt: skip
    less = [max(total, 0) // 2 for total in totals]
    more = [max(total, 0) - half for total, half in zip(totals, less, strict=True)]
    begin, end = (less, more) if found.auto_pad == "same_upper" else (more, less)
    for k, total in enumerate(totals):
        padding[k] += max(-total, 0)
    return found._replace(auto_pad="explicit", begin=begin, end=end)

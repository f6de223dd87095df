"""Convolutions, forward and transposed, with or without groups."""

from __future__ import annotations

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Made, operator
from treadle.formats.openvino.write.operators.windows import Window, window
from treadle.formats.openvino.write.refusals import Refusal


@operator("Conv")
def convolution(context: OpContext) -> Made:
    """Convolution by weights [O, I/G, ...], with an optional bias."""
    groups = context.integer("group", 1)
    weights = grouped(context, context[1], 1, groups)
    made = convolved(context, context[0], weights, window(context, context.rank(1) - 2), groups)
    return biased(context, made, 2)


def convolved(context: OpContext, value: Wire, weights: Wire, found: Window, groups: int) -> Wire:
    """A convolution by weights already split into groups."""
    kind = "Convolution-1" if groups == 1 else "GroupConvolution-1"
    return context.layer(kind, value, weights, **found.data())


def grouped(context: OpContext, weights: Wire, position: int, groups: int) -> Wire:
    """The weights of an operand, [O, ...] or [I, ...], as [G, O/G, ...] or [G, I/G, ...]."""
    if groups == 1:
        return weights
    if weights.array is not None:
        array = weights.array
        return context.constant(array.reshape(groups, -1, *array.shape[1:]))
    rest = [dim for dim in (context.shape(position) or ())[1:] if isinstance(dim, int)]
    if len(rest) != context.rank(position) - 1:
        raise Refusal("the shape of its weights is not known")
    return context.layer("Reshape-1", weights, context.whole(groups, -1, *rest), special_zero=False)


def biased(context: OpContext, made: Wire, position: int) -> Wire:
    """Add one number per channel, if the bias is present."""
    if not context.has(position):
        return made
    wide = context.reshape(context[position], 1, -1, *[1] * (context.rank(1) - 2))
    return context.layer("Add-1", made, wide)


@operator("ConvTranspose")
def transposed(context: OpContext) -> Made:
    """The transposed convolution, by weights [I, O/G, ...]; its pads crop the result."""
    spatial = context.rank(1) - 2
    found = window(context, spatial)
    padding = context.integers("output_padding") or [0] * spatial
    found = _cutting(context, found, padding)
    groups = context.integer("group", 1)
    kind = "ConvolutionBackpropData-1" if groups == 1 else "GroupConvolutionBackpropData-1"
    data = found.data() | {"output_padding": padding}
    return biased(
        context, context.layer(kind, context[0], grouped(context, context[1], 1, groups), **data), 2
    )


def _cutting(context: OpContext, found: Window, padding: list[int]) -> Window:
    """The window with pads that yield the requested shape."""
    wanted = context.integers("output_shape")
    if wanted is None and found.auto_pad in ("explicit", "valid"):
        return found
    shape = context.shape(1) or ()
    totals = []
    for k, stride in enumerate(found.strides):
        kernel = shape[2 + k]
        length = context.extent(0, 2 + k)
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

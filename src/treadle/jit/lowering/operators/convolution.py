"""Windows over spatial axes: convolution as a matrix product, pooling as a reduction, of views.

A convolution with few terms and few output channels is a stencil: a sum of shifted views times
weights, computed in one fused nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Node
from treadle.jit.kernel.views import packed, same
from treadle.jit.lowering.operators.activation import Numbers
from treadle.jit.lowering.operators.matmul import product
from treadle.jit.lowering.operators.normalize import mean_of, per_channel
from treadle.jit.lowering.operators.padding import padded
from treadle.jit.lowering.operators.reduce import reduced
from treadle.jit.lowering.registry import Attributes, Operands, in_float32, lowers

_MAX_TERMS = 64
"""Products for one element of the result; a larger convolution is a host call."""
_MAX_CHANNELS = 8
"""Output channels of a convolution that is not depthwise."""


def _window(node: Node, kernel: Sequence[int], attributes: Attributes) -> ops.Window:
    extents = extents_of(node)[2:]
    if len(extents) != len(kernel):
        raise Declined(f"a window of rank {len(kernel)} over {len(extents)} spatial axes")
    try:
        return ops.window(
            extents, kernel, attributes.get("strides"), attributes.get("dilations"),
            attributes.get("pads"), attributes["auto_pad"], attributes.get("ceil_mode") or 0,
        )  # fmt: skip
    except ValueError as error:  # the interpreter reports operands that do not fit
        raise Declined(str(error)) from None


def windows(builder: KernelBuilder, node: Node, over: ops.Window, fill: Node) -> Node:
    """[*lead, *kernel, *windows]: the element of each window at each kernel position."""
    lead = len(node.shape) - len(over.kernel)
    wider = _wider(builder, node, over, fill)
    rank = len(over.kernel)
    axes = []
    for k, count in enumerate(over.kernel):
        step = (lead + rank + k, over.strides[k])
        axes.append(Axis(0, ((lead + k, over.dilations[k]), step) if count > 1 else (step,)))
    shape = (*extents_of(node)[:lead], *over.kernel, *over.shape)
    return builder.view(wider, shape, (*map(same, range(lead)), *axes))


def _wider(builder: KernelBuilder, node: Node, over: ops.Window, fill: Node) -> Node:
    """The input with its pads, without unused elements; raises Declined if there is no window."""
    if any(count < 1 for count in over.shape):
        raise Declined("a window larger than the padded input")
    lead = len(node.shape) - len(over.kernel)
    return padded(builder, node, [(0, 0)] * lead + over.widths, "constant", fill)


@lowers("Conv", 1, 11, 22)
@in_float32
def conv(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Every output channel is the sum over its group's channels and the kernel's positions."""
    x, weight, bias = (*operands, None)[:3]
    made = correlated(builder, x, weight, attributes)
    if bias is not None:
        builder.expect_shape(bias.shape, made.shape[1:2], "a bias of another rank than 1")
    return (
        made if bias is None else builder.map("add", made, per_channel(builder, bias, len(x.shape)))
    )


def correlated(builder: KernelBuilder, node: Node, weight: Node, attributes: Attributes) -> Node:
    """The windows as columns of one matrix per group, multiplied by the weights as rows."""
    (batch, channels, *_), (count, each, *kernel) = extents_of(node), extents_of(weight)
    group, over = attributes["group"], _window(node, kernel, attributes)
    if each * group != channels or count % group:
        raise Declined(
            f"{channels} input channels, {each} a group, {group} groups, {count} output channels"
        )
    is_depthwise = each == 1 and count == channels
    is_small = group == 1 and count <= _MAX_CHANNELS
    if each * prod(kernel) <= _MAX_TERMS and (is_depthwise or is_small):
        return _stencil(builder, node, weight, over)
    seen = windows(builder, node, over, builder.scalar(0, node.dtype))
    laid = seen if seen.size == node.size else packed(builder, seen)
    columns = builder.reshape(laid, (batch, group, each * prod(kernel), prod(over.shape)))
    rows = builder.reshape(weight, (group, count // group, each * prod(kernel)))
    made = product(builder, rows, columns)
    return builder.reshape(made, (batch, count, *over.shape))


def _stencil(builder: KernelBuilder, node: Node, weight: Node, over: ops.Window) -> Node:
    """The sum over kernel positions of shifted inputs times the weights of all output channels.

    Each output channel reads one input channel, or all of them read all.
    """
    count, each, *kernel = extents_of(weight)
    channels = count if each == 1 else 1
    wider = _wider(builder, node, over, builder.scalar(0, node.dtype))
    shape = (extents_of(node)[0], channels, *over.shape)
    spread = (count, *(1 for _ in kernel))
    total: Node | None = None
    for channel, *offsets in np.ndindex(each, *kernel):
        own = same(1) if extents_of(node)[1] > 1 and each == 1 else Axis(channel)
        shifts = zip(offsets, over.dilations, over.strides, strict=True)
        spatial = [
            Axis(at * dilation, ((k, stride),))
            for k, (at, dilation, stride) in enumerate(shifts, start=2)
        ]
        seen = builder.view(wider, shape, (same(0), own, *spatial))
        factor = builder.view(weight, spread, (same(0), *map(Axis, (channel, *offsets))))
        term = builder.map("mul", seen, factor)
        total = term if total is None else builder.map("add", total, term)
    assert total is not None
    return total


@lowers("ConvInteger", 10)
def conv_integer(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The int32 convolution of the operands minus their zero points; pads are zero points too."""
    x, weight, x_zero, weight_zero = (*operands, None, None)[:4]
    return correlated(
        builder,
        _centred(builder, x, x_zero, 0),
        _centred(builder, weight, weight_zero, 0),
        attributes,
    )


def _centred(builder: KernelBuilder, node: Node, zero: Node | None, axis: int) -> Node:
    """As int32 minus the zero point, which is a scalar or per position along the axis."""
    node = builder.cast(node, DType.INT32)
    if zero is None:
        return node
    if zero.size == 1:
        return builder.map("sub", node, builder.cast(builder.reshape(zero, ()), DType.INT32))
    if len(zero.shape) != 1:
        raise Declined("zero points of several axes")
    shape = [zero.size if k == axis else 1 for k in range(len(node.shape))]
    return builder.map("sub", node, builder.cast(builder.reshape(zero, shape), DType.INT32))


@lowers("MaxPool", 1, 8, 10, 11, 12, 22)
@in_float32
def max_pool(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The largest element of each window; the indices are declined."""
    x = operands[0]
    if attributes["results"] > 1:
        raise Declined("the second result, the indices of the largest elements")
    over = _window(x, attributes["kernel_shape"], attributes)
    dtype = x.dtype.numpy
    lowest = np.iinfo(dtype.name).min if dtype.kind in "iu" else -np.inf
    seen = windows(builder, x, over, builder.scalar(lowest, x.dtype))
    return reduced(builder, "max", seen, range(2, 2 + len(over.kernel)), keep=False)


@lowers("AveragePool", 1, 7, 10, 11, 19, 22)
@in_float32
def average_pool(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The mean of each window; pads count if the attribute says so, elements beyond them never."""
    x = operands[0]
    over = _window(x, attributes["kernel_shape"], attributes)
    axes = range(2, 2 + len(over.kernel))
    total = reduced(
        builder, "add", windows(builder, x, over, builder.scalar(0, x.dtype)), axes, keep=False
    )
    counts = _counts(over, bool(attributes.get("count_include_pad")))
    return builder.map("div", total, builder.constant(counts.astype(x.dtype.numpy)))


def _counts(over: ops.Window, with_pads: bool) -> np.ndarray:
    """The number of elements that count in each window."""
    inside = np.ones(over.extents)
    if with_pads:
        inside = np.pad(inside, over.pads, constant_values=1)
        beyond = [(0, w[1] - p[1]) for w, p in zip(over.widths, over.pads, strict=True)]
        inside = np.pad(inside, beyond)
    else:
        inside = np.pad(inside, over.widths)
    return np.asarray(sum(inside[index] for index in over.positions()))


@lowers("LpPool", 1, 2, 11, 18, 22)
@in_float32
def lp_pool(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The p-norm of each window; p of less than 1 is left to interp's kernel."""
    if attributes["p"] < 1:
        raise Declined(f"an LpPool of p = {attributes['p']}")
    x, kernel = operands[0], attributes.get("kernel_shape")
    over = _window(x, extents_of(x)[2:] if kernel is None else kernel, attributes)
    seen = windows(builder, x, over, builder.scalar(0, x.dtype))
    return _norm(builder, seen, range(2, 2 + len(over.kernel)), attributes["p"], keep=False)


def _norm(
    builder: KernelBuilder, node: Node, axes: Sequence[int], value: float, *, keep: bool
) -> Node:
    n = Numbers(builder, node.dtype)
    total = reduced(builder, "add", n.pow(n.abs(node), value), axes, keep=keep)
    return n.pow(total, 1 / value)


def _spatial(node: Node) -> range:
    return range(2, len(node.shape))


@lowers("GlobalAveragePool", 1, 22)
@in_float32
def global_average_pool(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The mean of each plane."""
    x = operands[0]
    return mean_of(builder, Numbers(builder, x.dtype), x, _spatial(x))


@lowers("GlobalMaxPool", 1, 22)
@in_float32
def global_max_pool(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The largest element of each plane."""
    return reduced(builder, "max", operands[0], _spatial(operands[0]), keep=True)


@lowers("GlobalLpPool", 1, 2, 22)
@in_float32
def global_lp_pool(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The p-norm of each plane."""
    x = operands[0]
    return _norm(builder, x, _spatial(x), attributes["p"], keep=True)

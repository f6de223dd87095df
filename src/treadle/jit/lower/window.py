"""Windows over spatial axes: convolution as a product, pooling as a reduction, of views.

A convolution of few terms that gives few channels is a stencil: a sum of shifted views, each times
a weight, which one nest of loops computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from treadle import ops
from treadle.ir import DType
from treadle.jit.building import Building, extents_of, packed
from treadle.jit.kernel_ir import Axis, Node
from treadle.jit.lower.activation import Numbers
from treadle.jit.lower.contract import product
from treadle.jit.lower.fill import padded
from treadle.jit.lower.index import same
from treadle.jit.lower.normalize import mean_of, per_channel
from treadle.jit.lower.reduce import reduced
from treadle.jit.lower.registry import lowers, wide
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]
Operands = Sequence[Any]
_MOST_TERMS, _MOST_CHANNELS = 64, 8


def _window(x: Node, kernel: Sequence[int], attributes: Attributes) -> ops.Window:
    extents = extents_of(x)[2:]
    if len(extents) != len(kernel):
        raise Declined("a window of another rank")
    try:
        return ops.window(
            extents, kernel, attributes.get("strides"), attributes.get("dilations"),
            attributes.get("pads"), attributes["auto_pad"], attributes.get("ceil_mode") or 0,
        )  # fmt: skip
    except ValueError as error:  # the operands do not fit, and the interpreter says so
        raise Declined(str(error)) from None


def windows(b: Building, x: Node, over: ops.Window, fill: Node) -> Node:
    """[*lead, *kernel, *windows]: what each window sees at each position of its kernel."""
    lead = len(x.shape) - len(over.kernel)
    wider = _wider(b, x, over, fill)
    rank = len(over.kernel)
    axes = []
    for k, count in enumerate(over.kernel):
        step = (lead + rank + k, over.strides[k])
        axes.append(Axis(0, ((lead + k, over.dilations[k]), step) if count > 1 else (step,)))
    shape = (*extents_of(x)[:lead], *over.kernel, *over.shape)
    return b.view(wider, shape, (*map(same, range(lead)), *axes))


def _wider(b: Building, x: Node, over: ops.Window, fill: Node) -> Node:
    """With its pads, and without what no window sees; Declined where there is no window."""
    if any(count < 1 for count in over.shape):
        raise Declined("a window that does not fit")
    lead = len(x.shape) - len(over.kernel)
    return padded(b, x, [(0, 0)] * lead + over.widths, "constant", fill)


@lowers("Conv", 1, 11, 22)
@wide
def conv(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """Every output channel is the sum over its group's channels and the kernel's positions."""
    x, weight, bias = (*operands, None)[:3]
    made = correlated(b, x, weight, attributes)
    if bias is not None:
        b.expect_shape(bias.shape, made.shape[1:2], "a bias of another rank than 1")
    return made if bias is None else b.map("add", made, per_channel(b, bias, len(x.shape)))


def correlated(b: Building, x: Node, weight: Node, attributes: Attributes) -> Node:
    """The windows as columns of one matrix for each group, multiplied by the weights as rows."""
    (batch, channels, *_), (count, each, *kernel) = extents_of(x), extents_of(weight)
    group, over = attributes["group"], _window(x, kernel, attributes)
    if each * group != channels or count % group:
        raise Declined("a Conv that does not fit")
    is_depthwise = each == 1 and count == channels
    is_small = group == 1 and count <= _MOST_CHANNELS
    if each * prod(kernel) <= _MOST_TERMS and (is_depthwise or is_small):
        return _stencil(b, x, weight, over)
    seen = windows(b, x, over, b.scalar(0, x.dtype))
    laid = seen if seen.size == x.size else packed(b, seen)
    columns = b.reshape(laid, (batch, group, each * prod(kernel), prod(over.shape)))
    rows = b.reshape(weight, (group, count // group, each * prod(kernel)))
    made = product(b, rows, columns)
    return b.reshape(made, (batch, count, *over.shape))


def _stencil(b: Building, x: Node, weight: Node, over: ops.Window) -> Node:
    """The sum over the kernel of shifted inputs, each times the weights of all output channels.

    Each output channel reads one input channel, or all of them read every one.
    """
    count, each, *kernel = extents_of(weight)
    channels = count if each == 1 else 1
    wider = _wider(b, x, over, b.scalar(0, x.dtype))
    shape = (extents_of(x)[0], channels, *over.shape)
    spread = (count, *(1 for _ in kernel))
    total: Node | None = None
    for channel, *place in np.ndindex(each, *kernel):
        own = same(1) if extents_of(x)[1] > 1 and each == 1 else Axis(channel)
        shifts = zip(place, over.dilations, over.strides, strict=True)
        spatial = [
            Axis(at * dilation, ((k, stride),))
            for k, (at, dilation, stride) in enumerate(shifts, start=2)
        ]
        seen = b.view(wider, shape, (same(0), own, *spatial))
        factor = b.view(weight, spread, (same(0), *map(Axis, (channel, *place))))
        term = b.map("mul", seen, factor)
        total = term if total is None else b.map("add", total, term)
    assert total is not None
    return total


@lowers("ConvInteger", 10)
def conv_integer(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The convolution in int32 of the operands without their zero points, which pad too."""
    x, weight, x_zero, weight_zero = (*operands, None, None)[:4]
    return correlated(b, _centred(b, x, x_zero, 0), _centred(b, weight, weight_zero, 0), attributes)


@lowers("MatMulInteger", 10)
def matmul_integer(b: Building, operands: Operands, _: Attributes) -> Node:
    """(A - its zero point) @ (B - its zero point) in int32; zero points by row and by column."""
    left, right, left_zero, right_zero = (*operands, None, None)[:4]
    return product(b, _centred(b, left, left_zero, len(left.shape) - 2),
                   _centred(b, right, right_zero, len(right.shape) - 1))  # fmt: skip


def _centred(b: Building, x: Node, zero: Node | None, axis: int) -> Node:
    """In int32, without the zero point: one for all, or one for each place along the axis."""
    x = b.cast(x, DType.INT32)
    if zero is None:
        return x
    if zero.size == 1:
        return b.map("sub", x, b.cast(b.reshape(zero, ()), DType.INT32))
    if len(zero.shape) != 1:
        raise Declined("zero points of several axes")
    shape = [zero.size if k == axis else 1 for k in range(len(x.shape))]
    return b.map("sub", x, b.cast(b.reshape(zero, shape), DType.INT32))


@lowers("MaxPool", 1, 8, 10, 11, 12, 22)
@wide
def max_pool(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The largest element of each window; where it lies is declined."""
    x = operands[0]
    if attributes["results"] > 1:
        raise Declined("where the largest elements are")
    over = _window(x, attributes["kernel_shape"], attributes)
    dtype = x.dtype.numpy
    lowest = np.iinfo(dtype.name).min if dtype.kind in "iu" else -np.inf
    seen = windows(b, x, over, b.scalar(lowest, x.dtype))
    return reduced(b, "max", seen, range(2, 2 + len(over.kernel)), keep=False)


@lowers("AveragePool", 1, 7, 10, 11, 19, 22)
@wide
def average_pool(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The mean of each window; pads count where the attribute says so, what is beyond never."""
    x = operands[0]
    over = _window(x, attributes["kernel_shape"], attributes)
    axes = range(2, 2 + len(over.kernel))
    total = reduced(b, "add", windows(b, x, over, b.scalar(0, x.dtype)), axes, keep=False)
    counts = _counts(over, bool(attributes.get("count_include_pad")))
    return b.map("div", total, b.constant(counts.astype(x.dtype.numpy)))


def _counts(over: ops.Window, with_pads: bool) -> np.ndarray:
    """How many elements each window counts."""
    inside = np.ones(over.extents)
    if with_pads:
        inside = np.pad(inside, over.pads, constant_values=1)
        beyond = [(0, w[1] - p[1]) for w, p in zip(over.widths, over.pads, strict=True)]
        inside = np.pad(inside, beyond)
    else:
        inside = np.pad(inside, over.widths)
    return np.asarray(sum(inside[index] for index in over.positions()))


@lowers("LpPool", 1, 2, 11, 18, 22)
@wide
def lp_pool(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The p-norm of each window."""
    x, kernel = operands[0], attributes.get("kernel_shape")
    over = _window(x, extents_of(x)[2:] if kernel is None else kernel, attributes)
    seen = windows(b, x, over, b.scalar(0, x.dtype))
    return _norm(b, seen, range(2, 2 + len(over.kernel)), attributes["p"], keep=False)


def _norm(b: Building, x: Node, axes: Sequence[int], p: float, *, keep: bool) -> Node:
    n = Numbers(b, x.dtype)
    total = reduced(b, "add", n.pow(n.abs(x), p), axes, keep=keep)
    return n.pow(total, 1 / p)


def _spatial(x: Node) -> range:
    return range(2, len(x.shape))


@lowers("GlobalAveragePool", 1, 22)
@wide
def global_average_pool(b: Building, operands: Operands, _: Attributes) -> Node:
    """The mean of each plane."""
    x = operands[0]
    return mean_of(b, Numbers(b, x.dtype), x, _spatial(x))


@lowers("GlobalMaxPool", 1, 22)
@wide
def global_max_pool(b: Building, operands: Operands, _: Attributes) -> Node:
    """The largest element of each plane."""
    return reduced(b, "max", operands[0], _spatial(operands[0]), keep=True)


@lowers("GlobalLpPool", 1, 2, 22)
@wide
def global_lp_pool(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The p-norm of each plane."""
    x = operands[0]
    return _norm(b, x, _spatial(x), attributes["p"], keep=True)

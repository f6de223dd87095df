"""Normalizations, and softmax of old opsets.

Statistics of 16-bit floats are computed in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node, show_node
from treadle.jit.lowering.operators.activation import Numbers
from treadle.jit.lowering.operators.argmax_topk import hardmax
from treadle.jit.lowering.operators.axes import nonnegative_axes, nonnegative_axis
from treadle.jit.lowering.operators.reduce import reduced
from treadle.jit.lowering.registry import (
    NARROW,
    TABLE,
    Attributes,
    Lowering,
    Operands,
    in_float32,
    lowers,
)
from treadle.ops import element_from_proto


def _stashed(builder: KernelBuilder, node: Node) -> Node:
    return builder.cast(node, DType.FLOAT32) if node.dtype in NARROW else node


def mean_of(builder: KernelBuilder, numbers: Numbers, node: Node, axes: Sequence[int]) -> Node:
    """The mean over axes, which are kept."""
    count = builder.cast(
        builder.dim(builder.product([node.shape[axis] for axis in axes])), node.dtype
    )
    return numbers.div(reduced(builder, "add", node, axes, keep=True), count)


def standard(
    builder: KernelBuilder, node: Node, axes: Sequence[int], epsilon: float
) -> tuple[Node, Node, Node]:
    """The standardized tensor, the mean, and the inverse of the standard deviation."""
    n = Numbers(builder, node.dtype)
    mean = mean_of(builder, n, node, axes)
    apart = n.sub(node, mean)
    spread = mean_of(builder, n, n.mul(apart, apart), axes)
    inverse = n.div(1, n.sqrt(n.add(spread, epsilon)))
    return n.mul(apart, inverse), mean, inverse


def _behind(axis: int, node: Node) -> list[int]:
    return list(range(nonnegative_axis(axis, len(node.shape)), len(node.shape)))


@lowers("LayerNormalization", 17)
def layer_normalization(
    builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Sequence[Node]:
    """Normalize over the axes from `axis` on; also returns mean and inverse standard deviation."""
    x, scale, bias = (*operands, None)[:3]
    axes = _behind(attributes["axis"], x)
    normal, mean, inverse = standard(builder, _stashed(builder, x), axes, attributes["epsilon"])
    result = builder.map("mul", builder.cast(normal, x.dtype), scale)
    result = result if bias is None else builder.map("add", result, bias)
    stash = element_from_proto(attributes["stash_type"])
    assert stash is not None
    return result, builder.cast(mean, stash), builder.cast(inverse, stash)


@lowers("RMSNormalization", 23)
def rms_normalization(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Divide x by its root mean square over the axes from `axis` on."""
    x, scale = operands
    given = _stashed(builder, x)
    n = Numbers(builder, given.dtype)
    square = mean_of(builder, n, n.mul(given, given), _behind(attributes["axis"], x))
    normal = n.div(given, n.sqrt(n.add(square, attributes["epsilon"])))
    if scale.dtype != x.dtype:
        raise Declined("a scale of another dtype than the input")
    return builder.map("mul", builder.cast(normal, x.dtype), scale)


def per_channel(builder: KernelBuilder, node: Node, rank: int) -> Node:
    """A vector reshaped to lie along axis 1 of tensors of the rank."""
    return (
        builder.reshape(node, (node.shape[0], *(1,) * (rank - 2))) if len(node.shape) == 1 else node
    )


@lowers("BatchNormalization", 1, 6, 7, 9, 14, 15)
def batch_normalization(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Normalize by the given statistics; training is declined."""
    x, *parts = operands
    if attributes.get("training_mode") or attributes.get("results", 1) > 1:
        raise Declined("training mode")
    scale, bias, mean, var = (
        per_channel(builder, _stashed(builder, part), len(x.shape)) for part in parts
    )
    n = Numbers(builder, var.dtype)
    apart = _promoted(builder, "sub", _stashed(builder, x), mean)
    normal = _promoted(builder, "div", apart, n.sqrt(n.add(var, attributes["epsilon"])))
    return builder.cast(
        _promoted(builder, "add", _promoted(builder, "mul", scale, normal), bias), x.dtype
    )


def _promoted(builder: KernelBuilder, function: str, left: Node, right: Node) -> Node:
    """A function of floats, in the wider of their types."""
    dtype = DType.FLOAT64 if DType.FLOAT64 in (left.dtype, right.dtype) else left.dtype
    return builder.map(function, builder.cast(left, dtype), builder.cast(right, dtype))


@lowers("InstanceNormalization", 1, 6, 22)
@in_float32
def instance_normalization(
    builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node:
    """Normalize every channel of every instance by its own statistics."""
    x, *parts = operands
    rank = len(x.shape)
    normal, _, _ = standard(builder, x, range(2, rank), attributes["epsilon"])
    scale, bias = (per_channel(builder, part, rank) for part in parts)
    return builder.map("add", builder.map("mul", normal, scale), bias)


def _grouped(
    builder: KernelBuilder, operands: Operands, attributes: Attributes, *, by_group: bool
) -> Node:
    x, *parts = operands
    given, groups = extents_of(x), attributes["num_groups"]
    if groups < 1 or given[1] % groups:
        raise Declined(f"{given[1]} channels in {groups} groups")
    for part in parts:
        wanted = (groups if by_group else given[1],)
        builder.expect_shape(part.shape, wanted, f"{show_node(part)} beside {wanted[0]} numbers")
    rows = builder.reshape(_stashed(builder, x), (given[0], groups, prod(given[1:]) // groups))
    normal = builder.cast(
        builder.reshape(standard(builder, rows, [2], attributes["epsilon"])[0], given), x.dtype
    )
    if by_group:
        each = given[1] // groups
        parts = [
            builder.reshape(
                builder.expand(builder.reshape(p, (groups, 1)), (groups, each)), (given[1],)
            )
            for p in parts
        ]
    scale, bias = (per_channel(builder, part, len(given)) for part in parts)
    return builder.map("add", builder.map("mul", normal, scale), bias)


lowers("GroupNormalization", 18)(partial(_grouped, by_group=True))
lowers("GroupNormalization", 21)(partial(_grouped, by_group=False))


@lowers("MeanVarianceNormalization", 9, 13)
@in_float32
def mean_variance_normalization(
    builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node:
    """(x - mean) / (standard deviation + 1e-9) over the axes."""
    x = operands[0]
    n = Numbers(builder, x.dtype)
    axes = nonnegative_axes(attributes["axes"], len(x.shape))
    mean = mean_of(builder, n, x, axes)
    spread = n.sub(mean_of(builder, n, n.mul(x, x), axes), n.mul(mean, mean))
    return n.div(n.sub(x, mean), n.add(n.sqrt(spread), 1e-9))


@lowers("LpNormalization", 1, 22)
@in_float32
def lp_normalization(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Divide x by its 1-norm or 2-norm along an axis; 0 where the norm is 0."""
    x, is_first = operands[0], attributes["p"] == 1
    n = Numbers(builder, x.dtype)
    size = n.abs(x) if is_first else n.mul(x, x)
    total = reduced(
        builder, "add", size, [nonnegative_axis(attributes["axis"], len(x.shape))], keep=True
    )
    norm = total if is_first else n.sqrt(total)
    return n.where(n.equal(norm, 0), 0, n.div(x, norm))


def _by_rows(
    newer: Lowering, builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node:
    """Opsets 1 to 12: flatten the axes from `axis` on into one axis."""
    x, first = operands[0], nonnegative_axis(attributes["axis"], len(operands[0].shape))
    if 0 in x.shape:
        node: Node = x
        return node
    rows = builder.reshape(x, (builder.product(x.shape[:first]), builder.product(x.shape[first:])))
    made = newer(builder, [rows], {**attributes, "axis": -1})
    assert isinstance(made, Node)
    return builder.reshape(made, x.shape)


for _op, _newer in (
    ("Softmax", TABLE["Softmax", 13]), ("LogSoftmax", TABLE["LogSoftmax", 13]), ("Hardmax", hardmax)
):  # fmt: skip
    lowers(_op, 1, 11)(partial(_by_rows, _newer))

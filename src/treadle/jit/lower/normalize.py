"""Normalizations, softmax of old opsets. Statistics of 16-bit floats are taken in float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building, extents_of
from treadle.jit.kernel_ir import Node
from treadle.jit.lower.activation import Numbers
from treadle.jit.lower.index import positive
from treadle.jit.lower.reduce import reduced
from treadle.jit.lower.registry import NARROW, TABLE, Lowering, lowers, wide
from treadle.jit.lower.select import hardmax
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]
Operands = Sequence[Any]


def _stashed(b: Building, x: Node) -> Node:
    return b.cast(x, DType.FLOAT32) if x.dtype in NARROW else x


def mean_of(b: Building, n: Numbers, x: Node, axes: Sequence[int]) -> Node:
    """The mean over axes that are kept."""
    count = b.cast(b.dim(b.product([x.shape[axis] for axis in axes])), x.dtype)
    return n.div(reduced(b, "add", x, axes, keep=True), count)


def standard(b: Building, x: Node, axes: Sequence[int], epsilon: float) -> tuple[Node, Node, Node]:
    """The standardized tensor, the mean, and the inverse of the standard deviation."""
    n = Numbers(b, x.dtype)
    mean = mean_of(b, n, x, axes)
    apart = n.sub(x, mean)
    spread = mean_of(b, n, n.mul(apart, apart), axes)
    inverse = n.div(1, n.sqrt(n.add(spread, epsilon)))
    return n.mul(apart, inverse), mean, inverse


def _behind(axis: int, x: Node) -> list[int]:
    return list(range(positive(axis, len(x.shape)), len(x.shape)))


@lowers("LayerNormalization", 17)
def layer_normalization(b: Building, operands: Operands, attributes: Attributes) -> Sequence[Node]:
    """Over the axes from `axis` on; also gives the mean and the inverse standard deviation."""
    x, scale, bias = (*operands, None)[:3]
    axes = _behind(attributes["axis"], x)
    normal, mean, inverse = standard(b, _stashed(b, x), axes, attributes["epsilon"])
    result = b.map("mul", b.cast(normal, x.dtype), scale)
    return (result if bias is None else b.map("add", result, bias)), mean, inverse


@lowers("RMSNormalization", 23)
def rms_normalization(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """X over the root of its mean square, over the axes from `axis` on."""
    x, scale = operands
    given = _stashed(b, x)
    n = Numbers(b, given.dtype)
    square = mean_of(b, n, n.mul(given, given), _behind(attributes["axis"], x))
    normal = n.div(given, n.sqrt(n.add(square, attributes["epsilon"])))
    if scale.dtype != x.dtype:
        raise Declined("a scale of another dtype")
    return b.map("mul", b.cast(normal, x.dtype), scale)


def per_channel(b: Building, x: Node, rank: int) -> Node:
    """A vector along axis 1 of tensors of the rank."""
    return b.reshape(x, (x.shape[0], *(1,) * (rank - 2))) if len(x.shape) == 1 else x


@lowers("BatchNormalization", 1, 6, 7, 9, 14, 15)
def batch_normalization(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """By the statistics given; training is declined."""
    x, *parts = operands
    if attributes.get("training_mode") or attributes.get("results", 1) > 1:
        raise Declined("training")
    scale, bias, mean, var = (per_channel(b, _stashed(b, part), len(x.shape)) for part in parts)
    n = Numbers(b, var.dtype)
    apart = _promoted(b, "sub", _stashed(b, x), mean)
    normal = _promoted(b, "div", apart, n.sqrt(n.add(var, attributes["epsilon"])))
    return b.cast(_promoted(b, "add", _promoted(b, "mul", scale, normal), bias), x.dtype)


def _promoted(b: Building, function: str, left: Node, right: Node) -> Node:
    """A function of floats, one of which may be wider than the other."""
    dtype = DType.FLOAT64 if DType.FLOAT64 in (left.dtype, right.dtype) else left.dtype
    return b.map(function, b.cast(left, dtype), b.cast(right, dtype))


@lowers("InstanceNormalization", 1, 6, 22)
@wide
def instance_normalization(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """Every channel of every instance by its own statistics."""
    x, *parts = operands
    rank = len(x.shape)
    normal, _, _ = standard(b, x, range(2, rank), attributes["epsilon"])
    scale, bias = (per_channel(b, part, rank) for part in parts)
    return b.map("add", b.map("mul", normal, scale), bias)


def _grouped(b: Building, operands: Operands, attributes: Attributes, *, by_group: bool) -> Node:
    x, *parts = operands
    given, groups = extents_of(x), attributes["num_groups"]
    rows = b.reshape(_stashed(b, x), (given[0], groups, prod(given[1:]) // max(groups, 1)))
    normal = b.cast(b.reshape(standard(b, rows, [2], attributes["epsilon"])[0], given), x.dtype)
    if by_group:
        each = given[1] // groups
        parts = [b.reshape(b.expand(b.reshape(p, (groups, 1)), (groups, each)), (given[1],))
                 for p in parts]  # fmt: skip
    scale, bias = (per_channel(b, part, len(given)) for part in parts)
    return b.map("add", b.map("mul", normal, scale), bias)


lowers("GroupNormalization", 18)(partial(_grouped, by_group=True))
lowers("GroupNormalization", 21)(partial(_grouped, by_group=False))


@lowers("MeanVarianceNormalization", 9, 13)
@wide
def mean_variance_normalization(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """(x - mean) / (standard deviation + 1e-9) over the axes."""
    x = operands[0]
    n = Numbers(b, x.dtype)
    axes = [positive(axis, len(x.shape)) for axis in attributes["axes"]]
    mean = mean_of(b, n, x, axes)
    spread = n.sub(mean_of(b, n, n.mul(x, x), axes), n.mul(mean, mean))
    return n.div(n.sub(x, mean), n.add(n.sqrt(spread), 1e-9))


@lowers("LpNormalization", 1, 22)
@wide
def lp_normalization(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """X over its 1-norm or 2-norm along an axis; 0 where the norm is 0."""
    x, is_first = operands[0], attributes["p"] == 1
    n = Numbers(b, x.dtype)
    size = n.abs(x) if is_first else n.mul(x, x)
    total = reduced(b, "add", size, [positive(attributes["axis"], len(x.shape))], keep=True)
    norm = total if is_first else n.sqrt(total)
    return n.where(n.holds("equal", norm, 0), 0, n.div(x, norm))


def _by_rows(newer: Lowering, b: Building, operands: Operands, attributes: Attributes) -> Node:
    """The opset 1 to 12 form: the tensor is flattened to rows of everything from `axis` on."""
    x, first = operands[0], positive(attributes["axis"], len(operands[0].shape))
    if 0 in x.shape:
        node: Node = x
        return node
    rows = b.reshape(x, (b.product(x.shape[:first]), b.product(x.shape[first:])))
    made = newer(b, [rows], {**attributes, "axis": -1})
    assert isinstance(made, Node)
    return b.reshape(made, x.shape)


for _op, _newer in (
    ("Softmax", TABLE["Softmax", 13]), ("LogSoftmax", TABLE["LogSoftmax", 13]), ("Hardmax", hardmax)
):  # fmt: skip
    lowers(_op, 1, 11)(partial(_by_rows, _newer))

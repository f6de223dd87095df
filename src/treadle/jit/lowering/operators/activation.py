"""Activations: compositions of scalar functions, each by the formula of its schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node
from treadle.jit.lowering.registry import (
    NARROW,
    Attributes,
    Operands,
    as_floats,
    in_float32,
    lowers,
)

FLOATS = (DType.FLOAT32, DType.FLOAT64)


class Numbers:
    """Scalar functions of nodes and Python numbers, for formulas: `n.add(n.mul(x, 2), 1)`."""

    def __init__(self, builder: KernelBuilder, dtype: DType) -> None:
        if dtype not in (*FLOATS, *NARROW):
            raise Declined(f"an activation of {dtype}: a float type is needed")
        self.builder, self.dtype = builder, dtype

    def node(self, value: Node | float) -> Node:
        """A number as a constant."""
        return value if isinstance(value, Node) else self.builder.scalar(value, self.dtype)

    def __getattr__(self, function: str) -> Callable[..., Node]:
        return lambda *values: self.builder.map(function, *map(self.node, values))


def _elu(numbers: Numbers, node: Node, alpha: float) -> Node:
    return numbers.where(
        numbers.less(node, 0), numbers.mul(alpha, numbers.expm1(numbers.min(node, 0))), node
    )


def _celu(numbers: Numbers, node: Node, alpha: float) -> Node:
    below = numbers.mul(alpha, numbers.expm1(numbers.div(node, alpha)))
    return numbers.add(numbers.max(node, 0), numbers.min(0, below))


def _selu(numbers: Numbers, node: Node, alpha: float, gamma: float) -> Node:
    below = numbers.mul(alpha, numbers.expm1(numbers.min(node, 0)))
    return numbers.mul(gamma, numbers.where(numbers.greater(node, 0), node, below))


def _thresholded_relu(numbers: Numbers, node: Node, alpha: float) -> Node:
    return numbers.where(numbers.greater(node, alpha), node, 0)


def _gelu(numbers: Numbers, node: Node, approximate: str) -> Node:
    half = numbers.mul(0.5, node)
    if approximate == "tanh":
        cube = numbers.mul(numbers.mul(node, node), node)
        inner = numbers.mul(math.sqrt(2 / math.pi), numbers.add(node, numbers.mul(0.044715, cube)))
        return numbers.mul(half, numbers.add(1, numbers.tanh(inner)))
    if node.dtype is DType.FLOAT32:
        return numbers.mul(half, numbers.normal_tail(numbers.neg(node)))
    return numbers.mul(half, numbers.erfc(numbers.mul(node, -math.sqrt(0.5))))


def _swish(numbers: Numbers, node: Node, alpha: float) -> Node:
    return numbers.mul(node, numbers.sigmoid(numbers.mul(alpha, node)))


def _softsign(numbers: Numbers, node: Node) -> Node:
    return numbers.div(node, numbers.add(1, numbers.abs(node)))


def _hard_sigmoid(numbers: Numbers, node: Node, alpha: float, beta: float) -> Node:
    line = numbers.add(numbers.mul(alpha, node), beta)
    return numbers.min(numbers.max(line, 0), 1)


def _hard_swish(numbers: Numbers, node: Node) -> Node:
    return numbers.mul(node, numbers.min(numbers.max(numbers.add(numbers.div(node, 6), 0.5), 0), 1))


def _mish(numbers: Numbers, node: Node) -> Node:
    """X * tanh(log(1 + e)), e = exp(x), that is x * e * (e + 2) / (e * (e + 2) + 2).

    e is computed as a square, so that it is not rounded as a denormal before the multiplication by
    x; from 20 on the fraction is 1.
    """
    root = numbers.exp(numbers.mul(0.5, numbers.min(node, 20)))
    e = numbers.mul(root, root)
    more = numbers.add(e, 2)
    fraction = numbers.div(more, numbers.add(numbers.mul(e, more), 2))
    return numbers.mul(numbers.mul(numbers.mul(node, root), fraction), root)


def _leaky_relu(numbers: Numbers, node: Node, alpha: float) -> Node:
    return numbers.where(numbers.less(node, 0), numbers.mul(node, alpha), node)


def _activation(
    formula: Callable[..., Node],
    names: Sequence[str],
    builder: KernelBuilder,
    node: Node,
    attributes: Attributes,
) -> Node:
    return formula(Numbers(builder, node.dtype), node, *(attributes[name] for name in names))


_TABLE: Sequence[tuple[str, Callable[..., Node], tuple[str, ...], tuple[int, ...]]] = (
    ("Elu", _elu, ("alpha",), (1, 6, 22)),
    ("Celu", _celu, ("alpha",), (12, 28)),
    ("Selu", _selu, ("alpha", "gamma"), (1, 6, 22)),
    ("ThresholdedRelu", _thresholded_relu, ("alpha",), (10, 22)),
    ("Gelu", _gelu, ("approximate",), (20,)),
    ("Swish", _swish, ("alpha",), (24,)),
    ("Softsign", _softsign, (), (1, 22)),
    ("HardSigmoid", _hard_sigmoid, ("alpha", "beta"), (1, 6, 22)),
    ("HardSwish", _hard_swish, (), (14, 22)),
    ("Mish", _mish, (), (18, 22)),
    ("LeakyRelu", _leaky_relu, ("alpha",), (1, 6, 16)),
)


def _enter(
    op: str, formula: Callable[..., Node], names: tuple[str, ...], versions: tuple[int, ...]
) -> None:
    def lowering(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
        return _activation(formula, names, builder, operands[0], attributes)

    lowers(op, *versions)(in_float32(lowering))


for _row in _TABLE:
    _enter(*_row)


@lowers("Shrink", 9)
def shrink(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """X pulled toward 0 by the bias outside of [-lambd, lambd], 0 inside; float16 is rounded."""
    x = as_floats(builder, operands[0])
    n, bias, most = Numbers(builder, x.dtype), attributes["bias"], attributes["lambd"]
    above = n.where(n.greater(x, most), n.sub(x, bias), 0)
    pulled = n.where(n.less(x, -most), n.add(x, bias), above)
    return builder.cast(pulled, operands[0].dtype)


@lowers("SwiGLU", 28)
@in_float32
def swiglu(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """swish(gate) * x."""
    gate, x = operands
    n = Numbers(builder, x.dtype)
    return n.mul(_swish(n, gate, attributes["alpha"]), x)


@lowers("PRelu", 7, 9, 16)
@in_float32
def parametric_relu(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """X where it is positive, slope * x elsewhere."""
    return _sloped(builder, *operands)


def _sloped(builder: KernelBuilder, node: Node, slope: Node) -> Node:
    below = builder.map("less", node, builder.scalar(0, node.dtype))
    return builder.map("where", below, builder.map("mul", node, slope), node)


@lowers("PRelu", 1, 6)
@in_float32
def parametric_relu_1(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """One slope for everything, or one per channel (axis 1)."""
    x, slope = operands
    given = extents_of(slope)
    if len(given) == 1 and given[0] > 1:
        slope = builder.reshape(slope, (given[0],) + (1,) * (len(x.shape) - 2))
    return _sloped(builder, x, slope)

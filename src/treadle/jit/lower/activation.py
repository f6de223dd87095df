"""Activations: compositions of scalar functions, each by the formula of its schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building, extents_of
from treadle.jit.kernel_ir import Node
from treadle.jit.lower.registry import NARROW, as_floats, lowers, wide
from treadle.jit.nodes import Declined

Operands = Sequence[Node]
Attributes = Mapping[str, Any]
FLOATS = (DType.FLOAT32, DType.FLOAT64)


class Numbers:
    """Scalar functions of nodes and Python numbers, for formulas: `n.add(n.mul(x, 2), 1)`."""

    def __init__(self, b: Building, dtype: DType) -> None:
        if dtype not in (*FLOATS, *NARROW):
            raise Declined(f"an activation of {dtype}")
        self.b, self.dtype = b, dtype

    def node(self, value: Node | float) -> Node:
        """A number as a constant."""
        return value if isinstance(value, Node) else self.b.scalar(value, self.dtype)

    def __getattr__(self, function: str) -> Callable[..., Node]:
        return lambda *values: self.b.map(function, *map(self.node, values), dtype=self.dtype)

    def where(self, condition: Node, yes: Node | float, no: Node | float) -> Node:
        """One of two by a bool."""
        return self.b.map("where", condition, self.node(yes), self.node(no), dtype=self.dtype)

    def holds(self, comparison: str, left: Node | float, right: Node | float) -> Node:
        """A comparison."""
        return self.b.map(comparison, self.node(left), self.node(right), dtype=DType.BOOL)


def _elu(n: Numbers, x: Node, alpha: float) -> Node:
    return n.where(n.holds("less", x, 0), n.mul(alpha, n.expm1(n.min(x, 0))), x)


def _celu(n: Numbers, x: Node, alpha: float) -> Node:
    below = n.mul(alpha, n.expm1(n.div(x, alpha)))
    return n.add(n.max(x, 0), n.min(0, below))


def _selu(n: Numbers, x: Node, alpha: float, gamma: float) -> Node:
    below = n.mul(alpha, n.expm1(n.min(x, 0)))
    return n.mul(gamma, n.where(n.holds("greater", x, 0), x, below))


def _thresholded_relu(n: Numbers, x: Node, alpha: float) -> Node:
    return n.where(n.holds("greater", x, alpha), x, 0)


def _gelu(n: Numbers, x: Node, approximate: str) -> Node:
    half = n.mul(0.5, x)
    if approximate == "tanh":
        cube = n.mul(n.mul(x, x), x)
        inner = n.mul(math.sqrt(2 / math.pi), n.add(x, n.mul(0.044715, cube)))
        return n.mul(half, n.add(1, n.tanh(inner)))
    return n.mul(half, n.erfc(n.mul(x, -math.sqrt(0.5))))


def _swish(n: Numbers, x: Node, alpha: float) -> Node:
    return n.mul(x, n.sigmoid(n.mul(alpha, x)))


def _softsign(n: Numbers, x: Node) -> Node:
    return n.div(x, n.add(1, n.abs(x)))


def _hard_sigmoid(n: Numbers, x: Node, alpha: float, beta: float) -> Node:
    line = n.add(n.mul(alpha, x), beta)
    return n.min(n.max(line, 0), 1)


def _hard_swish(n: Numbers, x: Node) -> Node:
    return n.mul(x, n.min(n.max(n.add(n.div(x, 6), 0.5), 0), 1))


def _mish(n: Numbers, x: Node) -> Node:
    """X * tanh(log(1 + e)), e = exp(x), that is x * e * (e + 2) / (e * (e + 2) + 2).

    e is taken as a square, so that it is not rounded as a denormal before x makes it larger; from
    20 on the fraction is 1.
    """
    root = n.exp(n.mul(0.5, n.min(x, 20)))
    e = n.mul(root, root)
    more = n.add(e, 2)
    fraction = n.div(more, n.add(n.mul(e, more), 2))
    return n.mul(n.mul(n.mul(x, root), fraction), root)


def _leaky_relu(n: Numbers, x: Node, alpha: float) -> Node:
    return n.where(n.holds("less", x, 0), n.mul(x, alpha), x)


def _activation(
    formula: Callable[..., Node], names: Sequence[str], b: Building, x: Node, attributes: Attributes
) -> Node:
    return formula(Numbers(b, x.dtype), x, *(attributes[name] for name in names))


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
    def lowering(b: Building, operands: Operands, attributes: Attributes) -> Node:
        return _activation(formula, names, b, operands[0], attributes)

    lowers(op, *versions)(wide(lowering))


for _row in _TABLE:
    _enter(*_row)


@lowers("Shrink", 9)
def shrink(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """X pulled toward 0 by the bias outside of [-lambd, lambd], 0 inside; float16 is rounded."""
    x = as_floats(b, operands[0])
    n, bias, most = Numbers(b, x.dtype), attributes["bias"], attributes["lambd"]
    above = n.where(n.holds("greater", x, most), n.sub(x, bias), 0)
    pulled = n.where(n.holds("less", x, -most), n.add(x, bias), above)
    return b.cast(pulled, operands[0].dtype)


@lowers("SwiGLU", 28)
@wide
def swiglu(b: Building, operands: Operands, attributes: Attributes) -> Node:
    """swish(gate) * x."""
    gate, x = operands
    n = Numbers(b, x.dtype)
    return n.mul(_swish(n, gate, attributes["alpha"]), x)


@lowers("PRelu", 7, 9, 16)
@wide
def parametric_relu(b: Building, operands: Operands, _: Attributes) -> Node:
    """X where it is positive, slope * x elsewhere."""
    return _sloped(b, *operands)


def _sloped(b: Building, x: Node, slope: Node) -> Node:
    below = b.map("less", x, b.scalar(0, x.dtype), dtype=DType.BOOL)
    return b.map("where", below, b.map("mul", x, slope), x, dtype=x.dtype)


@lowers("PRelu", 1, 6)
@wide
def parametric_relu_1(b: Building, operands: Operands, _: Attributes) -> Node:
    """One slope for everything, or one per channel (axis 1)."""
    x, slope = operands
    given = extents_of(slope)
    if len(given) == 1 and given[0] > 1:
        slope = b.reshape(slope, (given[0],) + (1,) * (len(x.shape) - 2))
    return _sloped(b, x, slope)

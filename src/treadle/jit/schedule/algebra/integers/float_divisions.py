"""Divisions of arrays of whole numbers by other numbers than constants, in floats.

    x div d   =  trunc(x / d)                    x mod d   =  x - floor(x / d) * d

Vectors have no division of whole numbers, and of floats they have one. The quotient is exact: x has
so few bits that x / d, if it is no whole number, is further from one than it is rounded; if d has
more bits than floats have, x / d is less than a half. Declines where ranges do not say that the
divisor is positive, and the numbers small.
"""

from __future__ import annotations

from functools import partial

from treadle.ir import DType
from treadle.jit.kernel.ir import Constant, Elementwise, Kernel, Node, op_of
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.integers.value_ranges import Ranges, ranges_of

_FUNCTIONS = ("div", "mod", "fmod")
_MIN_SIZE = 16
_EXACT = ((DType.FLOAT32, 1 << 23), (DType.FLOAT64, 1 << 52))
"""The numbers below which quotients of a type are exact."""


@rewrite_pass
def with_float_divisions(kernel: Kernel) -> Rules | None:
    """The kernel with such divisions in floats; itself if it has none."""
    nodes = [node for node in all_nodes(kernel.main) if _is_division(node)]
    ranges = (ranges_of(kernel.main) if nodes else None) or {}
    types = {node: dtype for node in nodes if (dtype := _type(node, ranges)) is not None}
    return replacing(types, partial(_divided, ranges))


def _is_division(node: Node) -> bool:
    """Whether it divides an array, by what LLVM has no product for."""
    op = node.op
    if not isinstance(op, Elementwise) or op.function not in _FUNCTIONS:
        return False
    is_long = not node.is_static or node.size >= _MIN_SIZE
    return (
        is_long and node.dtype.numpy.kind in "iu" and not isinstance(node.operands[1].op, Constant)
    )


def _type(node: Node, ranges: Ranges) -> DType | None:
    """The floats whose quotients are exact; None if there are none."""
    number, divisor = (ranges.get(each) for each in node.operands)
    if number is None or divisor is None or divisor[0] <= 0:
        return None
    most = max(abs(number[0]), abs(number[1]))
    return next((dtype for dtype, bound in _EXACT if most < bound), None)


def _divided(ranges: Ranges, rebuild: Rebuild, node: Node, dtype: DType) -> Node:
    """The division in floats of a type."""
    builder, function = rebuild.builder, op_of(node, Elementwise).function
    number, divisor = rebuild.operands(node)
    quotient = builder.map("div", builder.cast(number, dtype), builder.cast(divisor, dtype))
    if function == "mod" and ranges[node.operands[0]][0] < 0:
        quotient = builder.map("floor", quotient)
    whole = builder.cast(quotient, node.dtype)
    if function == "div":
        return whole
    return builder.map("sub", number, builder.map("mul", whole, divisor))

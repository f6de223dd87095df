"""Divisions of arrays of whole numbers by other numbers than constants, in floats.

    x div d   =  trunc(x / d)                    x mod d   =  x - floor(x / d) * d

Vectors have no division of whole numbers, and of floats they have one. The quotient is exact: the
numbers have so few bits that x / d, if it is no whole number, is further from one than it is
rounded. Declines where ranges do not say that the divisor is positive, and the numbers small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.dce import remove_dead_nodes
from treadle.jit.kernel.ir import Constant, Elementwise, Kernel, Node, op_of
from treadle.jit.kernel.rebuild import Rebuild, copied, rebuilt
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.value_ranges import Range, ranges_of

_FUNCTIONS = ("div", "mod", "fmod")
_MIN_SIZE = 16
_EXACT = ((DType.FLOAT32, 1 << 23), (DType.FLOAT64, 1 << 52))
"""The numbers below which quotients of a type are exact."""


def with_float_divisions(kernel: Kernel) -> Kernel:
    """The kernel with such divisions in floats; itself if it has none."""
    nodes = [node for node in all_nodes(kernel.main) if _is_division(node)]
    ranges = ranges_of(kernel) if nodes else {}
    types = {node: dtype for node in nodes if (dtype := _type(node, ranges)) is not None}
    if not types:
        return kernel
    writer = _Writer(types, ranges)
    return remove_dead_nodes(rebuilt(kernel, {Elementwise: writer.division}))


def _is_division(node: Node) -> bool:
    """Whether it divides an array, by what LLVM has no product for."""
    op = node.op
    if not isinstance(op, Elementwise) or op.function not in _FUNCTIONS:
        return False
    is_long = not node.is_static or node.size >= _MIN_SIZE
    return (
        is_long and node.dtype.numpy.kind in "iu" and not isinstance(node.operands[1].op, Constant)
    )


def _type(node: Node, ranges: Mapping[Node, Range]) -> DType | None:
    """The floats whose quotients are exact; None if there are none."""
    number, divisor = (ranges.get(each) for each in node.operands)
    if number is None or divisor is None or divisor[0] <= 0:
        return None
    most = max(abs(number[0]), abs(number[1])) + divisor[1]
    return next((dtype for dtype, bound in _EXACT if most < bound), None)


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rule for divisions; `types` are those of their floats."""

    types: Mapping[Node, DType]
    ranges: Mapping[Node, Range]

    def division(self, rebuild: Rebuild, node: Node) -> Node:
        """The division in floats; other functions are copied."""
        if node not in self.types:
            return copied(rebuild, node)
        builder, function = rebuild.builder, op_of(node, Elementwise).function
        number, divisor = rebuild.operands(node)
        floats = (builder.cast(each, self.types[node]) for each in (number, divisor))
        quotient = builder.map("div", *floats)
        if function == "mod" and self.ranges[node.operands[0]][0] < 0:
            quotient = builder.map("floor", quotient)
        whole = builder.cast(quotient, node.dtype)
        if function == "div":
            return whole
        return builder.map("sub", number, builder.map("mul", whole, divisor))

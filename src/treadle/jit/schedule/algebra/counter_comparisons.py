"""Comparisons of counters, of which the conditions of loops and guards consist."""

from __future__ import annotations

from dataclasses import dataclass, replace

from treadle.ir import DType
from treadle.jit.kernel.ir import Constant, Elementwise, Loop, Node, Number, Reshape, View
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.schedule.algebra.counters import Counter, Counters, counter_of

OPPOSITE = {
    "less": "greater_equal", "greater": "less_equal", "less_equal": "greater",
    "greater_equal": "less",
}  # fmt: skip
"""The comparison that holds where another one fails."""


@dataclass(frozen=True, slots=True)
class Less:
    """A comparison of two counters: low < high."""

    low: Counter
    high: Counter

    def at(self, iteration: int) -> Less:
        """The comparison of one iteration; -1 is that before the loop."""
        return Less(self.low.at(iteration), self.high.at(iteration))


def comparisons(
    node: Node, loop: Loop, known: Counters, *, holds: bool = True
) -> list[Less] | None:
    """A condition as comparisons that all hold; None if it is none."""
    match node.op:
        case View() | Reshape() if node.is_single and node.operands[0].is_single:
            return comparisons(node.operands[0], loop, known, holds=holds)
        case Elementwise("not"):
            return comparisons(node.operands[0], loop, known, holds=not holds)
        case Elementwise("and") if holds:
            first, second = (comparisons(each, loop, known) for each in node.operands)
            return None if first is None or second is None else [*first, *second]
        case Elementwise(function) if function in OPPOSITE:
            return _compared(function if holds else OPPOSITE[function], node, loop, known)
    return None


def _compared(function: str, node: Node, loop: Loop, known: Counters) -> list[Less] | None:
    low, high = node.operands if function.startswith("less") else node.operands[::-1]
    is_position = low.op == Elementwise("cast") and low.dtype is DType.UINT64
    left = counter_of(low.operands[0] if is_position else low, loop, known)
    right = _constant(high) if is_position else counter_of(high, loop, known)
    if left is None or right is None:
        return None
    less = Less(replace(left, offset=left.offset - function.endswith("equal")), right)
    return [Less(Counter(offset=-1), left), less] if is_position else [less]


def _constant(node: Node) -> Counter | None:
    """A constant with which a position is compared as an unsigned number, never negative."""
    match node.op:
        case Constant(array=array) if node.is_single:
            return Counter(offset=int(array.item()))
    return None


def number_of(rebuild: Rebuild, value: Counter) -> Number:
    """A counter of step 0 as a number of the new kernel."""
    if value.base is None:
        return value.offset
    builder, base = rebuild.builder, rebuild.nodes[value.base]
    if value.offset and base.dtype is DType.INT32:  # it wraps around as in the program
        offset = builder.cast(builder.scalar(value.offset, DType.INT64), DType.INT32)
        return builder.number(builder.map("add", base, offset))
    return builder.plus(builder.number(base), value.offset)

"""One iteration after the other: every loop can run so.

LLVM writes the iterations of a short loop out where they read or write elements of arrays in
registers at places that a counter gives: each place is then a number, and the element a register.
In a loop the whole array would go through memory for each element.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.jit.kernel.ir import Gather, Node, Scatter, Take
from treadle.jit.schedule.layouts.updated_tables import is_known_when_unrolled, may_be_unrolled
from treadle.jit.schedule.loops.facts import LoopFacts


@dataclass(frozen=True, slots=True)
class InOrder:
    """One iteration after the other; `is_unrolled`: each has its own code."""

    is_unrolled: bool = False

    def __str__(self) -> str:
        return "in order, unrolled" if self.is_unrolled else "in order"


def in_order_of(facts: LoopFacts) -> InOrder:
    """The loop in order, and whether it is unrolled."""
    if not may_be_unrolled(facts.op):
        return InOrder()
    return InOrder(any(_is_of_registers(node, facts) for node in facts.op.body.nodes))


def _is_of_registers(node: Node, facts: LoopFacts) -> bool:
    """Whether a node reads or writes an array in registers at a place that a counter gives."""
    if not isinstance(node.op, Take | Gather | Scatter):
        return False
    array, places = node.operands[0], node.operands[2 if isinstance(node.op, Scatter) else 1 :]
    is_array = facts.is_in_registers(array) and not array.is_single
    return is_array and all(is_known_when_unrolled(place, facts.op) for place in places)

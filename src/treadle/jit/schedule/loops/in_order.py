"""One iteration after the other: every loop can run so.

LLVM writes the iterations of a short loop out where they read or write elements of arrays in
registers at places that a counter gives: each place is then a number, and the element a register.
In a loop the whole array would go through memory for each element.

A loop that updates single elements of arrays, and does little else, has its safepoint once in a
strip of iterations: a histogram takes 0.75 of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.jit.kernel.ir import CarriedArg, Gather, Loop, Node, ScanSlice, Scatter, Take
from treadle.jit.schedule.cost_model import iteration_bound
from treadle.jit.schedule.layouts.updated_tables import is_known_when_unrolled, may_be_unrolled
from treadle.jit.schedule.layouts.windows import obstacle_to_lanes
from treadle.jit.schedule.loops.facts import LoopFacts

STRIP = 2048
"""The iterations between two safepoints of a loop in strips."""
_MOST_NS = 8
"""The nanoseconds of an iteration that a safepoint makes longer."""


@dataclass(frozen=True, slots=True)
class InOrder:
    """One iteration after the other; `is_unrolled`: each has its own code.

    `strip`: the iterations between two safepoints; 0: each has one.
    """

    is_unrolled: bool = False
    strip: int = 0

    def __str__(self) -> str:
        if self.strip:
            return f"in order, in strips of {self.strip}"
        return "in order, unrolled" if self.is_unrolled else "in order"


def in_order_of(facts: LoopFacts) -> InOrder:
    """The loop in order, and whether it is unrolled."""
    if not may_be_unrolled(facts.op):
        return InOrder(strip=STRIP if _only_updates(facts) else 0)
    return InOrder(any(_is_of_registers(node, facts) for node in facts.op.body.nodes))


def _only_updates(facts: LoopFacts) -> bool:
    """Whether an iteration updates single elements of arrays, and else computes a few numbers."""
    op, nodes = facts.op, facts.op.body.nodes
    if facts.node.home.is_loop or obstacle_to_lanes(op, facts.kernel):
        return False
    updates = [node for node in nodes if isinstance(node.op, Scatter)]
    own = (node for node in nodes if node not in updates and not isinstance(node.op, CarriedArg))
    is_quick = all(node.is_single and not isinstance(node.op, Loop) for node in own)
    are_single = all(each.is_single for update in updates for each in update.operands[1:])
    return bool(updates) and is_quick and are_single and iteration_bound(op.body) <= _MOST_NS


def _is_of_registers(node: Node, facts: LoopFacts) -> bool:
    """Whether a node reads or writes an array in registers at a place that a counter gives."""
    if isinstance(node.op, ScanSlice):
        return facts.is_in_registers(node.operands[0])
    if not isinstance(node.op, Take | Gather | Scatter):
        return False
    array, places = node.operands[0], node.operands[2 if isinstance(node.op, Scatter) else 1 :]
    is_array = facts.is_in_registers(array) and not array.is_single
    return is_array and all(is_known_when_unrolled(place, facts.op) for place in places)

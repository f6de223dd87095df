"""Carried arrays that are updated at computed indices only: memory has those, registers do not.

A table of eight numbers in registers is written to memory and read back for each access: a range
coder with eight adaptive probabilities took 2.4 times as long. In short loops, which are unrolled
(loops/in_order.py), an index that a counter gives is a number: the elements are known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from treadle.jit.kernel.ir import Loop, Node, Result, Scatter
from treadle.jit.schedule.algebra.counters import counter_of

_UNROLLED, _UNROLLED_NODES = 16, 512
"""The most iterations of a loop that is unrolled, and nodes of all of them together."""


def updated_tables(nodes: Sequence[Node]) -> set[Node]:
    """Such arrays, and the links of their update chains, of loops in loops too."""
    found = set[Node]()
    for op in (node.op for node in nodes if isinstance(node.op, Loop)):
        for state, after in zip(op.states, op.nexts, strict=True):
            links = list[Node]()
            while after is not state and (before := _before_update(after, op, found)) is not None:
                links.append(after)
                after = before
            if after is state and links and not state.is_single:
                found.update((state, *links))
    return found


def _before_update(node: Node, op: Loop, tables: Collection[Node]) -> Node | None:
    """The array that a node updates at a computed index, by itself or in a loop."""
    match node.op:
        case Scatter(axes=axes) if any(isinstance(axis, int) for axis in axes):
            are_known = all(is_known_when_unrolled(place, op) for place in node.operands[2:])
            return None if are_known else node.operands[0]
        case Result(number=number) if isinstance(node.operands[0].op, Loop):
            loop = node.operands[0].op
            is_table = number < len(loop.states) and loop.states[number] in tables
            return node.operands[0].operands[loop.heads + number] if is_table else None
    return None


def may_be_unrolled(op: Loop) -> bool:
    """Whether a loop has few iterations, and few nodes in all of them."""
    if not isinstance(op.extent, int) or not op.is_counted:
        return False
    return 1 < op.extent <= _UNROLLED and op.extent * len(op.body.nodes) <= _UNROLLED_NODES


def is_known_when_unrolled(place: Node, op: Loop) -> bool:
    """Whether an index is a number when the loop is unrolled, if it is."""
    counter = counter_of(place, op, {})
    if counter is None or counter.base is not None:
        return False
    return not counter.step or may_be_unrolled(op)

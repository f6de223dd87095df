"""Classifies the bytes of a loop that are known before it runs; the slots of an exceeded limit.

A run's `max_bytes` limits the carried and stacked values of its loops, as counted by interp.
"""

from __future__ import annotations

from treadle.jit.kernel.ir import Block, Loop, Node, Result
from treadle.jit.kernel.traversal import all_nodes, is_inside

SIZE, LOOP, DEPTH, FIRST = range(4)
"""The slots for an exceeded limit: bytes, the loop's number, depth, and the first iteration number.
"""


def loops(block: Block) -> list[Loop]:
    """The loops of the block and of nested ones, in the order of their numbers."""
    return [node.op for node in all_nodes(block) if isinstance(node.op, Loop)]


def is_counted_late(node: Node, op: Loop) -> bool:
    """Whether only the body knows the size of the value."""
    return any(is_inside(extent, op.body) for extent in node.shape)


def is_stated_before(op: Loop) -> bool:
    """Whether the bytes of each iteration are known before the loop runs.

    Only the number of iterations may end it, its values have fixed sizes, and no loop is inside.
    """
    if not op.is_counted:
        return False
    values = (*op.states, *(stack.element for stack in op.stacks))
    if any(is_counted_late(value, op) for value in values):
        return False
    return not any(loop.path for loop in loops(op.body))


def is_weighed_before(node: Node) -> bool:
    """Whether the limit is checked before anything of the value is written."""
    loop = node.operands[0].op if isinstance(node.op, Result) else None
    if not isinstance(node.op, Result) or not isinstance(loop, Loop) or not loop.path:
        return False
    number = node.op.number - len(loop.states)
    return number >= 0 and loop.stacks[number].is_given and is_stated_before(loop)

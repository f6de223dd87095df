"""Which bytes of a loop are known before it runs, and how a kernel reports an exceeded limit.

A run's `max_bytes` bounds the carried and stacked values of its loops, as interp counts them.
"""

from __future__ import annotations

from treadle.jit.kernel.ir import Block, Loop, Node, Result
from treadle.jit.kernel.traversal import all_nodes, is_inside

SIZE, LOOP, DEPTH, FIRST = range(4)
"""What the slots tell of a loop that is over: bytes, its number, how many iterations, and which."""


def loops(block: Block) -> list[Loop]:
    """The loops of the block and of those inside, in the order of their numbers."""
    return [node.op for node in all_nodes(block) if isinstance(node.op, Loop)]


def is_counted_late(node: Node, op: Loop) -> bool:
    """Whether only the body knows how large the value is."""
    return any(is_inside(extent, op.body) for extent in node.shape)


def is_stated_before(op: Loop) -> bool:
    """Whether it is known before the loop runs how much it will hold when.

    That is so where only its number ends it, what it holds keeps its size, and no loop is inside.
    """
    if op.has_condition or op.next_condition is not None:
        return False
    values = (*op.states, *(stack.element for stack in op.stacks))
    if any(is_counted_late(value, op) for value in values):
        return False
    return not any(loop.path for loop in loops(op.body))


def is_weighed_before(node: Node) -> bool:
    """Whether a kernel that weighs is over before it writes anything of the value, if ever."""
    loop = node.operands[0].op if isinstance(node.op, Result) else None
    if not isinstance(node.op, Result) or not isinstance(loop, Loop) or not loop.path:
        return False
    number = node.op.number - len(loop.states)
    return number >= 0 and loop.stacks[number].is_given and is_stated_before(loop)

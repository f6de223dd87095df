"""Reassociation of chains of one associative function: operands available early come first.

    min(min(up, left + 1), diagonal)  =  min(min(up, diagonal), left + 1)

where `left` was computed by the previous iteration, so that only one step depends on it. Only for
functions with the same result in every order: on integers, and the maximum or minimum of floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treadle.jit.kernel.ir import Block, CarriedArg, Elementwise, Kernel, Loop, Node
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.kernel.traversal import all_nodes

_CARRIED_LATENESS = 1_000_000
"""The lateness of a carried value: later than everything else in an iteration."""


def reassociated(
    kernel: Kernel, readers: Mapping[Node, tuple[Node, ...]]
) -> dict[Node, list[Node]]:
    """The reordered operands of each chain, by its last node; only of chains that gain."""
    found: dict[Node, list[Node]] = {}
    for node in all_nodes(kernel.main):
        if isinstance(node.op, Loop):
            late = _lateness(node.op.body, _circular(node.op))
            for last in node.op.body.nodes:
                leaves = list(_leaves(last, last, readers))
                if len(leaves) > 2:
                    found[last] = sorted(leaves, key=lambda leaf: late.get(leaf, 0))
    return found


def _leaves(node: Node, last: Node, readers: Mapping[Node, tuple[Node, ...]]) -> Iterator[Node]:
    op = last.op
    is_own = node is last or (len(readers.get(node, ())) == 1 and node.home is last.home)
    if not isinstance(op, Elementwise) or node.op != op or not is_own or not _is_free(node, last):
        yield node
        return
    for operand in node.operands:
        yield from _leaves(operand, last, readers)


def _is_free(node: Node, last: Node) -> bool:
    op = last.op
    assert isinstance(op, Elementwise)
    is_same = node.dtype == last.dtype and node.shape == last.shape and node.is_single
    return is_same and FUNCTIONS[op.function].is_reorderable(node.dtype)


def _circular(loop: Loop) -> set[Node]:
    """The states whose next value depends on their old one."""
    reached = {state: _states(after) for state, after in zip(loop.states, loop.nexts, strict=True)}
    for _ in loop.states:
        reached = {
            state: found.union(*(reached.get(each, set()) for each in found))
            for state, found in reached.items()
        }
    return {state for state, found in reached.items() if state in found}


def _states(node: Node) -> set[Node]:
    """The states of the same loop that a node depends on."""
    found, seen, waiting = set[Node](), set[Node](), [node]
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        if isinstance(each.op, CarriedArg):
            found.add(each)
        waiting += each.operands
    return found


def _lateness(body: Block, circular: set[Node]) -> dict[Node, int]:
    """The number of steps between the previous iteration's states and the node."""
    late: dict[Node, int] = {}
    for node in body.nodes:
        before = max((late.get(operand, 0) for operand in node.operands), default=0)
        late[node] = _CARRIED_LATENESS if node in circular else before + 1
    return late

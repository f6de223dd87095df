"""Likeness of nodes: the same operation, whose operands, numbers and blocks are compared apart."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.jit.kernel.dce import may_fail
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Branch,
    Gather,
    HostCall,
    Loop,
    Node,
    Number,
    Scatter,
    SymbolicDim,
    View,
)
from treadle.jit.kernel.traversal import reads_of, with_inside


def unread(block: Block, ends: Sequence[Node]) -> list[Node]:
    """The nodes that may fail and that nothing of the block needs, in order."""
    read = {*ends, *reads_of(each for node in block.nodes for each in with_inside(node))}
    return [n for n in block.nodes if n not in read and any(map(may_fail, with_inside(n)))]


def returned(node: Node) -> list[tuple[Block, list[Node]]]:
    """The blocks of a node, with their carried values, what they return, and what may fail."""
    match node.op:
        case Loop() as op:
            ends = [*op.nexts, *(each.element for each in op.stacks)]
            ends += [] if op.next_condition is None else [op.next_condition]
            return [(op.body, [*op.states, *ends, *unread(op.body, ends)])]
        case Branch() as branch:
            sides = ((branch.then, branch.then_results),
                     (branch.otherwise, branch.otherwise_results))  # fmt: skip
            return [(block, [*ends, *unread(block, ends)]) for block, ends in sides]
    return []


def sources(one: Node, other: Node) -> list[tuple[Node, Node]] | None:
    """What holds the numbers of two nodes that are known in runs only; None if others differ."""
    mine, theirs = _numbers(one), _numbers(other)
    if len(mine) != len(theirs):
        return None
    pairs = []
    for left, right in zip(mine, theirs, strict=True):
        if left is right or (isinstance(left, int) and left == right):
            continue
        sources = [each.source for each in (left, right) if isinstance(each, SymbolicDim)]
        if len(sources) < 2 or sources[0] is None or sources[1] is None:
            return None
        pairs.append((sources[0], sources[1]))
    return pairs


def _numbers(node: Node) -> list[Number | None]:
    """The extents, offsets and lengths of a node."""
    match node.op:
        case View(axes=axes) | Gather(axes=axes) | Scatter(axes=axes):
            return [*node.shape, *(at.offset for at in axes if isinstance(at, Axis))]
        case Loop(length=length, extent=extent):
            return [*node.shape, length, extent]
    return [*node.shape]


def is_alike(one: Node, other: Node) -> bool:
    """Whether two operations of one kind are the same, but for numbers and blocks."""
    match one.op, other.op:
        case (View() | Gather() | Scatter(), View() | Gather() | Scatter()):
            return _places(one.op) == _places(other.op)
        case Loop() as mine, Loop() as theirs:
            return _kind(mine) == _kind(theirs)
        case (Branch(), Branch()):
            return True
    return not isinstance(one.op, HostCall) and one.op == other.op


def _places(op: View | Gather | Scatter) -> tuple[object, ...]:
    """What an operation reads and writes where, but for offsets."""
    axes = [at.terms if isinstance(at, Axis) else at for at in op.axes]
    return axes, getattr(op, "is_in_range", None), getattr(op, "function", None)


def _kind(op: Loop) -> tuple[object, ...]:
    stacks = [(each.axis, each.reverse, each.is_given) for each in op.stacks]
    return op.has_trip, op.has_condition, op.next_condition is None, len(op.states), stacks

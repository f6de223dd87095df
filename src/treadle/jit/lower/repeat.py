"""Loops that lowerings write themselves: of operators that walk along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Block, Counter, Item, Loop, Node, Number, Part, Stack, State
from treadle.jit.nodes import Declined

Nodes = Sequence[Node]
Body = Callable[[Node, Nodes], tuple[Nodes, Nodes]]


def repeat(
    b: Building, count: Number, initials: Nodes, body: Body, *, backwards: bool = False
) -> tuple[list[Node], list[Node]]:
    """The last states and the stacked elements of a counted loop.

    for i in range(count): states, elements = body(i, states)

    `backwards`: the elements are stacked from the last place on.
    """
    if count == 0:
        raise Declined("a walk along nothing")
    b.expect(b.compare("greater", count, 0))
    outer, block = b.block, Block("body", b.block, is_loop=True)
    b.block = block
    counter = b.param(Counter(), DType.INT64, ())
    states = [b.param(State(k), node.dtype, node.shape) for k, node in enumerate(initials)]
    nexts, elements = body(counter, states)
    b.block = outer
    stacks = tuple(Stack(element, 0, backwards) for element in elements)
    loop = Loop(block, False, False, count, tuple(states), tuple(nexts), None, stacks, count)
    node = b.add(loop, DType.BOOL, (), *initials)
    lasts = [b.add(Part(k), s.dtype, s.shape, node) for k, s in enumerate(states)]
    stacked = [
        b.add(Part(len(states) + k), each.dtype, (count, *each.shape), node)
        for k, each in enumerate(elements)
    ]
    return lasts, stacked


def item(b: Building, source: Node, *, backwards: bool = False) -> Node:
    """What the source has along its first axis in this iteration of the loop being written."""
    node = Node(Item(0, backwards), source.dtype, source.shape[1:], (source,), b.block)
    b.block.nodes.append(node)
    return node

"""Counted loops for lowerings of operators that iterate along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    InductionVar,
    Loop,
    Node,
    Number,
    Result,
    Stack,
)

Nodes = Sequence[Node]
Body = Callable[[Node, Nodes], tuple[Nodes, Nodes]]


def counted_loop(
    builder: KernelBuilder, count: Number, initials: Nodes, body: Body, *, backwards: bool = False
) -> tuple[list[Node], list[Node]]:
    """Build a counted loop; returns the last states and the stacked elements.

    for i in range(count): states, elements = body(i, states)

    `backwards`: the elements are stacked in reverse.
    """
    if count == 0:
        raise Declined("a loop over an axis of extent 0")
    builder.expect(builder.compare("greater", count, 0))
    outer, block = builder.block, Block("body", builder.block, is_loop=True)
    builder.block = block
    counter = builder.param(InductionVar(), DType.INT64, ())
    states = [
        builder.param(CarriedArg(k), node.dtype, node.shape) for k, node in enumerate(initials)
    ]
    nexts, elements = body(counter, states)
    builder.block = outer
    stacks = tuple(Stack(element, 0, backwards) for element in elements)
    loop = Loop(block, False, False, count, tuple(states), tuple(nexts), None, stacks, count)
    node = builder.add(loop, DType.BOOL, (), *initials)
    lasts = [builder.add(Result(k), s.dtype, s.shape, node) for k, s in enumerate(states)]
    stacked = [
        builder.add(Result(len(states) + k), each.dtype, (count, *each.shape), node)
        for k, each in enumerate(elements)
    ]
    return lasts, stacked

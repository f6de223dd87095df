"""Carried values that are the parts of one, which the body joins and takes apart again.

    whole = concat(a, b); ... x ...; a, b = split(x)    =    whole carried, next x
    a, b = whole[1:9], concat(whole[9:], x)             =    next concat(whole[1:], x)

An array that is updated at computed indices would be copied twice in each iteration, and a shift
register moved. Declines where the next values are not, in this order, all of one tensor, and no
part of a tensor goes from one to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from treadle.jit.kernel.ir import (
    Axis,
    CarriedArg,
    Concat,
    DimOf,
    Kernel,
    Loop,
    Node,
    Result,
    op_of,
    static_shape,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, loop_with, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.views import axis_slice
from treadle.jit.schedule.algebra.concat_parts import Part, merged, parts_of

_MOST = 4
"""The most parts of which a whole is put together."""


@dataclass(frozen=True, eq=False, slots=True)
class _Parts:
    """The states of a loop that `whole` joins, and the parts of which its next value consists."""

    loop: Node
    whole: Node
    after: Sequence[Part]


@fixpoint_pass
def with_joined_states(kernel: Kernel) -> Rules | None:
    """The kernel with such values carried as one; itself if it has none, or counts bytes."""
    found = None if kernel.counts_loops else next(_found(kernel), None)
    if found is None:
        return None
    writer = _Joined(found)
    return {
        Loop: writer.loop, CarriedArg: writer.state, Concat: writer.join, Result: writer.result,
        DimOf: writer.extent,
    }  # fmt: skip


def _found(kernel: Kernel) -> Iterator[_Parts]:
    nodes = all_nodes(kernel.main)
    measured = {node.operands[0] for node in nodes if isinstance(node.op, DimOf) and node.operands}
    for loop in nodes:
        if not isinstance(loop.op, Loop) or loop in measured:
            continue
        for node in loop.op.body.nodes:
            after = _next(loop.op, node) if isinstance(node.op, Concat) else None
            if after is not None:
                yield _Parts(loop, node, after)


def _next(op: Loop, whole: Node) -> Sequence[Part] | None:
    """The next value of what a Concat joins, if that is of carried values only."""
    states = whole.operands
    if len(states) < 2 or len(set(states)) < len(states):
        return None
    if not all(each.is_static for each in (whole, *states)):
        return None
    if not all(isinstance(each.op, CarriedArg) and each.home is op.body for each in states):
        return None
    nexts = [op.nexts[op_of(state, CarriedArg).number] for state in states]
    if any(each.shape != state.shape for each, state in zip(nexts, states, strict=True)):
        return None
    axis, places, first = op_of(whole, Concat).axis, dict[Node, Part](), 0
    for state in states:
        length = static_shape(state)[axis]
        places[state] = Part(whole, first, length)
        first += length
    found = [parts_of(each, axis, places) for each in nexts]
    together = merged(part for parts in found for part in parts)
    is_one = len(together) == 1 and together[0].source.shape == whole.shape
    crosses = len(together) < sum(map(len, found))
    is_same = is_one and together[0].source is whole
    return together if (is_one or (crosses and len(together) <= _MOST)) and not is_same else None


@dataclass(frozen=True, eq=False, slots=True)
class _Joined:
    """The rules; `kept` are the numbers of the other states, `joined` the carried whole."""

    parts: _Parts
    joined: list[Node] = field(default_factory=list)

    @property
    def _numbers(self) -> list[int]:
        """The states that are joined."""
        return [op_of(each, CarriedArg).number for each in self.parts.whole.operands]

    def _others(self, op: Loop) -> list[int]:
        return [number for number in range(len(op.states)) if number not in self._numbers]

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """Write the loop with the whole behind its other states; other loops are copied."""
        op, builder, parts = op_of(node, Loop), rebuild.builder, self.parts
        if node is not parts.loop:
            return write_loop(rebuild, node, op)
        others, heads = self._others(op), op.heads
        given = rebuild.operands(node)
        initials = [given[heads + number] for number in self._numbers]
        whole = parts.whole
        start = builder.add(whole.op, whole.dtype, rebuild.shape(whole), *initials)
        body = rebuild.write_inside(op.body)
        with builder.inside(body):
            after = self._next(rebuild)
        states = [rebuild.nodes[op.states[number]] for number in others]
        nexts = [rebuild.nodes[op.nexts[number]] for number in others]
        made = loop_with(rebuild, op, body, (*states, self.joined[0]), (*nexts, after))
        numbers = [others.index(k) if k in others else -1 for k in range(len(op.states))]
        stacks = range(len(others) + 1, len(others) + 1 + len(op.stacks))
        rebuild.numbers[node] = [*numbers, *stacks]
        kept = [given[heads + number] for number in others]
        return builder.add(made, node.dtype, (), *given[:heads], *kept, start)

    def _next(self, rebuild: Rebuild) -> Node:
        """The next whole, put together from its parts."""
        whole, builder = self.parts.whole, rebuild.builder
        axis = op_of(whole, Concat).axis
        found = [
            axis_slice(builder, rebuild.nodes[each.source], axis, each.first, 1, each.count)
            for each in self.parts.after
        ]
        if len(found) == 1:
            return found[0]
        return builder.add(Concat(axis), whole.dtype, rebuild.shape(whole), *found)

    def state(self, rebuild: Rebuild, node: Node) -> Node:
        """A carried value by its new number, or a part of the whole."""
        op = op_of(self.parts.loop, Loop)
        if node.home is not op.body:
            return copied(rebuild, node)
        builder, others = rebuild.builder, self._others(op)
        number = op_of(node, CarriedArg).number
        if number in others:
            new = CarriedArg(others.index(number))
            return builder.param(new, node.dtype, rebuild.shape(node))
        if not self.joined:
            whole = self.parts.whole
            new = CarriedArg(len(others))
            self.joined.append(builder.param(new, whole.dtype, rebuild.shape(whole)))
        return self._part(rebuild, self.joined[0], number)

    def extent(self, rebuild: Rebuild, node: Node) -> Node:
        """An extent of a carried value by its new number; others are copied."""
        op, dim = op_of(self.parts.loop, Loop), op_of(node, DimOf)
        if node.operands or node.home is not op.body:
            return copied(rebuild, node)
        number = self._others(op).index(dim.number)
        return rebuild.builder.param(DimOf(number, dim.axis), node.dtype, ())

    def join(self, rebuild: Rebuild, node: Node) -> Node:
        """The whole is carried; other Concats are copied."""
        return self.joined[0] if node is self.parts.whole else copied(rebuild, node)

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """A last value, which may be a part of the whole's."""
        loop, number = self.parts.loop, op_of(node, Result).number
        op = op_of(loop, Loop)
        if node.operands != (loop,) or number not in self._numbers:
            return copied(rebuild, node)
        whole = self.parts.whole
        new = Result(len(self._others(op)))
        last = rebuild.builder.add(new, whole.dtype, rebuild.shape(whole), rebuild.nodes[loop])
        return self._part(rebuild, last, number)

    def _part(self, rebuild: Rebuild, whole: Node, number: int) -> Node:
        """The part of a whole that a state is."""
        first, along = 0, op_of(self.parts.whole, Concat).axis
        for state in self.parts.whole.operands:
            shape = static_shape(state)
            if op_of(state, CarriedArg).number == number:
                axes = [Axis(first * (k == along), ((k, 1),)) for k in range(len(shape))]
                return rebuild.builder.view(whole, shape, axes)
            first += shape[along]
        raise AssertionError("a state that is no part")

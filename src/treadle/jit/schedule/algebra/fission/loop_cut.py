"""Cuts a loop in two: the second one takes what it needs of the first as items of stacked rows.

    for i: a = f(a, x[i]); y[i] = g(a)         for i: a = f(a, x[i]); t[i] = a
                                          =    for i: y[i] = g(t[i])

The passes of this folder decide which loops are cut, and where.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    DimOf,
    Kernel,
    Loop,
    Node,
    Result,
    Stack,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, write_loop
from treadle.jit.kernel.rewrite import Rules
from treadle.jit.kernel.traversal import all_nodes, computed_from


@dataclass(frozen=True, eq=False, slots=True)
class LoopCut:
    """The nodes of the first loop and of the second one, and what the second needs of the first."""

    first: Collection[Node]
    second: Collection[Node]
    crossing: Sequence[Node]

    def is_in_first(self, node: Node) -> bool:
        """Whether a node of the body is computed by the first loop."""
        return node in self.first


def cut_first(kernel: Kernel, cut: Callable[[Node, Loop], LoopCut | None]) -> Rules | None:
    """The rules that cut the first loop for which `cut` says where; None if there is none.

    Loops whose extents are known only after they run stay, as do all if a limit counts iterations.
    """
    if kernel.counts_loops:
        return None
    nodes = all_nodes(kernel.main)
    known_later = {
        node.operands[0] for node in nodes if isinstance(node.op, DimOf) and node.operands
    }
    for node in nodes:
        if isinstance(node.op, Loop) and node not in known_later:
            found = cut(node, node.op)
            if found is not None:
                writer = _Writer(node, found)
                return {Loop: writer.loop, Result: writer.result, CarriedArg: writer.state}
    return None


def may_be_cut(node: Node, op: Loop, *, iterations: int, nodes: int) -> bool:
    """Whether a loop is counted, has this number of `iterations` or more, and few enough `nodes`.

    An open number of iterations is enough outside of other loops.
    """
    if not op.is_counted or op.extent is None or len(op.body.nodes) > nodes:
        return False
    if isinstance(op.extent, int):
        return op.extent >= iterations
    return not node.home.is_loop


def cut_behind(op: Loop, first: set[Node], crosses: Callable[[Node], bool]) -> LoopCut:
    """The cut behind these nodes of a body, which have all that they are computed from.

    The second loop computes nodes of the first again, except what `crosses`.
    """
    ends = [after for state, after in zip(op.states, op.nexts, strict=True) if state not in first]
    ends += [stack.element for stack in op.stacks if stack.element not in first]
    second, crossing, waiting = set[Node](), list[Node](), ends
    while waiting:
        node = waiting.pop()
        if node in second or node in crossing or node.home is not op.body:
            continue
        if node in first and crosses(node):
            crossing.append(node)
            continue
        second.add(node)
        waiting += node.operands
    second |= {state for state in op.states if state not in first}
    return LoopCut(first, second, crossing)


def carried_needs(op: Loop) -> dict[Node, frozenset[Node]]:
    """The carried values that a node depends on, in this iteration or through earlier ones."""
    reached: dict[Node, frozenset[Node]] = {state: frozenset((state,)) for state in op.states}
    while True:
        found = dict(reached)
        for node in op.body.nodes:
            before = (found.get(operand, frozenset()) for operand in node.operands)
            found.setdefault(node, frozenset().union(*before))
        after = {
            state: reached[state] | found.get(each, frozenset())
            for state, each in zip(op.states, op.nexts, strict=True)
        }
        if after == reached:
            return found
        reached = after


def is_in_circle(node: Node, op: Loop, needs: Mapping[Node, frozenset[Node]]) -> bool:
    """Whether a later iteration of what a node depends on depends on the node."""
    ends = [each for s, each in zip(op.states, op.nexts, strict=True) if s in needs[node]]
    return node in computed_from(op.body, ends)


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules that write the loop in two; `places` are the new loop and number of its results."""

    node: Node
    cut: LoopCut
    places: dict[int, tuple[Node, int]] = field(default_factory=dict)
    numbers: dict[Node, int] = field(default_factory=dict)

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """Both loops in place of the one; others are copied."""
        op = op_of(node, Loop)
        if node is not self.node:
            return write_loop(rebuild, node, op)
        builder, crossing = rebuild.builder, self.cut.crossing
        first = self._half(rebuild, op, self.cut.first, crossing)
        assert op.extent is not None
        extent = rebuild.number(op.extent)
        count = len(op_of(first, Loop).states) + len(op_of(first, Loop).stacks) - len(crossing)
        rows = [
            builder.add(Result(count + k), each.dtype, (extent, *each.shape), first)
            for k, each in enumerate(crossing)
        ]
        return self._half(rebuild, op, self.cut.second, (), dict(zip(crossing, rows, strict=True)))

    def _half(
        self,
        rebuild: Rebuild,
        op: Loop,
        nodes: Collection[Node],
        crossing: Sequence[Node],
        rows: Mapping[Node, Node] | None = None,
    ) -> Node:
        """A loop of these nodes of the body, with items of `rows` in place of others."""
        builder, own = rebuild.builder, [state in nodes for state in op.states]
        states = [state for state, is_own in zip(op.states, own, strict=True) if is_own]
        self.numbers.update({state: number for number, state in enumerate(states)})
        outer, body = builder.block, Block(op.body.name, builder.block, is_loop=True)
        builder.block = body
        for each, source in (rows or {}).items():
            rebuild.nodes[each] = builder.item(source)
        for each in op.body.nodes:
            if each in nodes:
                rebuild.nodes[each] = rebuild.rules.get(type(each.op), copied)(rebuild, each)
        builder.block = outer
        kept = {k: s for k, s in enumerate(op.stacks) if self._is_made(s.element, rows)}
        stacks = [replace(stack, element=rebuild.nodes[stack.element]) for stack in kept.values()]
        stacks += [
            Stack(rebuild.nodes[each], 0, reverse=False, is_given=False) for each in crossing
        ]
        nexts = [after for after, is_own in zip(op.nexts, own, strict=True) if is_own]
        made = replace(
            op, body=body, length=rebuild.number(op.length), extent=rebuild.number(op.extent),
            states=tuple(rebuild.nodes[each] for each in states),
            nexts=tuple(rebuild.nodes[each] for each in nexts), stacks=tuple(stacks),
        )  # fmt: skip
        given = rebuild.operands(self.node)
        initial = [g for g, is_own in zip(given[op.heads :], own, strict=True) if is_own]
        loop = builder.add(made, self.node.dtype, (), *given[: op.heads], *initial)
        old = [k for k, is_own in enumerate(own) if is_own]
        old += [len(op.states) + k for k in kept]
        self.places.update({number: (loop, place) for place, number in enumerate(old)})
        return loop

    def _is_made(self, element: Node, rows: Mapping[Node, Node] | None) -> bool:
        """Whether a stacked element is of this loop."""
        return self.cut.is_in_first(element) == (rows is None)

    def state(self, rebuild: Rebuild, node: Node) -> Node:
        """A carried argument, by its number in its loop."""
        number = self.numbers.get(node, op_of(node, CarriedArg).number)
        return rebuild.builder.param(CarriedArg(number), node.dtype, rebuild.shape(node))

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """A result, of the half that has it."""
        if node.operands[0] is not self.node:
            return copied(rebuild, node)
        loop, number = self.places[op_of(node, Result).number]
        return rebuild.builder.add(Result(number), node.dtype, rebuild.shape(node), loop)

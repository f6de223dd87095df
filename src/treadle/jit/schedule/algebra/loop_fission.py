"""Loop fission: long functions of numbers leave a loop that runs in order.

    for i: e = f(e, x[i]); y[i] = exp(e)         for i: e = f(e, x[i]); t[i] = e
                                          =      for i: y[i] = exp(t[i])

Where no later iteration waits for a function, all iterations may compute it at once, in vectors.
The loop is cut where what the function needs is known: behind the carried values that it depends
on, or before all of them. What the second loop needs of the first is stacked, up to four numbers of
an iteration. Only loops whose iterations are numbers: rows are computed in vectors anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    DimOf,
    Elementwise,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Result,
    ScanSlice,
    Stack,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.associative_step import OTHER
from treadle.jit.schedule.dependence import dependence_of

_MIN_ITERATIONS, _MAX_CROSSING, _MAX_NODES = 64, 4, 128
_PLAIN = (CarriedArg, InductionVar, ScanSlice, Elementwise, View, Take)


@fixpoint_pass
def with_split_loops(kernel: Kernel) -> Rules | None:
    """The kernel with such loops in two; itself if it has none, or counts what its loops do."""
    if kernel.counts_loops:
        return None
    nodes = all_nodes(kernel.main)
    known_later = {
        node.operands[0] for node in nodes if isinstance(node.op, DimOf) and node.operands
    }
    for node in nodes:
        if isinstance(node.op, Loop) and node not in known_later:
            cut = _cut(node, node.op)
            if cut is not None:
                writer = _Writer(node, cut)
                return {Loop: writer.loop, Result: writer.result, CarriedArg: writer.state}
    return None


@dataclass(frozen=True, eq=False, slots=True)
class _Cut:
    """The nodes of the first loop and of the second one, and what the second stacks needs of it."""

    first: Collection[Node]
    second: Collection[Node]
    crossing: Sequence[Node]

    def is_in_first(self, node: Node) -> bool:
        """Whether a node of the body is computed by the first loop."""
        return node in self.first


def _cut(node: Node, op: Loop) -> _Cut | None:
    """Where to cut a loop; None if that gains nothing, or cannot be."""
    if not _is_of_numbers(node, op):
        return None
    long = [each for each in op.body.nodes if _is_long(each)]
    if not long or not _runs_in_order(op):
        return None
    needs = _needs(op)
    free = [each for each in long if not _is_in_circle(each, op, needs)]
    if not free:
        return None
    states = min((needs[each] for each in free), key=len)
    functions = [each for each in free if needs[each] <= states]
    ends = [after for state, after in zip(op.states, op.nexts, strict=True) if state in states]
    late = [each for each in op.body.nodes if not needs[each] and _has_long(each, op.body)]
    first = _closure(op.body, [*ends, *states] if states else late)
    if states and not first.isdisjoint(functions):
        return None
    return _with_second(op, first, needs)


def _with_second(op: Loop, first: set[Node], needs: Mapping[Node, frozenset[Node]]) -> _Cut | None:
    """The cut behind these nodes, unless too much crosses it."""
    ends = [after for state, after in zip(op.states, op.nexts, strict=True) if state not in first]
    ends += [stack.element for stack in op.stacks if stack.element not in first]
    second, crossing, waiting = set[Node](), list[Node](), ends
    while waiting:
        node = waiting.pop()
        if node in second or node in crossing or node.home is not op.body:
            continue
        if node in first and (needs[node] or _is_long(node) or _has_long(node, op.body)):
            crossing.append(node)
            continue
        second.add(node)
        waiting += node.operands
    second |= {state for state in op.states if state not in first}
    return _Cut(first, second, crossing) if len(crossing) <= _MAX_CROSSING else None


def _is_of_numbers(node: Node, op: Loop) -> bool:
    """Whether it is a counted loop whose iterations are numbers, and enough of them."""
    nodes, extent = op.body.nodes, op.extent
    if not op.states or not op.is_counted or extent is None or len(nodes) > _MAX_NODES:
        return False
    if isinstance(extent, int) and extent < _MIN_ITERATIONS:
        return False
    if not isinstance(extent, int) and node.home.is_loop:
        return False
    return all(isinstance(each.op, _PLAIN) and each.is_single for each in nodes)


def _is_long(node: Node) -> bool:
    """Whether a function has long code, of which vectors take much less time."""
    if not isinstance(node.op, Elementwise):
        return False
    function = FUNCTIONS[node.op.function]
    has_code = node.dtype is not DType.FLOAT64 or function.has_float64_code
    return function.is_expensive and has_code


def _has_long(node: Node, body: Block) -> bool:
    return any(map(_is_long, _closure(body, [node])))


def _runs_in_order(op: Loop) -> bool:
    """Whether a carried value keeps iterations from being computed several at a time."""
    steps = dependence_of(op).steps
    return any(
        step == OTHER or (step == "affine" and state.dtype is DType.FLOAT64)
        for step, state in zip(steps, op.states, strict=True)
    )


def _needs(op: Loop) -> dict[Node, frozenset[Node]]:
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


def _is_in_circle(node: Node, op: Loop, needs: Mapping[Node, frozenset[Node]]) -> bool:
    """Whether a later iteration of what a node depends on depends on the node."""
    ends = [each for s, each in zip(op.states, op.nexts, strict=True) if s in needs[node]]
    return node in _closure(op.body, ends)


def _closure(body: Block, ends: Sequence[Node]) -> set[Node]:
    """The nodes of a body that these are computed from, with them."""
    found, waiting = set[Node](), list(ends)
    while waiting:
        node = waiting.pop()
        if node not in found and node.home is body:
            found.add(node)
            waiting += node.operands
    return found


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules that write the loop in two; `places` are the new loop and number of its results."""

    node: Node
    cut: _Cut
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

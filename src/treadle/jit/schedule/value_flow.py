"""Which elements of a loop's carried values each node of its body is computed from.

The accesses of a node are composed along every path, through views, inner loops and branches. What
an inner loop computes from its own carried values, iteration after iteration, reads every index of
an axis unless each iteration reads its own; counters of inner loops mean nothing outside them, so
an index with one is an index of the axis that they are stacked along, or every index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from treadle.jit.kernel.ir import Block, Branch, Loop, Node, Number, Result, Stack
from treadle.jit.kernel.traversal import shape_operands
from treadle.jit.schedule.access import (
    Accesses,
    AccessMap,
    AffineIndex,
    Index,
    Span,
    composed,
    identity,
    of_number,
    own,
    widest,
    with_counter,
)
from treadle.jit.schedule.op_accesses import accesses_of

_MAX_ACCESSES = 16
"""The accesses to one value that are told apart; more become one that covers them."""
_EXACT_ROUNDS = 3
"""The iterations of an inner loop after which accesses that still change become every index."""
NOTHING: Accesses = {}


def flow_of(loop: Loop) -> Mapping[Node, Accesses]:
    """The accesses of each node of a loop's body to the loop's carried values."""
    flow = _Flow({state: {state: frozenset([identity(len(state.shape))])} for state in loop.states})
    flow.run(loop.body)
    return flow.reads


def joined_accesses(found: Iterable[Accesses]) -> Accesses:
    """All these accesses together."""
    total: dict[Node, frozenset[AccessMap]] = {}
    for each in found:
        for source, maps in each.items():
            total[source] = _few(total.get(source, frozenset()) | maps)
    return total


def _few(maps: frozenset[AccessMap]) -> frozenset[AccessMap]:
    if len(maps) <= _MAX_ACCESSES:
        return maps
    return frozenset([_over_all(maps)])


def _covering(indices: tuple[Index, ...]) -> Index:
    """An index that stands for all of these."""
    if len(set(indices)) == 1:
        return indices[0]
    return widest(indices)


def _through(access: AccessMap, reads: Accesses) -> Accesses:
    return {s: frozenset(composed(access, each) for each in maps) for s, maps in reads.items()}


def _at_counter(reads: Accesses, body: Block, value: Index) -> Accesses:
    return {
        source: frozenset(with_counter(each, body, value) for each in maps)
        for source, maps in reads.items()
    }


def _of_scalar(reads: Accesses, node: Node) -> Accesses:
    """The accesses of a node that reads one element of this one."""
    return _through((AffineIndex(),) * len(node.shape), reads)


@dataclass(frozen=True, eq=False, slots=True)
class _Flow:
    """The accesses of nodes, and of the results of loops and branches by number."""

    reads: dict[Node, Accesses]
    results: dict[tuple[Node, int], Accesses] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        for node in block.nodes:
            if node not in self.reads:
                self.reads[node] = self._of(node)

    def of(self, node: Node) -> Accesses:
        return self.reads.get(node, NOTHING)

    def _of(self, node: Node) -> Accesses:
        shapes = [_of_scalar(self.of(source), source) for source in shape_operands(node)]
        match node.op:
            case Loop() as op:
                return self._loop(node, op)
            case Branch() as op:
                return self._branch(node, op)
            case Result(number) if (node.operands[0], number) in self.results:
                return joined_accesses([self.results[node.operands[0], number], *shapes])
        reads = zip(node.operands, accesses_of(node), strict=True)
        return joined_accesses(
            [*(_through(access, self.of(operand)) for operand, access in reads), *shapes]
        )

    def _branch(self, node: Node, op: Branch) -> Accesses:
        self.run(op.then)
        self.run(op.otherwise)
        (condition,) = node.operands
        chosen = _of_scalar(self.of(condition), condition)
        sides = zip(op.then_results, op.otherwise_results, strict=True)
        for number, (one, other) in enumerate(sides):
            found = joined_accesses([self.of(one), self.of(other), chosen])
            self.results[node, number] = found
        return chosen

    def _loop(self, node: Node, op: Loop) -> Accesses:
        heads = node.operands[: op.heads]
        initials = node.operands[op.heads :]
        states = dict(zip(op.states, map(self.of, initials), strict=True))
        for number in count():
            inside = self._inside(op, states)
            after = {
                state: _carried(states[state], inside.of(following), op.body)
                for state, following in zip(op.states, op.nexts, strict=True)
            }
            is_exact = number < _EXACT_ROUNDS
            if not is_exact:
                after = {state: _widened(after[state], states[state]) for state in after}
            if after == states:
                break
            states = after
        inside = self._inside(op, states)
        ends = [_of_scalar(self.of(head), head) for head in heads]
        if op.next_condition is not None:
            goes_on = _of_scalar(inside.of(op.next_condition), op.next_condition)
            ends.append(_at_counter(goes_on, op.body, Span.EVERY))
        for number, state in enumerate(op.states):
            self.results[node, number] = joined_accesses([states[state], *ends])
        for number, stack in enumerate(op.stacks, start=len(op.states)):
            element = _stacked(inside.of(stack.element), stack, op.body, op.extent or op.length)
            self.results[node, number] = joined_accesses([element, *ends])
        for each, found in inside.reads.items():
            self.reads.setdefault(each, _at_counter(found, op.body, Span.EVERY))
        return joined_accesses(ends)

    def _inside(self, op: Loop, states: Mapping[Node, Accesses]) -> _Flow:
        inside = _Flow({**self.reads, **states}, dict(self.results))
        inside.run(op.body)
        return inside


def _carried(before: Accesses, after: Accesses, body: Block) -> Accesses:
    """The accesses of a carried value, from those before the iteration and those after it."""
    return joined_accesses([before, _at_counter(after, body, Span.EVERY)])


def _widened(after: Accesses, before: Accesses) -> Accesses:
    """The accesses, with every index along the axes on which an iteration has added some."""
    return {
        source: known if _cover(known, maps) else frozenset([_over_all(maps)])
        for source, maps in after.items()
        for known in [before.get(source, frozenset())]
    }


def _cover(known: frozenset[AccessMap], maps: frozenset[AccessMap]) -> bool:
    """Whether each access is covered by one of those that are known."""
    return all(any(_over_all(frozenset((old, each))) == old for old in known) for each in maps)


def _over_all(maps: frozenset[AccessMap]) -> AccessMap:
    return tuple(map(_covering, zip(*maps, strict=True)))


def _stacked(reads: Accesses, stack: Stack, body: Block, extent: Number | None) -> Accesses:
    """The accesses of a stacked result, from those of its element in an iteration."""
    rank, axis = len(stack.element.shape), stack.axis
    outer = tuple(own(k if k < axis else k + 1) for k in range(rank))
    at: Index = own(axis)
    if stack.reverse:
        last = None if extent is None else of_number(extent).plus(AffineIndex(-1))
        at = Span.EVERY if last is None else last.plus(own(axis), -1)
    return _at_counter(_through(outer, reads), body, at)

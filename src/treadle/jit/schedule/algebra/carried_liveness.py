"""Carried values and stacked outputs that nothing needs, and carried values that are always equal.

    a carried value whose result nothing reads, and no other carried value    not carried
    a stacked output that nothing reads                                       not stacked
    carried values with equal initial and next values                         one

A copy that is carried beside an array keeps it from being updated in place: with one, a loop that
writes a row of a table in each iteration copies the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from treadle.jit.kernel.dce import may_fail
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    CarriedArg,
    DimOf,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Result,
    ScanSlice,
    op_of,
)
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, loops_by_body, shape_operands
from treadle.jit.schedule.carried_rewrite import CarriedForm, CarriedForms, CarriedRewrite

_OF_ITERATION = (CarriedArg, InductionVar, ScanSlice)
_DEEPEST = 8
"""How far next values are compared."""


@fixpoint_pass
def with_live_carried_values(kernel: Kernel) -> Rules | None:
    """The kernel with the carried values and stacked outputs that it needs, each once."""
    loops = [node for node in all_nodes(kernel.main) if isinstance(node.op, Loop)]
    if not loops:
        return None
    live = _Liveness.of(kernel, loops)
    forms: CarriedForms = {
        state: CarriedForm(()) for loop in loops for state in op_of(loop, Loop).states
        if state not in live.nodes
    }  # fmt: skip
    unread = {
        loop: numbers for loop in loops
        if (numbers := frozenset(range(len(op_of(loop, Loop).stacks))) - live.stacks_of(loop))
    }  # fmt: skip
    if not forms and not unread:
        forms = {state: form for loop in loops for state, form in _equal(loop)}
    return CarriedRewrite(forms, unread).rules if forms or unread else None


@dataclass(frozen=True, eq=False, slots=True)
class _Liveness:
    """What the results of a kernel, its conditions and what may fail are computed from.

    `stacks` are the stacked outputs among it, each by its loop and its number.
    """

    loops: Mapping[Block, Node]
    nodes: set[Node] = field(default_factory=set)
    stacks: set[tuple[Node, int]] = field(default_factory=set)

    @classmethod
    def of(cls, kernel: Kernel, loops: list[Node]) -> _Liveness:
        """The liveness of a kernel."""
        found = cls(loops_by_body(loops))
        nodes = all_nodes(kernel.main)
        kept = (node for node in nodes if may_fail(node) or isinstance(node.op, Branch))
        waiting = [*kernel.results, *kept]
        while waiting:
            node = waiting.pop()
            if node not in found.nodes:
                found.nodes.add(node)
                waiting += found._read(node)
        return found

    def stacks_of(self, loop: Node) -> frozenset[int]:
        """The numbers of a loop's live stacked outputs."""
        return frozenset(number for each, number in self.stacks if each is loop)

    def _read(self, node: Node) -> Iterator[Node]:
        """What a live node is computed from."""
        yield from shape_operands(node)
        match node.op:
            case Loop() as loop:
                yield from node.operands[: loop.heads]
                if loop.next_condition is not None:
                    yield loop.next_condition
                return
            case Branch() as branch:
                yield from (*branch.then_results, *branch.otherwise_results)
            case CarriedArg(number=number):
                yield from self._carried(self.loops[node.home], number)
            case Result(number=number) | DimOf(number=number) if node.operands:
                yield from self._result(node.operands[0], number)
            case DimOf(number=number):
                yield from self._carried(self.loops[node.home], number)
        yield from node.operands

    def _result(self, owner: Node, number: int) -> Iterator[Node]:
        match owner.op:
            case Loop() as loop if number < len(loop.states):
                yield from self._carried(owner, number)
            case Loop() as loop:
                place = number - len(loop.states)
                self.stacks.add((owner, place))
                yield loop.stacks[place].element

    def _carried(self, owner: Node, number: int) -> Iterator[Node]:
        loop = op_of(owner, Loop)
        yield loop.states[number]
        yield loop.nexts[number]
        yield owner.operands[loop.heads + number]


def _equal(node: Node) -> Iterator[tuple[Node, CarriedForm]]:
    """The carried values of a loop that always equal an earlier one, with that."""
    op = op_of(node, Loop)
    initials, found = node.operands[op.heads :], dict[Node, Node]()
    for number, state in enumerate(op.states):
        for other in range(number):
            first = op.states[other]
            is_alike = first not in found and initials[other] is initials[number]
            same = {frozenset((first, state))}
            if is_alike and _are_equal(op.nexts[other], op.nexts[number], same, _DEEPEST):
                found[state] = first
                break
    for state, first in found.items():
        yield state, CarriedForm((), same=first)


def _are_equal(one: Node, other: Node, same: set[frozenset[Node]], deepest: int) -> bool:
    """Whether two nodes of a body are equal if those of each pair are."""
    if one is other or frozenset((one, other)) in same:
        return True
    is_alike = (one.op, one.dtype, one.shape) == (other.op, other.dtype, other.shape)
    if not deepest or not is_alike or not one.operands or isinstance(one.op, _OF_ITERATION):
        return False
    pairs = zip(one.operands, other.operands, strict=False)
    return len(one.operands) == len(other.operands) and all(
        _are_equal(left, right, same, deepest - 1) for left, right in pairs
    )

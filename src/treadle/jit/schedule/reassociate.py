"""Reassociation of chains of one associative function: operands available early come first.

    min(min(up, left + 1), diagonal)  =  min(min(up, diagonal), left + 1)

where `left` was computed by the previous iteration, so that only one step depends on it. Of an
array that is updated element by element, only the element that the previous iteration wrote is
late: dynamic time warping over numbers takes 0.75 of the time. Only for functions with the same
result in every order: on integers, and the maximum or minimum of floats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Elementwise, Gather, Loop, Node, Scatter, Take, op_of
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.schedule.algebra.counters import Counter, counter_of
from treadle.jit.schedule.algebra.index_checks import indices
from treadle.jit.schedule.loops.facts import LoopFacts

_EXTREMES = (Elementwise("max"), Elementwise("min"))
_CARRIED_LATENESS = 1_000_000
"""The lateness of a carried value: later than everything else in an iteration."""


def reassociated(loops: Iterable[LoopFacts]) -> dict[Node, list[Node]]:
    """The reordered operands of each chain, by its last node; only of chains that gain."""
    found: dict[Node, list[Node]] = {}
    for facts in loops:
        readers = facts.storage.readers
        leaves = {last: list(_leaves(last, last, readers)) for last in facts.op.body.nodes}
        chains = {last: own for last, own in leaves.items() if _has_order(last, own)}
        late = _lateness(facts) if chains else {}
        for last, own in chains.items():
            found[last] = sorted(own, key=lambda leaf: late.get(leaf, 0))
    return found


def _has_order(last: Node, own: list[Node]) -> bool:
    """Whether the order of a chain's operands matters.

    Of two floats it does for their maximum and minimum: code asks the first one whether it is NaN.
    """
    if len(own) != 2:
        return len(own) > 2
    is_bound = any(leaf.home is not last.home for leaf in own)
    return last.op in _EXTREMES and is_float(last.dtype) and not is_bound


def _leaves(node: Node, last: Node, readers: Mapping[Node, tuple[Node, ...]]) -> Iterator[Node]:
    op = last.op
    is_own = node is last or (len(readers.get(node, ())) == 1 and node.home is last.home)
    if not isinstance(op, Elementwise) or node.op != op or not is_own or not _is_free(node, last):
        yield node
        return
    for operand in node.operands:
        yield from _leaves(operand, last, readers)


def _is_free(node: Node, last: Node) -> bool:
    op = op_of(last, Elementwise)
    is_same = node.dtype == last.dtype and node.shape == last.shape and node.is_single
    return is_same and FUNCTIONS[op.function].is_reorderable(node.dtype)


def _lateness(facts: LoopFacts) -> dict[Node, int]:
    """The number of steps between the previous iteration's values and a node.

    Carried values that depend on their old ones are later than everything else, in the order in
    which an iteration computes their next values.
    """
    circular, op = _circular(facts), facts.op
    late = _steps(op, dict.fromkeys(circular, _CARRIED_LATENESS))
    nexts = dict(zip(op.states, op.nexts, strict=True))
    return _steps(op, {state: max(late.get(nexts[state], 0), late[state]) for state in circular})


def _steps(op: Loop, starts: Mapping[Node, int]) -> dict[Node, int]:
    """The number of steps before each node of a body, from these numbers of its carried values."""
    written, late = dict(_written_before(op)), dict[Node, int]()
    for node in op.body.nodes:
        before = max((late.get(operand, 0) for operand in node.operands), default=0)
        if _reads_other(node, written, op):
            before = 0
        late[node] = starts[node] if node in starts else before + 1
    return late


def _written_before(op: Loop) -> Iterator[tuple[Node, list[Counter | None]]]:
    """The carried arrays of which an iteration writes one element, and where the last one did."""
    for state, after in zip(op.states, op.nexts, strict=True):
        is_update = isinstance(after.op, Scatter) and after.operands[0] is state
        if is_update and after.operands[1].is_single:
            yield (
                state,
                [each and each.plus(Counter(None, each.step), -1) for each in _places(after, op)],
            )


def _reads_other(node: Node, written: Mapping[Node, list[Counter | None]], op: Loop) -> bool:
    """Whether a node reads an element of an array, and not the one that was written last."""
    if not isinstance(node.op, Take | Gather) or node.operands[0] not in written:
        return False
    pairs = zip(_places(node, op), written[node.operands[0]], strict=True)
    return any(
        read is not None
        and last is not None
        and (read.base, read.step) == (last.base, last.step)
        and read.offset != last.offset
        for read, last in pairs
    )


def _places(node: Node, op: Loop) -> list[Counter | None]:
    """The computed indices of a node, those that count as counters of the loop."""
    return [counter_of(index, op, {}) for index, _ in indices(node)]


def _circular(facts: LoopFacts) -> set[Node]:
    """The carried values whose next value depends on their old one, at any distance."""
    pairs = zip(facts.op.states, facts.op.nexts, strict=True)
    reached = {state: facts.dependence.states_of(after) for state, after in pairs}
    for _ in reached:
        reached = {
            state: found.union(*(reached.get(each, frozenset()) for each in found))
            for state, found in reached.items()
        }
    return {state for state, found in reached.items() if state in found}

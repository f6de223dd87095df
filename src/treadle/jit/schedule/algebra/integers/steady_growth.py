"""Steady growth: carried whole numbers that leave their bounds by no more than a step an iteration.

    cells = min(min(left, above) + 1, diagonal + cost)      after n iterations: at most n more

Let F give the bounds of the next values for bounds B of the carried ones. If F(B) is within B
widened by d, and bounds that are wider by k give results that are wider by at most k, the values
after n iterations are within B widened by n * d. Sums with what no carried value is in, minima,
maxima, choices and views have this property; sums of two carried values have not. A loop inside has
it if its body has, and its trip count is not among what grows: it is one step after the other.
Unless an operand is negated, lower bounds depend on lower bounds only, and each side has its own d.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    CarriedArg,
    Concat,
    Elementwise,
    Gather,
    Loop,
    Node,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Scatter,
    Take,
    View,
)
from treadle.jit.kernel.traversal import reads_of, with_inside, yielded
from treadle.jit.schedule.algebra.integers.bounds import Range, bounds_of, is_within

_MANY = 2
"""The growth of a node whose bounds may widen by more than those of the carried values."""
_SUMS = frozenset(("add", "sub"))
_CHOICES = frozenset(("abs", "cast", "max", "min", "neg", "where"))


@dataclass(frozen=True, eq=False, slots=True)
class SteadyGrowth:
    """The bounds of carried values at first, and the most by which an iteration widens them.

    `step` is how far down and how far up; the same if the nodes turn numbers around (`turns`).
    `nodes` are all that grow with them, `ends` the bounds after all iterations.
    """

    first: Mapping[Node, Range]
    step: Range
    turns: bool
    nodes: Collection[Node]
    ends: Mapping[Node, Range]

    def holds(self, after: Mapping[Node, Range]) -> bool:
        """Whether the bounds after one iteration, from those at first, are within the step."""
        down, up = _step(self.first, after, turns=self.turns)
        return down <= self.step[0] and up <= self.step[1]


def steady_growth(
    op: Loop, found: Mapping[Node, Range], after: Mapping[Node, Range], trips: int
) -> SteadyGrowth | None:
    """The growth in `trips` iterations from `found`, if one iteration leads to `after`.

    None if no value grows so, or if one has more bits after all iterations than its type.
    """
    growth = _steady(op, {each for each in found if not is_within(after[each], found[each])})
    first = {each: found[each] for each in op.states if growth.get(each)}
    turns = any(_turns(node, growth) for node, times in growth.items() if times)
    step = _step(first, after, turns=turns)
    down, up = (by * trips for by in step)
    ends = {each: (low - down, high + up) for each, (low, high) in first.items()}
    if not first or not all(_fits(ends[each], each) for each in ends):
        return None
    nodes = {each for each, times in growth.items() if times}
    return SteadyGrowth(first, step, turns, nodes, ends)


def _fits(values: Range, node: Node) -> bool:
    bounds = bounds_of(node.dtype)
    return bounds is not None and is_within(values, bounds)


def _step(first: Mapping[Node, Range], after: Mapping[Node, Range], *, turns: bool) -> Range:
    """How far the bounds of a value reach beyond those at first, at most: down, and up."""
    pairs = [(first[each], after[each]) for each in first]
    down = max((max(old[0] - new[0], 0) for old, new in pairs), default=0)
    up = max((max(new[1] - old[1], 0) for old, new in pairs), default=0)
    return (max(down, up),) * 2 if turns else (down, up)


def _turns(node: Node, growth: Mapping[Node, int]) -> bool:
    """Whether a node is the lower, the more an operand that grows is above."""
    match node.op:
        case Elementwise(function="sub"):
            return growth.get(node.operands[1], 0) > 0
        case Elementwise(function="neg" | "abs"):
            return True
    return False


def _steady(op: Loop, states: Collection[Node]) -> Mapping[Node, int]:
    """The growth of all nodes, where carried values grow by no more than they all did before.

    Those of `states` that may grow by more are left out: the others must not depend on them.
    """
    found = _with_dependents(op, states)
    while found:
        growth = _growth(op, found)
        pairs = zip(op.states, op.nexts, strict=True)
        left = {s for s, after in pairs if s in found and growth.get(after, 0) < _MANY}
        if left == found:
            return growth
        found = left
    return {}


def _with_dependents(op: Loop, states: Collection[Node]) -> set[Node]:
    """Carried whole numbers, and those that are computed from them."""
    found, count = {each for each in states if each.dtype.numpy.kind in "iu"}, 0
    while count < len(found):
        count, growth = len(found), _growth(op, found)
        pairs = zip(op.states, op.nexts, strict=True)
        found |= {s for s, after in pairs if growth.get(after) and s.dtype.numpy.kind in "iu"}
    return found


def _growth(op: Loop, states: Collection[Node]) -> Mapping[Node, int]:
    """By how many times that of the carried values the bounds of a node grow: 0, 1, or more."""
    found: dict[Node, int] = dict.fromkeys(states, 1)
    _write(op.body.nodes, found)
    return found


def _write(nodes: Iterable[Node], found: dict[Node, int]) -> None:
    for node in nodes:
        if isinstance(node.op, Loop):
            found[node] = _of_loop(node, node.op, found)
        elif node not in found:
            operands = [found.get(each, 0) for each in node.operands]
            found[node] = _of_operands(node, operands, found)


def _of_loop(node: Node, op: Loop, found: dict[Node, int]) -> int:
    """The most that a result of a loop inside grows, and the growth of the nodes in it."""
    if any(found.get(each, 0) for each in node.operands[: op.heads]):
        return _MANY
    growth = {
        s: found.get(s0, 0) for s, s0 in zip(op.states, node.operands[op.heads :], strict=True)
    }
    while True:
        inside = {**found, **growth}
        _write(op.body.nodes, inside)
        wider = {
            s: max(inside[s], inside.get(n, 0)) for s, n in zip(op.states, op.nexts, strict=True)
        }
        if wider == growth:
            break
        growth = wider
    found |= inside
    return max((inside.get(each, 0) for each in (*op.states, *yielded(node))), default=0)


def _of_operands(node: Node, operands: list[int], known: Mapping[Node, int]) -> int:
    match node.op:
        case CarriedArg():
            return 0
        case Result(number=number) if isinstance(node.operands[0].op, Loop):
            loop = node.operands[0].op
            sources = (*loop.states, *(stack.element for stack in loop.stacks))
            return known.get(sources[number], 0)
        case Elementwise(function=function) if function in _SUMS:
            return min(sum(operands), _MANY)
        case Elementwise(function="where"):
            return max(operands[1:])
        case Elementwise(function=function) if function in _CHOICES:
            return max(operands)
        case Elementwise() if node.dtype is DType.BOOL:
            return 0
        case View() | Reshape() | ScanSlice() | Take() | Gather():
            return operands[0]
        case Concat() | Reduce(function="max" | "min"):
            return max(operands)
        case Scatter(function=""):
            return max(operands[:2])
    is_free = not any(known.get(each, 0) for each in reads_of(with_inside(node)))
    return 0 if is_free else _MANY

"""Choices of the first iteration: a carried value, or in iteration 0 what it begins with.

    if i == 0: initial else state       state, which is carried from `initial`

Programs that were written for a first step, and then for others, choose so: by the iteration number
or by a flag that is carried. An array that a branch returns is copied in every iteration.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Branch,
    CarriedArg,
    Constant,
    DimOf,
    Elementwise,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Reshape,
    Result,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, write_loop
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of
from treadle.jit.schedule.algebra.counters import WHOLE

_Range = tuple[float, float]
_TRUE, _FALSE, _EITHER = (1, 1), (0, 0), (0, 1)
_LARGE = 2**31
"""Numbers from which a cast to another type may give others."""


def _less(one: _Range, other: _Range) -> _Range:
    return _TRUE if one[1] < other[0] else _FALSE if one[0] >= other[1] else _EITHER


def _not(one: _Range) -> _Range:
    return 1 - one[1], 1 - one[0]


def _equal(one: _Range, other: _Range) -> _Range:
    if one == other and one[0] == one[1]:
        return _TRUE
    return _FALSE if one[1] < other[0] or other[1] < one[0] else _EITHER


def _ends(function: Callable[[float, float], float]) -> Callable[[_Range, _Range], _Range]:
    return lambda one, other: (function(one[0], other[0]), function(one[1], other[1]))


_FUNCTIONS: Mapping[str, Callable[..., _Range]] = {
    "add": _ends(operator.add), "and": _ends(min), "or": _ends(max), "cast": lambda one: one,
    "sub": lambda one, other: (one[0] - other[1], one[1] - other[0]), "not": _not,
    "equal": _equal, "not_equal": lambda one, other: _not(_equal(one, other)),
    "less": _less, "greater": lambda one, other: _less(other, one),
    "less_equal": lambda one, other: _not(_less(other, one)),
    "greater_equal": lambda one, other: _not(_less(one, other)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Choice:
    """A node that is `first` in the first iteration of the loop and the carried `state` later."""

    loop: Node
    first: Node
    state: Node


@fixpoint_pass
def with_initial_values(kernel: Kernel) -> Rules | None:
    """The kernel with carried values that begin with what the first iteration would choose."""
    nodes = all_nodes(kernel.main)
    loops = [node for node in nodes if isinstance(node.op, Loop)]
    found = {
        node: choice for loop in loops for node in all_nodes(op_of(loop, Loop).body)
        if (choice := _choice(node, loop)) is not None
    }  # fmt: skip
    if not found:
        return None
    readers = readers_of(nodes)
    results = {
        (node.operands[0], node.op.number) for node in {*readers, *kernel.results}
        if isinstance(node.op, Result)
    }  # fmt: skip
    kept = {
        node: choice for node, choice in found.items()
        if _begins_so(choice) or _may_begin_so(node, choice, readers, results)
    }  # fmt: skip
    return _Choices(kept).rules if kept else None


def _choice(node: Node, loop: Node) -> _Choice | None:
    """What a node chooses in the first iteration of a loop; None if it is no such choice."""
    match node.op:
        case Elementwise("where"):
            condition, *sides = node.operands
        case Result(number=number) if isinstance(node.operands[0].op, Branch):
            branch = node.operands[0]
            condition, op = branch.operands[0], op_of(branch, Branch)
            sides = [op.then_results[number], op.otherwise_results[number]]
        case _:
            return None
    body = op_of(loop, Loop).body
    is_first = _is_first(condition, loop)
    if is_first is None:
        return None
    first, state = sides if is_first else reversed(sides)
    is_carried = isinstance(state.op, CarriedArg) and state.home is body
    if not is_carried or first.home.depth >= body.depth:
        return None
    choice = _Choice(loop, first, state)
    is_branch = isinstance(node.op, Result)
    alike = first.shape == state.shape == node.shape or (is_branch and _begins_so(choice))
    return choice if alike and first.dtype == state.dtype else None


def _is_first(condition: Node, loop: Node) -> bool | None:
    """Whether a condition holds in the first iteration only, or in all others; None: neither."""
    if not condition.is_single:
        return None
    first, later = (_range(condition, loop, late=late) for late in (False, True))
    if (first, later) in ((_TRUE, _FALSE), (_FALSE, _TRUE)):
        return first == _TRUE
    return None


def _range(node: Node, loop: Node, *, late: bool) -> _Range | None:
    """The numbers that a scalar can be in the first iteration, or in the others."""
    op = op_of(loop, Loop)
    match node.op:
        case Constant(array=array) if node.is_single and abs(array.item()) < _LARGE:
            return array.item(), array.item()
        case InductionVar() if node.home is op.body:
            return (1, inf) if late else (0, 0)
        case CarriedArg(number=number) if node.home is op.body:
            value = op.nexts[number] if late else loop.operands[op.heads + number]
            return _range(value, loop, late=late) if isinstance(value.op, Constant) else None
        case View() | Reshape() if node.operands[0].is_single:
            return _range(node.operands[0], loop, late=late)
        case Elementwise(function=function) if function in _FUNCTIONS and _is_exact(node):
            given = [_range(each, loop, late=late) for each in node.operands]
            return None if None in given else _FUNCTIONS[function](*given)
    return None


def _is_exact(node: Node) -> bool:
    """Whether a function of these types neither rounds nor wraps numbers, and is not of bits."""
    function, source = op_of(node, Elementwise).function, node.operands[0].dtype
    if function in ("and", "or", "not"):
        return node.dtype is DType.BOOL
    if function in ("add", "sub"):
        return node.dtype in WHOLE
    return function != "cast" or source is DType.BOOL or {source, node.dtype} <= {*WHOLE}


def _begins_so(choice: _Choice) -> bool:
    """Whether the carried value begins with what the first iteration chooses."""
    return _initial(choice) is choice.first


def _initial(choice: _Choice) -> Node:
    op = op_of(choice.loop, Loop)
    return choice.loop.operands[op.heads + op_of(choice.state, CarriedArg).number]


def _may_begin_so(
    node: Node,
    choice: _Choice,
    readers: Mapping[Node, Sequence[Node]],
    results: set[tuple[Node, int]],
) -> bool:
    """Whether nothing else reads the initial value: also not after a loop without iterations."""
    extent = op_of(choice.loop, Loop).extent
    runs = isinstance(extent, int) and extent > 0
    reader = node.operands[0] if isinstance(node.op, Result) else node
    number = op_of(choice.state, CarriedArg).number
    is_alone = readers.get(choice.state, []) == [reader]
    return is_alone and (runs or (choice.loop, number) not in results)


@dataclass(frozen=True, eq=False, slots=True)
class _Choices:
    """The rules; `found` are the nodes that are carried values."""

    found: Mapping[Node, _Choice]
    initials: dict[Node, dict[int, Node]] = field(default_factory=dict)

    @property
    def rules(self) -> Rules:
        """The rules by operation."""
        for choice in self.found.values():
            number = op_of(choice.state, CarriedArg).number
            self.initials.setdefault(choice.loop, {})[number] = choice.first
        return {
            Elementwise: self._state, Result: self._state, DimOf: self._extent, Loop: self._loop
        }  # fmt: skip

    def _state(self, rebuild: Rebuild, node: Node) -> Node:
        choice = self.found.get(node)
        return copied(rebuild, node) if choice is None else rebuild.nodes[choice.state]

    def _extent(self, rebuild: Rebuild, node: Node) -> Node:
        """An extent of a choice: that of the carried value."""
        op = op_of(node, DimOf)
        states = (
            choice.state for each, choice in self.found.items()
            if isinstance(each.op, Result) and node.operands == each.operands
            and each.op.number == op.number
        )  # fmt: skip
        state = next(states, None)
        if state is None:
            return copied(rebuild, node)
        return rebuild.builder.dim(rebuild.nodes[state].shape[op.axis])

    def _loop(self, rebuild: Rebuild, node: Node) -> Node:
        op, given = op_of(node, Loop), list(node.operands)
        for number, first in self.initials.get(node, {}).items():
            given[op.heads + number] = first
        return write_loop(rebuild, replace(node, operands=tuple(given)), op)

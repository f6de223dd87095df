"""Conditional updates of carried numbers: the condition goes to what is added.

    s = where(c, s + x, s)      s = s + where(c, x, 0)
    s = where(x > s, x, s)      s = max(s, x)               of whole numbers

Where neither the condition nor x depends on s, it is an associative step, which strategies take for
vectors of iterations; in order it has one function fewer from one iteration to the next. The number
beside the function leaves every s unchanged, its sign of zero and NaN included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Elementwise, Kernel, Loop, Node
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, reads_of, with_inside
from treadle.jit.schedule.algebra.integers.bounds import bounds_of

_EXTREMES = {"greater": "max", "greater_equal": "max", "less": "min", "less_equal": "min"}


@dataclass(frozen=True, eq=False, slots=True)
class _Update:
    """The next value: a function of the old one and `operand`, neutral without `condition`.

    `is_inverse`: it is neutral where the condition holds. None: there is no condition.
    """

    function: str
    state: Node
    operand: Node
    condition: Node | None = None
    is_inverse: bool = False


@rewrite_pass
def with_plain_updates(kernel: Kernel) -> Rules | None:
    """The kernel with such updates rewritten; itself if it has none."""
    loops = [node.op for node in all_nodes(kernel.main) if isinstance(node.op, Loop)]
    found = {after: update for op in loops for after, update in _updates(op)}
    return replacing(found, _updated)


def _updates(op: Loop) -> Iterator[tuple[Node, _Update]]:
    for state, after in zip(op.states, op.nexts, strict=True):
        is_choice = after.op == Elementwise("where") and after.home is op.body
        if not (is_choice and state.is_single and after.shape == state.shape):
            continue
        update = _conditional(state, after) or _extreme(state, after)
        if update is not None and not _depend(update, state, op):
            yield after, update


def _conditional(state: Node, after: Node) -> _Update | None:
    """The update of a choice between a function of the old value and the old value."""
    condition, *sides = after.operands
    for is_inverse in (False, True):
        changed, kept = sides[::-1] if is_inverse else sides
        op = changed.op
        if kept is not state or not isinstance(op, Elementwise) or changed.home is not after.home:
            continue
        if _neutral(op.function, state.dtype) is None or changed.operands.count(state) != 1:
            continue
        place = changed.operands.index(state)
        if place and op.function == "sub":
            continue
        return _Update(op.function, state, changed.operands[1 - place], condition, is_inverse)
    return None


def _extreme(state: Node, after: Node) -> _Update | None:
    """The update of a choice of the greater or lesser of two whole numbers."""
    condition, *sides = after.operands
    is_compared = isinstance(condition.op, Elementwise) and condition.op.function in _EXTREMES
    if not is_compared or is_float(state.dtype) or state.dtype is DType.BOOL:
        return None
    if state not in sides or tuple(sides) not in (condition.operands, condition.operands[::-1]):
        return None
    assert isinstance(condition.op, Elementwise)
    function = _EXTREMES[condition.op.function]
    if tuple(sides) != condition.operands:
        function = {"max": "min", "min": "max"}[function]
    return _Update(function, state, sides[1 - sides.index(state)])


def _depend(update: _Update, state: Node, op: Loop) -> bool:
    """Whether the operand or the condition is computed from the old value."""
    late = {state}
    for node in op.body.nodes:
        if not late.isdisjoint(reads_of(with_inside(node))):
            late.add(node)
    return update.operand in late or update.condition in late


def _neutral(function: str, dtype: DType) -> float | int | None:
    """The number that changes no other by the function."""
    bounds = bounds_of(dtype)
    least, greatest = bounds or (-np.inf, np.inf)
    ones = -1 if bounds and least < 0 else greatest
    numbers: Mapping[str, float | int] = {
        "add": 0 if bounds else -0.0, "sub": 0, "mul": 1, "max": least, "min": greatest,
        "and": ones, "or": 0, "xor": 0,
    }  # fmt: skip
    return numbers.get(function)


def _updated(rebuild: Rebuild, node: Node, update: _Update) -> Node:
    """The function of the old value and a choice."""
    builder, operand = rebuild.builder, rebuild.nodes[update.operand]
    if update.condition is not None:
        number = _neutral(update.function, node.dtype)
        assert number is not None
        sides = [operand, builder.scalar(number, node.dtype)]
        sides = sides[::-1] if update.is_inverse else sides
        operand = builder.map("where", rebuild.nodes[update.condition], *sides)
    made = builder.map(update.function, rebuild.nodes[update.state], operand)
    return builder.reshape(made, rebuild.shape(node))

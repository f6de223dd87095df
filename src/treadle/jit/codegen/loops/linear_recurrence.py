"""Finds loops that are linear recurrences: m[t] = a[t] * m[t-1] + b[t].

Requirements: all values of the body are scalars, and few; each state is linear in its old value,
and no two states depend on each other; floats computed by the scan are float32, so that float64 is
wider; every function has a vector form. No result of such a float is discontinuous: no comparison,
no cast to an integer, no constant added and subtracted again. Declines otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.ir import DType
from treadle.jit.codegen.carried.stacked import StackedOutput
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.scalar import vector_forms
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS, is_float
from treadle.jit.kernel.ir import (
    CarriedArg,
    Constant,
    Elementwise,
    InductionVar,
    Loop,
    Node,
    Reshape,
    ScanSlice,
    View,
)
from treadle.jit.schedule.storage import Storage

_FEWEST, _MOST_NODES = 4, 64
_ROUNDING_SHIFTS = 2
"""The allowed number of additions of a loop invariant, each of which may round the sum."""

NONE: frozenset[Node] = frozenset()
"""The dependences of a node that is not in `made`: no state."""

Made = Mapping[Node, frozenset[Node]]


@dataclass(frozen=True, eq=False, slots=True)
class LinearRecurrence:
    """A loop of linear recurrences.

    `made` maps nodes of the body to the states they depend on. `order`: the states, each after
    those it depends on. `inexact`: the states whose rounding differs from sequential evaluation.
    """

    node: Node
    op: Loop
    lanes: int
    made: Made
    order: tuple[int, ...]
    inexact: frozenset[Node]


def find_linear_recurrence(
    context: CodegenContext, node: Node, stacks: Sequence[StackedOutput]
) -> LinearRecurrence | None:
    """The recurrences of a loop, if they are linear and worth it."""
    op, count = node.op, context.builder.target.vector_bytes // 8
    assert isinstance(op, Loop)
    if count < _FEWEST or op.has_condition or op.next_condition is not None or not op.states:
        return None
    if context.tile is not None or context.kernel.limits_memory or _is_short(op, count):
        return None
    if len(op.body.nodes) > _MOST_NODES:
        return None
    if not all(_is_plain(context, state, after) for state, after in _pairs(op)):
        return None
    if not all(_is_straight(stack) for stack in stacks):
        return None
    if not all(_has_lanes(each, op) for each in op.body.nodes):
        return None
    made = _made(op)
    order = _order(op, made)
    if order is None:
        return None
    inexact = _inexact(op, made)
    if any(state.dtype is DType.FLOAT64 for state in inexact):
        return None
    if any(not is_float(each.dtype) and made[each] & inexact for each in op.body.nodes):
        return None
    return LinearRecurrence(node, op, count, made, order, inexact)


def _pairs(op: Loop) -> list[tuple[Node, Node]]:
    return [*zip(op.states, op.nexts, strict=True)]


def _is_short(op: Loop, count: int) -> bool:
    known = [each for each in (op.length, op.extent) if isinstance(each, int)]
    return bool(known) and min(known) < 4 * count


def _is_plain(context: CodegenContext, state: Node, after: Node) -> bool:
    """Whether it is a scalar in a register that only the loop changes."""
    if (
        state in context.carried.delay_lines
        or state in context.carried.growable
        or context.access.storage_of(state) is not Storage.REGISTERS
    ):
        return False
    is_number = state.dtype is not DType.BOOL and state.dtype not in SIXTEEN_BIT_FLOATS
    return is_number and state.is_single and after.is_single


def _is_straight(stack: StackedOutput) -> bool:
    """Whether its elements are contiguous in memory that exists before the loop."""
    if (
        stack.memory is None
        or not stack.element.is_single
        or stack.part.dtype in SIXTEEN_BIT_FLOATS
    ):
        return False
    return is_one(stack.memory.strides[stack.stack.axis])


def _has_lanes(node: Node, op: Loop) -> bool:
    if not node.is_single:
        return False
    match node.op:
        case CarriedArg() | InductionVar() | View() | Reshape():
            return all(operand.is_single for operand in node.operands)
        case ScanSlice(axis, _):
            source = node.operands[0]
            is_list = all(e == 1 for k, e in enumerate(source.shape) if k != axis)
            is_outside = source.home.depth < op.body.depth
            return is_list and is_outside and source.dtype not in SIXTEEN_BIT_FLOATS
        case Elementwise(function):
            return vector_forms.has_vector_form(
                function, [o.dtype for o in node.operands], node.dtype
            )
    return False


def _made(op: Loop) -> Made:
    """The states that each node of the body depends on, each node after its operands."""
    made = {state: frozenset([state]) for state in op.states}
    for node in op.body.nodes:
        if node not in made:
            made[node] = NONE.union(*(made.get(operand, NONE) for operand in node.operands))
    return made


def _order(op: Loop, made: Made) -> tuple[int, ...] | None:
    """The states, each after those its next value depends on; None if one is not linear."""
    order: list[int] = []
    while len(order) < len(op.states):
        known = {op.states[k] for k in order}
        ready = [
            k
            for k, (state, after) in enumerate(_pairs(op))
            if k not in order and made.get(after, NONE) <= {state, *known}
        ]
        if not ready:
            return None
        order += ready
    are_linear = all(_is_linear(after, state, op, made) for state, after in _pairs(op))
    return tuple(order) if are_linear else None


def _is_linear(after: Node, state: Node, op: Loop, made: Made) -> bool:
    """Whether the node is a * state + b, where a and b do not depend on the state."""
    if state not in made.get(after, NONE):
        return True
    linear = {state}
    shifted = 0
    for node in op.body.nodes:
        late = [each for each in node.operands if state in made.get(each, NONE)]
        if not late or node.dtype != state.dtype or not linear.issuperset(late):
            continue
        if _keeps_linear(node, late):
            linear.add(node)
            shifted += _is_shift(node, op)
    return after in linear and shifted < _ROUNDING_SHIFTS


def _keeps_linear(node: Node, late: list[Node]) -> bool:
    match node.op:
        case View() | Reshape() | Elementwise("add" | "sub" | "neg"):
            return True
        case Elementwise("mul"):
            return len(late) == 1
        case Elementwise("div"):
            return is_float(node.dtype) and late == [node.operands[0]]
    return False


def _is_shift(node: Node, op: Loop) -> bool:
    """Whether it adds or subtracts a loop invariant.

    Two of these with a large number round the intermediate value: x + 2**23 - 2**23.
    """
    is_sum = isinstance(node.op, Elementwise) and node.op.function in ("add", "sub")
    return is_sum and any(
        o.home is not op.body or isinstance(o.op, Constant) for o in node.operands
    )


def _inexact(op: Loop, made: Made) -> frozenset[Node]:
    """The floats whose rounding differs from sequential evaluation, and all values they affect."""
    of = {state: made.get(after, NONE) for state, after in _pairs(op)}
    found = {state for state in op.states if is_float(state.dtype) and state in of[state]}
    while more := {state for state in op.states if state not in found and of[state] & found}:
        found |= more
    return frozenset(found)


def is_one(stride: Any) -> bool:
    """Whether a stride is known to be one element."""
    return isinstance(stride, int) and stride == 1

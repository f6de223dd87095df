"""Linear recurrences: m[t] = a[t] * m[t-1] + b[t], several iterations at once.

Lawful where the step of every carried value is affine in its own old value, and no two depend on
each other. Floats computed by the scan are float32, so that float64 is wider, and nothing
discontinuous is computed from them: no comparison, no cast to an integer, no constant added and
subtracted again. All values of the body are scalars, and few; every function has a vector form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS, is_float
from treadle.jit.kernel.ir import (
    Constant,
    Elementwise,
    Gather,
    Loop,
    Node,
    ScanSlice,
    Stack,
    Take,
    op_of,
)
from treadle.jit.kernel.traversal import word_of
from treadle.jit.schedule.associative_step import linear_nodes
from treadle.jit.schedule.dependence import LoopDependence
from treadle.jit.schedule.loops.facts import LoopFacts, grows, has_lanes

_MIN_LANES, _MAX_NODES, _LANE_BYTES, _PLAIN = 8, 64, 8, 64
_ROUNDING_SHIFTS = 2
"""The allowed number of additions of a loop invariant, each of which may round the sum."""


@dataclass(frozen=True, eq=False, slots=True)
class ParallelPrefix:
    """A loop of linear recurrences.

    `order` are the carried values, each after those it depends on. After a group of iterations that
    is rejected, `plain` ones run one by one.
    """

    node: Node
    lanes: int
    dependence: LoopDependence
    order: tuple[int, ...]
    plain: int = _PLAIN

    def __str__(self) -> str:
        return f"parallel prefix of {self.lanes} iterations"

    @property
    def op(self) -> Loop:
        """The loop's operation."""
        return op_of(self.node, Loop)


def parallel_prefix_of(facts: LoopFacts) -> ParallelPrefix | str:
    """The recurrences of a loop, or why they are not computed by a parallel prefix."""
    op, lanes = facts.op, facts.target.vector_bytes // _LANE_BYTES
    if not op.states or not op.is_counted:
        return "it carries nothing, or has a condition"
    if lanes < _MIN_LANES:
        return "the vectors of this machine are short"
    if facts.kernel.limits_memory:
        return "the memory of loops is limited"
    if _is_short(op, lanes):
        return "it has few iterations"
    if len(op.body.nodes) > _MAX_NODES:
        return "its body is long"
    obstacle = _obstacle(facts)
    if obstacle:
        return obstacle
    order = _order(op, facts.dependence)
    if order is None:
        return "carried values depend on each other"
    return _numeric_obstacle(op, facts.dependence) or ParallelPrefix(
        facts.node, lanes, facts.dependence, order
    )


def _is_short(op: Loop, lanes: int) -> bool:
    known = [each for each in (op.length, op.extent) if isinstance(each, int)]
    return bool(known) and min(known) < 4 * lanes


def _obstacle(facts: LoopFacts) -> str:
    """What keeps the loop from being computed lane by lane; "" if nothing does."""
    op = facts.op
    for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True)):
        is_plain = facts.is_plain(number) and facts.is_in_registers(state)
        is_number = state.dtype is not DType.BOOL and state.dtype not in SIXTEEN_BIT_FLOATS
        if not (is_plain and is_number and state.is_single and after.is_single):
            return f"carried {number} is not a number of 32 or 64 bits"
    if not all(_is_straight(stack, part) for stack, part in facts.read_stacks()):
        return "a stacked output is not contiguous"
    is_item = partial(_is_item, op=op)
    rigid = next((node for node in op.body.nodes if not has_lanes(node, is_item)), None)
    return "" if rigid is None else f"{word_of(rigid)} has no vector form"


def _is_straight(stack: Stack, part: Node) -> bool:
    """Whether its elements are contiguous in memory that exists before the loop."""
    is_known = not grows(part)
    return is_known and stack.element.is_single and part.dtype not in SIXTEEN_BIT_FLOATS


def _is_item(item: ScanSlice | Take | Gather, source: Node, op: Loop) -> bool:
    if not isinstance(item, ScanSlice):
        return False
    is_list = all(e == 1 for k, e in enumerate(source.shape) if k != item.axis)
    is_outside = source.home.depth < op.body.depth
    return is_list and is_outside and source.dtype not in SIXTEEN_BIT_FLOATS


def _order(op: Loop, dependence: LoopDependence) -> tuple[int, ...] | None:
    """The carried values, each after those its next value depends on; None if there is no order."""
    order: list[int] = []
    while len(order) < len(op.states):
        known = {op.states[k] for k in order}
        ready = [
            k
            for k, (state, after) in enumerate(zip(op.states, op.nexts, strict=True))
            if k not in order and dependence.states_of(after) <= {state, *known}
        ]
        if not ready:
            return None
        order += ready
    return tuple(order)


def _numeric_obstacle(op: Loop, dependence: LoopDependence) -> str:
    """Which carried value is not affine, or would not keep its precision; "" if none."""
    for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True)):
        if state not in dependence.states_of(after):
            continue
        linear = linear_nodes(op, state, dependence.flow)
        if after not in linear:
            return f"carried {number} is not linear in its old value"
        if sum(_adds_invariant(node, op) for node in linear) >= _ROUNDING_SHIFTS:
            return f"carried {number} is rounded by additions of invariants"
    inexact = _inexact(op, dependence)
    if any(state.dtype is DType.FLOAT64 for state in inexact):
        return "float64 would be rounded otherwise"
    for node in op.body.nodes:
        if not is_float(node.dtype) and dependence.states_of(node) & inexact:
            return f"{word_of(node)} is not continuous"
    return ""


def _adds_invariant(node: Node, op: Loop) -> bool:
    """Whether it adds or subtracts a loop invariant.

    Two of these with a large number round the intermediate value: x + 2**23 - 2**23.
    """
    is_sum = isinstance(node.op, Elementwise) and node.op.function in ("add", "sub")
    return is_sum and any(
        o.home is not op.body or isinstance(o.op, Constant) for o in node.operands
    )


def _inexact(op: Loop, dependence: LoopDependence) -> frozenset[Node]:
    """The floats whose rounding differs from sequential evaluation, and all values they affect."""
    pairs = zip(op.states, op.nexts, strict=True)
    of = {state: dependence.states_of(after) for state, after in pairs}
    found = {state for state in op.states if is_float(state.dtype) and state in of[state]}
    while more := {state for state in op.states if state not in found and of[state] & found}:
        found |= more
    return frozenset(found)

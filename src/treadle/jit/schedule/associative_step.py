"""What a loop does to a carried value in each iteration, if that is an associative function.

    unchanged      next = state
    affine         next = a * state + b            composes to a map of the same form
    add, min ...   next = state + x, min(state, x) where x does not depend on the state

Iterations of such a step can be combined in any grouping, several at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Elementwise, Loop, Node, Reshape, View
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.schedule.access import Accesses

OTHER = "other"
"""The step of a carried value that is none of these."""


def step_of(loop: Loop, number: int, flow: Mapping[Node, Accesses]) -> str:
    """The step of a carried value, in a word."""
    state, after = loop.states[number], loop.nexts[number]
    if after is state:
        return "unchanged"
    if state not in flow.get(after, {}):
        return "replaced"
    found = _functions(after, state, flow)
    if found is not None and len(found) == 1:
        (function,) = found
        return function
    return "affine" if after in linear_nodes(loop, state, flow) else OTHER


def _functions(node: Node, state: Node, flow: Mapping[Node, Accesses]) -> set[str] | None:
    """The associative functions on the way from the state to a node; None if another is there."""
    if node is state:
        return set()
    late = [operand for operand in node.operands if state in flow.get(operand, {})]
    if len(late) != 1 or late[0].shape != node.shape:
        return None
    before = _functions(late[0], state, flow)
    if before is None or not isinstance(node.op, Elementwise):
        return None
    function = node.op.function
    return before | {function} if FUNCTIONS[function].is_associative else None


def linear_nodes(loop: Loop, state: Node, flow: Mapping[Node, Accesses]) -> dict[Node, None]:
    """The nodes a * state + b of the body, where a and b do not depend on the state, in order."""
    linear: dict[Node, None] = {state: None}
    for node in loop.body.nodes:
        late = [each for each in node.operands if state in flow.get(each, {})]
        is_same = bool(late) and node.dtype == state.dtype and linear.keys() >= set(late)
        if is_same and _keeps_linear(node, late):
            linear[node] = None
    return linear


def _keeps_linear(node: Node, late: list[Node]) -> bool:
    match node.op:
        case View() | Reshape() | Elementwise("add" | "sub" | "neg"):
            return True
        case Elementwise("mul"):
            return len(late) == 1
        case Elementwise("div"):
            return is_float(node.dtype) and late == [node.operands[0]]
    return False

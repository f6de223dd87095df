"""Windows: shift registers, whose rows move on by one in each iteration while one enters.

A loop that carries windows only, and computes numbers of their elements, as filters do, has the
elements in registers even where they are many: its iterations are computed side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    Concat,
    Constant,
    Elementwise,
    Gather,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Reduce,
    Reshape,
    ScanSlice,
    Scatter,
    Take,
    View,
    static_shape,
)
from treadle.jit.kernel.traversal import word_of
from treadle.jit.schedule.access import composed, counter, identity, own
from treadle.jit.schedule.op_accesses import accesses_of

_MOST_ELEMENTS, _LONGEST_WINDOW, _FEWEST_ITERATIONS = 128, 64, 16
"""The elements that an iteration may compute, and a window may have: the code is written out."""
_STRAIGHT = (
    CarriedArg, Concat, Constant, Elementwise, InductionVar, Reduce, Reshape, ScanSlice, View,
)  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Window:
    """A shift register along `axis`, into which a row of `source` enters in each iteration.

    `is_forward`: at its end; else at its start.
    """

    source: Node
    is_forward: bool
    axis: int = 0


def filters_windows(loop: Loop, kernel: Kernel) -> bool:
    """Whether a loop carries windows only, and its iterations are computed side by side."""
    if not loop.states or obstacle_to_lanes(loop, kernel):
        return False
    if obstacle_to_straight_code(loop.body) or is_long(loop.body):
        return False
    if not all(n.is_static and n.size <= _LONGEST_WINDOW for n in loop.body.nodes):
        return False
    windows = [window_of(loop, number) for number in range(len(loop.states))]
    pairs = zip(loop.states, windows, strict=True)
    return all(w is not None and s.size == static_shape(s)[w.axis] for s, w in pairs)


def obstacle_to_lanes(loop: Loop, kernel: Kernel) -> str:
    """Why iterations must be counted one by one; "" if they need not."""
    if not loop.is_counted:
        return "it has a condition"
    if kernel.limits_memory or kernel.is_profiled:
        return "each iteration is measured"
    is_short = isinstance(loop.extent, int) and loop.extent < _FEWEST_ITERATIONS
    return "it has few iterations" if is_short else ""


def obstacle_to_straight_code(body: Block) -> str:
    """The operation that may fail, or loops, in a body of numbers and few elements; "" if none."""
    other = next((node for node in body.nodes if not _is_straight(node)), None)
    return "" if other is None else f"{word_of(other)} may fail or loops"


def _is_straight(node: Node) -> bool:
    """Whether a node's code has no branch: it neither fails nor loops."""
    if isinstance(node.op, Gather | Scatter | Take):
        return node.op.is_in_range and all(each.is_single for each in node.operands[1:])
    return isinstance(node.op, _STRAIGHT)


def is_long(body: Block) -> bool:
    """Whether a body is too long to be written out for each element."""
    functions = (node for node in body.nodes if isinstance(node.op, Elementwise))
    return sum(node.size for node in functions if node.is_static) > _MOST_ELEMENTS


def window_of(loop: Loop, number: int) -> Window | None:
    """The window that a carried value is: all but one of its rows move on by one."""
    state, after = loop.states[number], loop.nexts[number]
    if not (loop.is_counted and state.is_static and state.shape and isinstance(after.op, Concat)):
        return None
    if len(after.operands) != 2 or loop.nexts.count(after) > 1:
        return None
    axis = after.op.axis
    for is_forward in (True, False):
        kept, new = after.operands if is_forward else after.operands[::-1]
        source = _rows(new, loop, axis)
        if source is not None and _moves_on(kept, state, axis, int(is_forward)):
            return Window(source, is_forward, axis)
    return None


def _moves_on(kept: Node, state: Node, axis: int, offset: int) -> bool:
    """Whether it is the state without its first row (offset 1), or without its last one (0)."""
    shape = list(static_shape(state))
    shape[axis] -= 1
    if not isinstance(kept.op, View) or kept.operands != (state,) or kept.shape != tuple(shape):
        return False
    (access,) = accesses_of(kept)
    wanted = tuple(own(k, offset if k == axis else 0) for k in range(len(shape)))
    return kept.dtype == state.dtype and access == wanted


def _rows(new: Node, loop: Loop, axis: int) -> Node | None:
    """The tensor whose item of this iteration is the row."""
    access, row = identity(len(new.shape)), new
    while isinstance(row.op, Reshape | View):
        access = composed(access, accesses_of(row)[0])
        row = row.operands[0]
    if not isinstance(row.op, ScanSlice) or row.home is not loop.body:
        return None
    (source,), access = row.operands, composed(access, accesses_of(row)[0])
    others = [k for k in range(len(new.shape)) if k != axis]
    is_row = new.shape[axis] == 1 and tuple(new.shape[k] for k in others) == source.shape[1:]
    if not is_row or access[0] != counter(loop.body):
        return None
    pairs = zip(source.shape[1:], access[1:], map(own, others), strict=True)
    return source if all(extent == 1 or at == wanted for extent, at, wanted in pairs) else None

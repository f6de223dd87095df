"""Sliding windows: carried arrays from which rows leave at one end while rows enter at the other.

    next = Concat(state[rows:], new)       next = Concat(new, state[:-rows])

The array is a window into memory with spare rows, and moves on by `rows` in each iteration: only
`new` is written. At the end of the memory the window is copied back to the start, once in as many
iterations as the spare rows last. Four strings of Karplus and Strong of 109 samples take 16 us for
3,000 iterations, and 225 us where all samples are copied in each. Rows that are items of a scanned
input are in memory before the loop, and need no copy at all (windows.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import Concat, Loop, Node, View, static_shape
from treadle.jit.schedule.access import own
from treadle.jit.schedule.op_accesses import accesses_of

_MIN_KEPT = 4
"""How many times as many rows stay as enter, at least: below, a copy takes as long."""


@dataclass(frozen=True, eq=False, slots=True)
class SlidingWindow:
    """A window along `axis`; `rows` enter at its end if it `is_forward`, else at its start.

    `spare` is the number of rows that the memory has beside those of the window.
    """

    axis: int
    rows: int
    spare: int
    is_forward: bool


def sliding_window_of(loop: Loop, number: int) -> SlidingWindow | None:
    """The sliding window that a carried array is."""
    state, after = loop.states[number], loop.nexts[number]
    if not (isinstance(after.op, Concat) and after.home is loop.body and state.is_static):
        return None
    is_known = all(operand.is_static for operand in after.operands)
    if not is_known or loop.nexts.count(after) > 1 or state.dtype != after.dtype:
        return None
    axis = after.op.axis
    for is_forward in (True, False):
        kept, *new = after.operands[:: 1 if is_forward else -1]
        rows = sum(static_shape(each)[axis] for each in new)
        extent = static_shape(state)[axis]
        if _is_moved(kept, state, axis, rows if is_forward else 0):
            spare = -(-extent // rows) * rows + rows
            return SlidingWindow(axis, rows, spare, is_forward) if _is_worth(extent, rows) else None
    return None


def entering(join: Node, window: SlidingWindow) -> Sequence[Node]:
    """The operands of a next value that enter the window."""
    assert isinstance(join.op, Concat)
    return join.operands[1:] if window.is_forward else join.operands[:-1]


def _is_worth(extent: int, rows: int) -> bool:
    return 0 < rows * _MIN_KEPT <= extent - rows


def _is_moved(kept: Node, state: Node, axis: int, offset: int) -> bool:
    """Whether it is all of the state but some rows, from this row on."""
    if not isinstance(kept.op, View) or kept.operands != (state,) or kept.dtype != state.dtype:
        return False
    (access,) = accesses_of(kept)
    return access == tuple(own(k, offset if k == axis else 0) for k in range(len(state.shape)))

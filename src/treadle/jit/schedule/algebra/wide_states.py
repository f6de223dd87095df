"""Carried arrays of 16-bit floats that every iteration reads in float32: carried in float32.

    cache = concat(cache, float16(row));  p = q @ float32(cache)
    wide = concat(wide, float32(float16(row)));  p = q @ wide         float16(wide) behind the loop

Machine code computes with such floats in float32, and would cast the whole cache of a decoder for
each token. Declines where an iteration reads a part of the array, reads it in 16 bits, or reads it
in a branch only. The array is cast before and after the loop, so loops of few iterations and inner
loops decline too: a table of 512 x 1024 float16 takes less time from 6 iterations on (Zen 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import (
    Concat,
    Elementwise,
    Loop,
    Node,
    Scatter,
    View,
    op_of,
)
from treadle.jit.kernel.traversal import readers_of
from treadle.jit.kernel.views import permutation
from treadle.jit.schedule.carried_rewrite import CarriedForm, CarriedForms

_CAST = Elementwise("cast")
_FEWEST_ITERATIONS = 6


def wide_forms(loops: Sequence[Node], nodes: Sequence[Node]) -> CarriedForms:
    """The forms of such values in these loops of a kernel with these nodes."""
    found, readers = {}, None
    for loop in loops:
        op = op_of(loop, Loop)
        is_short = isinstance(op.extent, int) and op.extent < _FEWEST_ITERATIONS
        if is_short or any(block.is_loop for block in loop.home.outward()):
            continue
        for state, after in zip(op.states, op.nexts, strict=True):
            if state.dtype not in SIXTEEN_BIT_FLOATS or not state.shape:
                continue
            steps = _steps(after, state)
            if len(steps) < 2:
                continue
            readers = readers_of(nodes) if readers is None else readers
            is_stacked = any(stack.element in steps for stack in op.stacks)
            if not is_stacked and _is_read_wide(loop, steps, readers):
                same = tuple(range(len(state.shape)))
                found[state] = CarriedForm((state.shape,), kept=same, dtype=DType.FLOAT32)
    return found


def _steps(node: Node, state: Node) -> list[Node]:
    """The values from the carried one on, each the one before with new rows; none if it is not."""
    if node is state:
        return [node]
    given: Sequence[Node] = ()
    if isinstance(node.op, Concat):
        given = node.operands
    elif isinstance(node.op, Scatter) and not node.op.function:
        given = node.operands[:1]
    steps = next((found for each in given if (found := _steps(each, state))), [])
    return [*steps, node] if steps else []


def _is_read_wide(
    loop: Node, steps: Sequence[Node], readers: Mapping[Node, Sequence[Node]]
) -> bool:
    """Whether all other readers cast the elements, and one of them the whole array."""
    is_whole = False
    for step in steps:
        for reader in readers.get(step, ()):
            if reader is loop or reader in steps:
                continue
            casts = readers.get(reader, ()) if isinstance(reader.op, View) else (reader,)
            if not all(each.op == _CAST and each.dtype is DType.FLOAT32 for each in casts):
                return False
            is_all = reader.op == _CAST or permutation(reader) is not None
            is_whole |= is_all and all(each.home is step.home for each in (reader, *casts))
    return is_whole

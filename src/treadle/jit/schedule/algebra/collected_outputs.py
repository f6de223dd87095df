"""Carried arrays that only collect a row of each iteration become stacked outputs.

    next = Concat(state, row)                  appended
    next = Concat(row, state)                  in front, in a counted loop: stacked from the last
    next = state with row i replaced by row    where the iterations replace every row

Programs with lists and arrays of tensors collect outputs so. A stacked output is written where it
belongs, and iterations that carry nothing else run side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treadle.jit.kernel.ir import (
    Axis,
    CarriedArg,
    Concat,
    Constant,
    DimOf,
    Elementwise,
    Kernel,
    Loop,
    Node,
    Number,
    Scatter,
    SymbolicDim,
    View,
    op_of,
)
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, yielded
from treadle.jit.schedule.algebra.counters import Counter, counter_of
from treadle.jit.schedule.carried_rewrite import CarriedForm, CarriedRewrite, Collected


@fixpoint_pass
def with_stacked_outputs(kernel: Kernel) -> Rules | None:
    """The kernel with stacked outputs for such values; itself if it has none."""
    nodes = all_nodes(kernel.main)
    readers: dict[Node, list[Node]] = {}
    for node in nodes:
        for read in (*node.operands, *yielded(node)):
            readers.setdefault(read, []).append(node)
    loops = [node for node in nodes if isinstance(node.op, Loop)]
    forms = {state: form for loop in loops for state, form in _collected(loop, readers)}
    return CarriedRewrite(forms).rules if forms else None


def _collected(
    node: Node, readers: Mapping[Node, list[Node]]
) -> Iterator[tuple[Node, CarriedForm]]:
    """The carried values of a loop that collect rows."""
    op = op_of(node, Loop)
    for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True)):
        is_alone = readers.get(state) == [after] and readers.get(after) == [node]
        if not is_alone or after.home is not op.body:
            continue
        found = _appended(op, state, after) or _replaced(node, number)
        if found is not None:
            yield state, CarriedForm((), collected=found)


def _appended(op: Loop, state: Node, after: Node) -> Collected | None:
    if not isinstance(after.op, Concat) or len(after.operands) != 2:
        return None
    axis, is_last = after.op.axis, after.operands[0] is state
    row = after.operands[is_last]
    is_grown = any(_is_extent(each, state, axis) for each in op.body.nodes)
    is_known = is_last or op.is_counted
    is_row = row is not state and row.shape[axis] == 1 and is_grown and is_known
    rest = [extent for k, extent in enumerate(row.shape) if k != axis]
    own = [extent for k, extent in enumerate(state.shape) if k != axis]
    if not is_row or rest != own:
        return None
    return Collected(after, row, axis, reverse=not is_last, grows=True)


def _is_extent(node: Node, state: Node, axis: int) -> bool:
    number = op_of(state, CarriedArg).number
    return not node.operands and node.op == DimOf(number, axis)


def _replaced(node: Node, number: int) -> Collected | None:
    """The rows that a loop writes, if it writes each of an array's."""
    op = op_of(node, Loop)
    state, after = op.states[number], op.nexts[number]
    if not isinstance(after.op, Scatter) or after.op.function or after.operands[0] is not state:
        return None
    row, axes = after.operands[1], after.op.axes
    chosen = [(axis, at) for axis, at in enumerate(axes) if not isinstance(at, Axis)]
    if len(chosen) != 1 or state not in after.operands[:1] or row is state:
        return None
    ((axis, at),) = chosen
    whole = all(
        axes[k] == Axis(0, ((k, 1),)) and row.shape[k] == extent
        for k, extent in enumerate(state.shape) if k != axis
    )  # fmt: skip
    count = state.shape[axis]
    if not whole or len(row.shape) != len(state.shape) or row.shape[axis] != 1:
        return None
    found = counter_of(_single(after.operands[2 + at]), op, {})
    if not _is_trip_count(count, op.extent) or found is None:
        return None
    if found == Counter(step=1):
        return Collected(after, row, axis)
    is_back = isinstance(count, int) and found == Counter(None, count - 1, -1)
    return Collected(after, row, axis, reverse=True) if is_back else None


def _is_trip_count(count: Number, extent: Number | None) -> bool:
    """Whether an array has as many rows as a loop has iterations: n of them, and max(n, 0)."""
    if count == extent:
        return True
    if not isinstance(count, SymbolicDim) or not isinstance(extent, SymbolicDim):
        return False
    source = extent.source
    if source is None or count.source is None or source.op != Elementwise("max"):
        return False
    trips, least = source.operands
    return trips is count.source and isinstance(least.op, Constant) and not least.op.array.any()


def _single(index: Node) -> Node:
    """The one number that an index repeats; the index if it has several."""
    while isinstance(index.op, View) and not any(axis.terms for axis in index.op.axes):
        (index,) = index.operands
    return index

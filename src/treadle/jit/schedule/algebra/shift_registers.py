"""Shift registers that are cut out of a longer row: the rows that stay, and the new one.

    row = concat(s, x); s = row[1:]         =       row = concat(s, x); s = concat(s[1:], x)

The next value then says which elements it keeps, as `layouts/windows.py` looks for.
"""

from __future__ import annotations

from treadle.jit.kernel.ir import Axis, Concat, Kernel, Loop, Node, View, op_of, static_shape
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.views import axis_slice


@rewrite_pass
def with_shift_registers(kernel: Kernel) -> Rules | None:
    """The kernel with such next values as Concats; itself if it has none."""
    found = {
        after: state
        for node in all_nodes(kernel.main)
        if isinstance(node.op, Loop)
        for state, after in zip(node.op.states, node.op.nexts, strict=True)
        if _is_cut_out(state, after)
    }
    return replacing(found, _joined)


def _is_cut_out(state: Node, after: Node) -> bool:
    """Whether the next value is a part of the state with a row before or behind it."""
    if not isinstance(after.op, View) or after.shape != state.shape or not state.is_static:
        return False
    (row,) = after.operands
    if not isinstance(row.op, Concat) or len(row.operands) != 2 or state not in row.operands:
        return False
    if row.operands[0] is row.operands[1] or not all(n.is_static for n in (row, *row.operands)):
        return False
    first = 0 if row.operands[1] is state else static_shape(row)[row.op.axis] - _length(state, row)
    starts = (first if k == row.op.axis else 0 for k in range(len(state.shape)))
    is_new = 0 < static_shape(row)[row.op.axis] - _length(state, row) < _length(state, row)
    return is_new and after.op.axes == tuple(
        Axis(start, ((k, 1),)) for k, start in enumerate(starts)
    )


def _length(node: Node, row: Node) -> int:
    return static_shape(node)[op_of(row, Concat).axis]


def _joined(rebuild: Rebuild, after: Node, state: Node) -> Node:
    """The rows of the state that stay, and the new ones, in their order."""
    (row,), builder = after.operands, rebuild.builder
    axis = op_of(row, Concat).axis
    start = op_of(after, View).axes[axis].offset
    new = row.operands[bool(start)]
    count = _length(state, row) - _length(new, row)
    kept = axis_slice(builder, rebuild.nodes[state], axis, start, 1, count)
    parts = (kept, rebuild.nodes[new]) if start else (rebuild.nodes[new], kept)
    return builder.add(Concat(axis), after.dtype, after.shape, *parts)

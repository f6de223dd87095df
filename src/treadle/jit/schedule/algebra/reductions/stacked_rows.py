"""Maxima and minima over a few stacked rows: functions of the rows, which are not stacked then.

    min over (0) of f(concat(a, b, c))     =     min(min(f(a), f(b)), f(c))

where a, b and c have one row each, as the candidates for the cells of a table have: from above,
from the left, and from both. The position of the extreme is a minimum over rows, too. So are short
windows over a padded array:

    max over (0) of view (i0 + i1) of concat(pad, x, pad)
                                  =     max(max(concat(pad, x[:-1]), x), concat(x[1:], pad))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treadle.jit.kernel.ir import (
    Concat,
    Elementwise,
    Kernel,
    Node,
    Reduce,
    View,
    op_of,
    static_shape,
)
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.views import axis_slice, same

_FUNCTIONS = ("max", "min")
_ROWS = range(2, 5)
"""How many rows are few."""
_MOST_FUNCTIONS = 16
"""The functions of each row."""
_MIN_ELEMENTS = 8
"""The elements of a row from which it has vectors."""


@rewrite_pass
def with_separate_rows(kernel: Kernel) -> Rules | None:
    """The kernel with functions of rows for such reductions; itself if it has none."""
    found = {node: axis for node in all_nodes(kernel.main) for axis in _stacked_axes(node)}
    return replacing(found, _chain)


def _stacked_axes(node: Node) -> Iterator[int]:
    """The axis of stacked rows that a node reduces, if it is such a reduction."""
    op = node.op
    if not isinstance(op, Reduce) or op.function not in _FUNCTIONS:
        return
    (source,), axes = node.operands, [k for k in op.axes if node.operands[0].shape[k] != 1]
    if len(axes) != 1:
        return
    (axis,) = axes
    is_long = not node.is_static or node.size >= _MIN_ELEMENTS
    if source.shape[axis] in _ROWS and is_long and node.home.is_loop:
        behind = len(source.shape) - axis
        functions = list(_functions(source, behind))
        leaves = [each for node in functions for each in node.operands] or [source]
        is_stacked = any(_is_stack(each, behind) or _window(each, behind) for each in leaves)
        if len(functions) <= _MOST_FUNCTIONS and is_stacked:
            yield axis


def _functions(node: Node, behind: int) -> Iterator[Node]:
    """The functions that compute a value of rows, whose axis is the last but `behind - 1`."""
    waiting, seen = [node], set[Node]()
    while waiting:
        node = waiting.pop()
        if isinstance(node.op, Elementwise) and _has_rows(node, behind) and node not in seen:
            seen.add(node)
            yield node
            waiting += node.operands


def _has_rows(node: Node, behind: int) -> bool:
    """Whether a value has more than one row."""
    return len(node.shape) >= behind and node.shape[-behind] != 1


def _is_stack(node: Node, behind: int) -> bool:
    """Whether a value is a Concat of single rows."""
    if not isinstance(node.op, Concat) or node.op.axis != len(node.shape) - behind:
        return False
    return all(operand.shape[node.op.axis] == 1 for operand in node.operands)


@dataclass(frozen=True, slots=True)
class _Window:
    """Windows over a Concat along its axis: row r of the windows begins at `first + r`.

    `along` is the axis of the elements of a row.
    """

    first: int
    along: int


def _window(node: Node, behind: int) -> _Window | None:
    """The windows over a Concat that a view is; None if it is another node."""
    if not isinstance(node.op, View) or not isinstance(node.operands[0].op, Concat):
        return None
    (join,), axes = node.operands, list(node.op.axes)
    row, axis = len(node.shape) - behind, axes.pop(op_of(join, Concat).axis)
    is_elsewhere = any(number == row for each in axes for number, _ in each.terms)
    if is_elsewhere or not all(each.is_static for each in (node, *join.operands)):
        return None
    terms = dict(axis.terms)
    if terms.pop(row, 0) != 1 or len(terms) != 1 or not isinstance(axis.offset, int):
        return None
    ((along, step),) = terms.items()
    return _Window(axis.offset, along) if step == 1 else None


def _chain(rebuild: Rebuild, node: Node, axis: int) -> Node:
    """The function of the rows, one after the other."""
    (source,), builder = node.operands, rebuild.builder
    function, count = op_of(node, Reduce).function, source.shape[axis]
    assert isinstance(count, int)
    rows = [_Row(rebuild, number, len(source.shape) - axis).of(source) for number in range(count)]
    found = rows[0]
    for row in rows[1:]:
        found = builder.map(function, found, row)
    return builder.reshape(found, rebuild.shape(node))


@dataclass(frozen=True, eq=False, slots=True)
class _Row:
    """Writes values with the row of one number alone; `written` are those so far."""

    rebuild: Rebuild
    number: int
    behind: int
    written: dict[Node, Node] = field(default_factory=dict)

    def of(self, node: Node) -> Node:
        """The row of a value; itself where it has only one."""
        if not _has_rows(node, self.behind):
            return self.rebuild.nodes[node]
        if node not in self.written:
            self.written[node] = self._made(node)
        return self.written[node]

    def _made(self, node: Node) -> Node:
        builder, axis = self.rebuild.builder, len(node.shape) - self.behind
        if _is_stack(node, self.behind):
            return self.rebuild.nodes[node.operands[self.number]]
        window = _window(node, self.behind)
        if window is not None:
            return self._of_window(node, window)
        if not isinstance(node.op, Elementwise):
            return axis_slice(builder, self.rebuild.nodes[node], axis, self.number, 1, 1)
        operands = [self.of(operand) for operand in node.operands]
        shape = self.rebuild.shape(node)
        row = (*shape[:axis], 1, *shape[axis + 1 :])
        return builder.add(node.op, node.dtype, row, *operands)

    def _of_window(self, node: Node, window: _Window) -> Node:
        """The row of windows over a Concat: what it reads of each operand, joined."""
        builder, (join,) = self.rebuild.builder, node.operands
        op, axis = op_of(node, View), op_of(join, Concat).axis
        row, extent = len(node.shape) - self.behind, static_shape(node)[window.along]
        first, start, parts = window.first + self.number, 0, list[Node]()
        for operand in join.operands:
            end = start + static_shape(operand)[axis]
            low, high = max(first, start), min(first + extent, end)
            if low < high:
                data = self.rebuild.nodes[operand]
                parts.append(axis_slice(builder, data, axis, low - start, 1, high - low))
            start = end
        shape = (*join.shape[:axis], extent, *join.shape[axis + 1 :])
        joined = parts[0]
        if len(parts) > 1:
            joined = builder.add(Concat(axis), join.dtype, shape, *parts)
        axes = [*op.axes[:axis], same(window.along), *op.axes[axis + 1 :]]
        return builder.view(joined, (*node.shape[:row], 1, *node.shape[row + 1 :]), axes)

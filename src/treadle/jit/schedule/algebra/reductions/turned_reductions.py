"""Reductions along rows, and what is computed of them, with the longest axis last.

    for i: y = max over (1) of x + w          t = transpose(w)
                                              for i: y = max over (0) of transpose(x) + t

where x is a row or a column, and no iteration changes w. The maxima of rows end across a vector,
those of columns are vectors. Viterbi with 64 states, whose matrix leads from columns to rows, takes
0.4 of the time; k-means of 512 points, with 8 centres of 2 coordinates, 0.3.

Functions and reductions that are computed of each other change together. Declines where an
iteration computes, carries or chooses a matrix that they read, where anything else reads one of
theirs, and for few rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Elementwise,
    Kernel,
    Loop,
    MatMul,
    Node,
    Reduce,
    View,
    op_of,
    static_shape,
)
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of

Item = TypeVar("Item")

_MIN_ROWS, _MIN_ELEMENTS, _MIN_ITERATIONS = 8, 64, 8
_MOST_COLUMNS = 8
"""The columns for each row up to which vectors lie along the rows' axis."""


@rewrite_pass
def with_turned_reductions(kernel: Kernel) -> Rules | None:
    """The kernel with such reductions along columns; itself if it has none."""
    nodes = all_nodes(kernel.main)
    if kernel.counts_loops:
        return None
    readers = readers_of(nodes)
    loops = [node.op for node in nodes if isinstance(node.op, Loop)]
    found: dict[Node, int] = {}
    for op in loops:
        if not isinstance(op.extent, int) or op.extent >= _MIN_ITERATIONS:
            found.update(_turned(op, readers))
    return replacing(found, _written)


def _turned(op: Loop, readers: Mapping[Node, Sequence[Node]]) -> Mapping[Node, int]:
    """The functions and reductions of a body to turn, each with the axis that becomes the last."""
    found: dict[Node, int] = {}
    for start, axis in _starts(op):
        if start not in found:
            together = _Together(op, readers)
            if together.takes(start, axis):
                found.update(together.axes)
    return found


def _starts(op: Loop) -> Iterator[tuple[Node, int]]:
    """Reductions along rows, and functions of which a view turns the rows, with the rows' axis."""
    for node in op.body.nodes:
        match node.op:
            case Reduce(_, axes) if axes == (len(node.operands[0].shape) - 1,):
                axis = _rows_axis(node.operands[0])
                if axis is not None:
                    yield node, axis
            case View() if isinstance(node.operands[0].op, Elementwise):
                axis = _rows_axis(node.operands[0])
                if axis is not None and _is_last(node, axis):
                    yield node.operands[0], axis


def _rows_axis(node: Node) -> int | None:
    """The longest axis but the last one, if there are many rows that are not too long."""
    if not node.is_static or len(node.shape) < 2:
        return None
    *others, columns = static_shape(node)
    rows = max(others)
    is_wide = rows >= _MIN_ROWS and 1 < columns <= _MOST_COLUMNS * rows
    is_wide = is_wide and prod(others) * columns >= _MIN_ELEMENTS
    return max(k for k, extent in enumerate(others) if extent == rows) if is_wide else None


def _is_last(view: Node, axis: int) -> bool:
    """Whether the last axis of a view is an axis of its operand."""
    return op_of(view, View).axes[axis] == Axis(0, ((len(view.shape) - 1, 1),))


def _keeps_order(node: Node, axis: int) -> bool:
    """Whether an axis becomes the last one without moving an element."""
    return axis < 0 or node.shape[axis] == 1 or all(each == 1 for each in node.shape[axis + 1 :])


@dataclass(eq=False, slots=True)
class _Together:
    """Functions and reductions of a body that change together: each with its axis of rows."""

    op: Loop
    readers: Mapping[Node, Sequence[Node]]
    axes: dict[Node, int] = field(default_factory=dict)

    def takes(self, start: Node, axis: int) -> bool:
        """Take all that must change with a node; False if one of them cannot."""
        ends = {*self.op.nexts, *(stack.element for stack in self.op.stacks)}
        waiting = [(start, axis)]
        while waiting:
            node, own = waiting.pop()
            if node in self.axes:
                if self.axes[node] != own:
                    return False
                continue
            self.axes[node] = own
            kept = _kept(node, own)
            if kept is not None and not _keeps_order(node, kept):
                if node in ends or not node.is_static:
                    return False
                following = [self._reader(node, kept, each) for each in self.readers.get(node, ())]
                if None in following:
                    return False
                waiting += [each for each in following if each]
            given = [self._given(*each) for each in _operands(node, own)]
            if None in given:
                return False
            waiting += [each for each in given if each]
        return True

    def _reader(self, node: Node, axis: int, reader: Node) -> tuple[Node, int] | tuple[()] | None:
        """A reader that changes, too; () if it reads a row as it is; None if it cannot change."""
        if reader.home is not self.op.body:
            return None
        match reader.op:
            case Elementwise():
                return reader, axis + len(reader.shape) - len(node.shape)
            case Reduce():
                return reader, axis
            case View() if _is_last(reader, axis):
                return ()
        return None

    def _given(self, node: Node, axis: int) -> tuple[Node, int] | tuple[()] | None:
        """An operand that changes, too; () if it is read turned; None if it cannot change."""
        if _keeps_order(node, axis):
            return ()
        if _viewed(node).home is not self.op.body:
            return None if _moves(node, self.op.body) else ()
        match node.op:
            case Elementwise():
                return node, axis
            case Reduce():
                rank = len(node.operands[0].shape)
                return node, next(k for k in range(rank) if _kept(node, k) == axis)
            case MatMul() if _may_turn(node, self.op.body):
                return node, axis
            case View(axes) if axes and axes[-1].terms == ((axis, 1),):
                return ()  # turned, it shows rows as they are
        return None


def _moves(node: Node, body: Block) -> bool:
    """Whether a view shows another part in each iteration: its transposition cannot be kept."""
    while isinstance(node.op, View) and node.home is body:
        if not all(isinstance(axis.offset, int) for axis in node.op.axes):
            return True
        (node,) = node.operands
    return False


def _may_turn(product: Node, body: Block) -> bool:
    """Whether a product of two matrices is as quick with both transposed, the other way around.

    The left one, which then is the right one, must be the same in all iterations.
    """
    left, right = product.operands
    is_plain = not op_of(product, MatMul).of_bytes and len(left.shape) == len(right.shape) == 2
    return is_plain and _viewed(left).home is not body and product.is_static


def _viewed(node: Node) -> Node:
    """What a view, or a view of one, shows."""
    while isinstance(node.op, View):
        (node,) = node.operands
    return node


def _kept(node: Node, axis: int) -> int | None:
    """The axis of a function, or of what a reduction leaves; None if that is reduced."""
    if not isinstance(node.op, Reduce):
        return axis
    if axis in node.op.axes:
        return None
    has_all = len(node.shape) == len(node.operands[0].shape)
    return axis if has_all else axis - sum(each < axis for each in node.op.axes)


def _operands(node: Node, axis: int) -> Iterator[tuple[Node, int]]:
    """Each operand, and the axis in it; a negative one if it has no such axis."""
    if isinstance(node.op, MatMul):
        return
    rank = len(node.operands[0].shape) if isinstance(node.op, Reduce) else len(node.shape)
    for operand in node.operands:
        yield operand, axis + len(operand.shape) - rank


def _written(rebuild: Rebuild, node: Node, axis: int) -> Node:
    """A node with the axis last, seen in the order of before."""
    builder, operands = rebuild.builder, rebuild.operands(node)
    if isinstance(node.op, Elementwise):
        rank, shape = len(node.shape), _moved_to_end(rebuild.shape(node), axis)
        turned = [_turn(builder, each, rank, axis) for each in operands]
        return _back(builder, builder.add(node.op, node.dtype, shape, *turned), axis)
    if isinstance(node.op, MatMul):
        left, right = (_turn(builder, each, 2, 0) for each in operands)
        shape = _moved_to_end(rebuild.shape(node), 0)
        return _back(builder, builder.add(node.op, node.dtype, shape, right, left), 0)
    op, (source,) = op_of(node, Reduce), operands
    rank = len(source.shape)
    order = _moved_to_end(tuple(range(rank)), axis)
    over = tuple(sorted(order.index(each) for each in op.axes))
    shape = tuple(source.shape[k] for k in order if k not in op.axes)
    made = builder.add(
        Reduce(op.function, over), node.dtype, shape, _turn(builder, source, rank, axis)
    )
    kept = [k for k in range(rank) if k not in op.axes]
    if axis not in op.axes:
        made = _back(builder, made, kept.index(axis))
    return builder.reshape(made, rebuild.shape(node))


def _moved_to_end(items: Sequence[Item], axis: int) -> tuple[Item, ...]:
    return (*items[:axis], *items[axis + 1 :], items[axis])


def _turn(builder: KernelBuilder, node: Node, rank: int, axis: int) -> Node:
    """A value as an operand of this rank, with the axis last."""
    if not node.shape:
        return node
    whole = builder.reshape(node, (1,) * (rank - len(node.shape)) + node.shape)
    order = _moved_to_end(range(rank), axis)
    axes = [Axis(0, ((order.index(each), 1),)) for each in range(rank)]
    return builder.view(whole, _moved_to_end(whole.shape, axis), axes)


def _back(builder: KernelBuilder, node: Node, axis: int) -> Node:
    """A value whose last axis goes back to where it was."""
    order = _moved_to_end(range(len(node.shape)), axis)
    shape = (*node.shape[:axis], node.shape[-1], *node.shape[axis:-1])
    return builder.view(node, shape, [Axis(0, ((each, 1),)) for each in order])

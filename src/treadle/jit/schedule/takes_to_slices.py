"""Turns rows taken by the iteration number into scan slices: data[i + n] and data[n - i].

They are taken by a Gather, or are a Slice of one item between computed bounds. The trip count is
known before the loop, and every iteration takes a row. A row out of range, for which the kernel
would fail, is therefore checked by a guard before the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Gather,
    Kernel,
    Loop,
    Node,
    Number,
    SymbolicDim,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, write_loop
from treadle.jit.kernel.rewrite import Rules, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.views import axis_slice
from treadle.jit.schedule.access import affine_value


@dataclass(frozen=True, slots=True)
class _Place:
    """The index `offset + i` of iteration i along an axis, or `offset - i`.

    `rest` are the positions along the other axes; None: all of each.
    """

    axis: int
    offset: int
    is_reversed: bool
    rest: tuple[Axis, ...] | None = None


@rewrite_pass
def with_scan_slices(kernel: Kernel) -> Rules | None:
    """The kernel with scan slices for such rows; itself if it has none."""
    nodes = all_nodes(kernel.main)
    loops = {node.op.body: node.op for node in nodes if isinstance(node.op, Loop)}
    found = {
        node: rows_read
        for node in nodes
        if isinstance(node.op, Take | Gather | View)
        and (rows_read := _place(node, loops.get(node.home))) is not None
    }
    if not found:
        return None
    writer = _Slices(found, loops, {node.home for node in found})
    rules = dict.fromkeys((Take, Gather, View), writer.row)
    return {**rules, Loop: writer.loop}


def _place(node: Node, loop: Loop | None) -> _Place | None:
    """The place at which a node takes the row of the iteration; None if it does not."""
    if loop is None or loop.extent is None:
        return None
    data = node.operands[0]
    read = _row(node) if data.home.depth < node.home.depth else None
    if read is None:
        return None
    axis, index, rest = read
    value = affine_value(index)
    if value is None or value.terms not in (((loop.body, 1),), ((loop.body, -1),)):
        return None
    rows_read = _Place(axis, value.offset, value.terms[0][1] < 0, rest)
    return rows_read if _is_within(rows_read, loop.extent, data.shape[axis]) else None


def _row(node: Node) -> tuple[int, Node, tuple[Axis, ...] | None] | None:
    """The axis and the index of the row that a node takes, and the rest of the position."""
    match node.op:
        case Take(axis=axis):
            return (axis, node.operands[1], None) if node.operands[1].is_single else None
        case Gather(axes=axes):
            indices = [node.operands[1 + at] if isinstance(at, int) else None for at in axes]
        case View(axes=axes):
            indices = [_of_axis(at, node) for at in axes]
        case _:
            return None
    found = [(k, index) for k, index in enumerate(indices) if index is not None]
    if len(found) != 1 or not found[0][1].is_single:
        return None
    axis, index = found[0]
    rest = [at for k, at in enumerate(axes) if k != axis and isinstance(at, Axis)]
    is_known = all(isinstance(each.offset, int) for each in rest)
    return (axis, index, tuple(rest)) if is_known else None


def _of_axis(axis: Axis, node: Node) -> Node | None:
    """The index at which a view reads one item along an axis."""
    has_one = all(node.shape[number] == 1 for number, _ in axis.terms)
    return axis.offset.source if has_one and isinstance(axis.offset, SymbolicDim) else None


def _is_within(rows_read: _Place, extent: Number, given: Number) -> bool:
    """Whether the rows exist, as far as the extents are known."""
    if not isinstance(extent, int) or not isinstance(given, int):
        return not rows_read.is_reversed and rows_read.offset >= 0
    if rows_read.is_reversed:
        return extent <= rows_read.offset + 1 <= given
    return rows_read.offset >= 0 and rows_read.offset + extent <= given


@dataclass(frozen=True, eq=False, slots=True)
class _Slices:
    """The rules; `places` are the nodes that become slices, of the loops of `bodies`."""

    places: Mapping[Node, _Place]
    loops: Mapping[Block, Loop]
    bodies: set[Block]

    def row(self, rebuild: Rebuild, node: Node) -> Node:
        """Turn a row into the slice of the iteration; others are unchanged."""
        rows_read = self.places.get(node)
        if rows_read is None:
            return copied(rebuild, node)
        builder, data = rebuild.builder, rebuild.operands(node)[0]
        count = rebuild.number(self.loops[node.home].extent)
        rows = _rows(rebuild, data, rows_read, count)
        taken = builder.item(rows, rows_read.axis, reverse=rows_read.is_reversed)
        shape = rebuild.shape(node)
        if rows_read.rest is None:
            return builder.reshape(taken, shape)
        return builder.view(taken, shape, rows_read.rest)

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """A loop that slices in every iteration."""
        op = op_of(node, Loop)
        if op.body not in self.bodies:
            return write_loop(rebuild, node, op)
        self._expect_rows(rebuild, op)
        length = op.extent if op.length is None else op.length
        return write_loop(rebuild, node, replace(op, length=length))

    def _expect_rows(self, rebuild: Rebuild, loop: Loop) -> None:
        """A guard before the loop that checks all rows it takes."""
        count, builder = rebuild.number(loop.extent), rebuild.builder
        for node, rows_read in self.places.items():
            if node.home is not loop.body or rows_read.is_reversed:
                continue
            given = rebuild.nodes[node.operands[0]].shape[rows_read.axis]
            if given is not count or rows_read.offset:
                most = builder.plus(given, -rows_read.offset)
                builder.expect(builder.compare("less_equal", count, most), is_of_shapes=True)


def _rows(rebuild: Rebuild, data: Node, rows_read: _Place, count: Number) -> Node:
    """The rows that the loop slices."""
    first = rows_read.offset
    if rows_read.is_reversed:
        assert isinstance(count, int)
        first -= count - 1
    return axis_slice(rebuild.builder, data, rows_read.axis, first, 1, count)

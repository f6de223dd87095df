"""Turns rows taken by the iteration number into scan slices: data[i + n] and data[n - i].

The trip count is known before the loop, and every iteration takes a row. A row out of range, for
which the kernel would fail, is therefore checked by a guard before the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from treadle.ir import DType
from treadle.jit.kernel.dce import remove_dead_nodes
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Guard,
    Kernel,
    Loop,
    Node,
    Number,
    Take,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, rebuilt, write_loop
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.access import affine_value


@dataclass(frozen=True, slots=True)
class _Place:
    """The index `offset + i` of iteration i, or `offset - i`."""

    offset: int = 0
    is_reversed: bool = False


def with_scan_slices(kernel: Kernel) -> Kernel:
    """The kernel with scan slices for such rows; itself if it has none."""
    nodes = all_nodes(kernel.main)
    loops = {node.op.body: node.op for node in nodes if isinstance(node.op, Loop)}
    found = {
        node: rows_read
        for node in nodes
        if isinstance(node.op, Take)
        and (rows_read := _place(node, loops.get(node.home))) is not None
    }
    if not found:
        return kernel
    writer = _Slices(found, loops, {node.home for node in found})
    return remove_dead_nodes(rebuilt(kernel, {Take: writer.take, Loop: writer.loop}))


def _place(node: Node, loop: Loop | None) -> _Place | None:
    """The index at which a node takes the row of the iteration; None if it does not."""
    if loop is None or loop.extent is None or not isinstance(node.op, Take):
        return None
    data, index = node.operands
    given = data.shape[node.op.axis]
    if data.home.depth >= node.home.depth or not index.is_single or not isinstance(given, int):
        return None
    rows_read = _of_iteration(index, loop.body)
    if rows_read is None or rows_read.offset < 0 or not _is_within(rows_read, loop.extent, given):
        return None
    return rows_read


def _is_within(rows_read: _Place, extent: Number, given: int) -> bool:
    """Whether the rows exist, as far as the extents are known."""
    if not isinstance(extent, int):
        return not rows_read.is_reversed
    if rows_read.is_reversed:
        return extent <= rows_read.offset + 1 <= given
    return rows_read.offset + extent <= given


def _of_iteration(index: Node, body: Block) -> _Place | None:
    """An integer that increases or decreases with the iteration of a loop."""
    value = affine_value(index)
    if value is None or value.terms not in (((body, 1),), ((body, -1),)):
        return None
    return _Place(value.offset, value.terms[0][1] < 0)


@dataclass(frozen=True, eq=False, slots=True)
class _Slices:
    """The rules; `places` are the nodes that become slices, of the loops of `bodies`."""

    places: Mapping[Node, _Place]
    loops: Mapping[Block, Loop]
    bodies: set[Block]

    def take(self, rebuild: Rebuild, node: Node) -> Node:
        """Turn a row into the slice of the iteration; others are unchanged."""
        builder, op = rebuild.builder, op_of(node, Take)
        rows_read, operands = self.places.get(node), rebuild.operands(node)
        if rows_read is None:
            return builder.add(op, node.dtype, rebuild.shape(node), *operands)
        count = rebuild.number(self.loops[node.home].extent)
        rows = _rows(rebuild, operands[0], op.axis, rows_read, count)
        taken = builder.item(rows, op.axis, reverse=rows_read.is_reversed)
        return builder.reshape(taken, rebuild.shape(node))

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
        count = rebuild.number(loop.extent)
        if isinstance(count, int):
            return
        for node, rows_read in self.places.items():
            if node.home is loop.body and isinstance(node.op, Take):
                given = node.operands[0].shape[node.op.axis]
                assert isinstance(given, int)
                is_there = rebuild.builder.compare("less_equal", count, given - rows_read.offset)
                rebuild.builder.add(Guard(True), DType.BOOL, (), is_there)


def _rows(rebuild: Rebuild, data: Node, axis: int, rows_read: _Place, count: Number) -> Node:
    """The rows that the loop slices."""
    first = rows_read.offset
    if rows_read.is_reversed:
        assert isinstance(count, int)
        first -= count - 1
    shape = tuple(count if k == axis else extent for k, extent in enumerate(data.shape))
    axes = [Axis(first if k == axis else 0, ((k, 1),)) for k in range(len(shape))]
    return rebuild.builder.view(data, shape, axes)

"""Rows taken by an index that are read where they are, not copied.

    row = take(data, i)          row[k] is data[i, k]

Lawful where nothing writes the data before the last read of the row: the data are an input, a
constant, or made outside the innermost loop around the row. Where they are an item that a loop
slices, or a view with whole rows, the data are what is sliced or viewed. What keeps memory of its
own, such as a carried value, or may write it, such as a Scatter, gets a copy. A row of an array
that a Scatter in the same block updates is a view of it where the update needs what is computed
from the row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from treadle.jit.kernel.ir import (
    Concat,
    Constant,
    Cumulative,
    Elementwise,
    Gather,
    Input,
    MatMul,
    Node,
    Reduce,
    Reshape,
    ScanSlice,
    Scatter,
    Take,
    View,
)
from treadle.jit.kernel.traversal import readers_of, reads_of, with_inside
from treadle.jit.kernel.views import same

_READING = (Concat, Cumulative, Elementwise, Gather, MatMul, Reduce, Reshape, Take, View)
"""Operations that read elements and keep no operand's memory."""
_VIEWS = (Reshape, View)


def memory_of_row(
    node: Node, readers: Mapping[Node, Sequence[Node]], inline: Collection[Node]
) -> Node | None:
    """The value in whose memory a row that one index takes is read; None if it is copied.

    `inline` are the nodes that are read in the memory of their operands.
    """
    if not isinstance(node.op, Take):
        return None
    data, index = node.operands
    is_row = index.is_single and all(extent == 1 for extent in data.shape[: node.op.axis])
    rank = len(data.shape) - node.op.axis - 1
    while data in inline and _has_rows_of_operand(data, rank):
        data = data.operands[0]
    return data if is_row and _is_kept(data, node) and _is_only_read(node, readers) else None


def _has_rows_of_operand(node: Node, rank: int) -> bool:
    """Whether rows, which are the last axes of an item or a view, lie so in its operand."""
    base = node.operands[0]
    if isinstance(node.op, ScanSlice):
        return node.op.axis < len(base.shape) - rank
    if not isinstance(node.op, View):
        return False
    behind = range(-rank, 0)
    own = [same(len(node.shape) + k) for k in behind]
    return len(base.shape) >= rank <= len(node.shape) and all(
        node.op.axes[k] == axis and node.shape[k] == base.shape[k]
        for k, axis in zip(behind, own, strict=True)
    )


def _is_kept(data: Node, row: Node) -> bool:
    """Whether the data are in memory of their own, which the innermost loop does not change."""
    if isinstance(data.op, Input | Constant):
        return True
    innermost = next((block.depth for block in row.home.outward() if block.is_loop), 0)
    return not isinstance(data.op, _VIEWS) and data.home.depth < innermost


def _is_only_read(node: Node, readers: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether all that read the row, also through views, need no memory of their own."""
    found = readers.get(node, ())
    return bool(found) and all(
        isinstance(reader.op, _READING)
        and (not isinstance(reader.op, _VIEWS) or _is_only_read(reader, readers))
        for reader in found
    )


def rows_before_updates(rows: Collection[Node], nodes: Sequence[Node]) -> set[Node]:
    """The rows, taken by an index each, that are read once, and before their array is updated."""
    taken = {each for each in rows if _is_long_row(each)}
    if not taken:
        return taken
    readers = readers_of(nodes)
    return {each for each in taken if _is_read_before_update(each, readers)}


def _is_long_row(node: Node) -> bool:
    return isinstance(node.op, Take) and node.operands[1].is_single and not node.is_single


def _is_read_before_update(row: Node, readers: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether the only update of the row's array depends on the only reader of the row."""
    data, last = row.operands[0], row
    while last is row or isinstance(last.op, _VIEWS):
        found = readers.get(last, ())
        if len(found) != 1:
            return False
        (last,) = found
    updates = [each for each in readers[data] if each.operands[:1] == (data,)]
    updates = [each for each in updates if isinstance(each.op, Scatter)]
    is_alone = len(updates) == 1 and updates[0].home is row.home and last.home is row.home
    return is_alone and isinstance(last.op, _READING) and _needs(updates[0], last)


def _needs(node: Node, source: Node) -> bool:
    """Whether a node is computed from another one of its block."""
    needed = {node}
    for each in reversed(node.home.nodes):
        if each in needed:
            needed |= reads_of(with_inside(each))
    return source in needed

"""Rows taken by an index that are read where they are, not copied.

    row = take(data, i)          row[k] is data[i, k]

Lawful where nothing writes the data before the last read of the row: the data are an input, a
constant, or made outside the innermost loop around the row. What keeps memory of its own, such as
a carried value, or may write it, such as a Scatter, gets a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    Take,
    View,
)

_READING = (Concat, Cumulative, Elementwise, Gather, MatMul, Reduce, Reshape, Take, View)
"""Operations that read elements and keep no operand's memory."""
_VIEWS = (Reshape, View)


def is_row_in_place(node: Node, readers: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether a row taken by one index is read in place."""
    if not isinstance(node.op, Take):
        return False
    data, index = node.operands
    is_row = index.is_single and all(extent == 1 for extent in data.shape[: node.op.axis])
    return is_row and _is_kept(data, node) and _is_only_read(node, readers)


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

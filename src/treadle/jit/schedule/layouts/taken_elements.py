"""Elements of rows that a loop takes: elements of the matrix, without the row between.

    row = take(tree, node)             x = tree[node, bit]
    x = take(row, bit)

Programs walk trees and automata so. The row would be written and read again in each iteration,
between one node and the next. Declines where anything else reads the row.
"""

from __future__ import annotations

from treadle.jit.kernel.ir import Gather, Kernel, Node, Take, op_of
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of


@rewrite_pass
def with_taken_elements(kernel: Kernel) -> Rules | None:
    """The kernel with such elements; itself if it has none."""
    nodes = all_nodes(kernel.main)
    rows = [node for node in nodes if _is_row(node)]
    readers = readers_of(nodes) if rows else {}
    found = {
        reader: row
        for row in rows
        if all(_is_element(reader, row) for reader in readers.get(row, ()))
        for reader in readers.get(row, ())
    }
    return replacing(found, _element)


def _is_row(node: Node) -> bool:
    """Whether a node is a row of a matrix, in a loop, at a single index."""
    if not isinstance(node.op, Take) or len(node.shape) != 1 or not node.operands[1].is_single:
        return False
    return len(node.operands[0].shape) == 1 + len(node.shape) and node.home.depth > 0


def _is_element(reader: Node, row: Node) -> bool:
    if not isinstance(reader.op, Take) or reader.operands[0] is not row:
        return False
    return reader.is_single and reader.home is row.home and reader.operands[1] is not row


def _element(rebuild: Rebuild, node: Node, row: Node) -> Node:
    builder, shape, axis = rebuild.builder, rebuild.shape(node), op_of(row, Take).axis
    places = [builder.reshape(rebuild.nodes[each.operands[1]], shape) for each in (row, node)]
    is_in_range = op_of(row, Take).is_in_range and op_of(node, Take).is_in_range
    op = Gather((0, 1) if axis == 0 else (1, 0), is_in_range)
    return builder.add(op, node.dtype, shape, rebuild.nodes[row.operands[0]], *places)

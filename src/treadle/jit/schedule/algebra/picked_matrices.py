"""Products with a few matrices that indices pick: each reads its matrix where it is.

    matmul(x, take(w, [i, j]))  ->  concat(matmul(x[0], take(w, i)), matmul(x[1], take(w, j)))

A take of several items is a copy, a take of one is an address (`schedule/rows_in_place.py`). Two
experts of 256 x 256 among eight, chosen for each token, take 0.45 of the time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from treadle.jit.kernel.ir import Axis, Concat, Kernel, MatMul, Node, Take, op_of, static_shape
from treadle.jit.kernel.rebuild import Rebuild, copied
from treadle.jit.kernel.rewrite import Rules, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, shape_operands, yielded

_MOST = 8
"""The items that are taken; each product is code of its own."""
_LEAST = 1024
"""The elements of a matrix whose copy takes longer than a product of its own."""


@rewrite_pass
def with_picked_matrices(kernel: Kernel) -> Rules | None:
    """The kernel with a product for each matrix of such takes; itself if it has none."""
    readers: dict[Node, list[Node]] = defaultdict(list)
    others = set(kernel.results)
    for node in all_nodes(kernel.main):
        for operand in node.operands:
            readers[operand].append(node)
        others |= {*shape_operands(node), *yielded(node)}
    found = {
        node
        for node in all_nodes(kernel.main)
        if _is_of_matrices(node)
        and node not in others
        and all(_multiplies_by(each, node) for each in readers[node])
    }
    if not found:
        return None
    writer = _Writer(found)
    return {Take: writer.take, MatMul: writer.product}


def _is_of_matrices(node: Node) -> bool:
    """Whether a node takes a few large matrices from a row of them."""
    if node.op != Take(0) or not node.is_static or len(node.shape) != 3:
        return False
    count, *matrix = static_shape(node)
    is_few = len(node.operands[1].shape) == 1 and 2 <= count <= _MOST
    return is_few and matrix[0] * matrix[1] >= _LEAST


def _multiplies_by(reader: Node, taken: Node) -> bool:
    if not isinstance(reader.op, MatMul) or not reader.is_static:
        return False
    left, right = reader.operands
    return right is taken and left is not taken and left.is_static and len(reader.shape) == 3


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules for takes and products; `items` are the new takes of one matrix each."""

    found: set[Node]
    items: dict[Node, list[Node]] = field(default_factory=dict)

    def take(self, rebuild: Rebuild, node: Node) -> Node:
        """A take for each index, in their order; the first stands for all."""
        if node not in self.found:
            return copied(rebuild, node)
        builder, (data, indices) = rebuild.builder, rebuild.operands(node)
        singles = (
            builder.view(indices, (), [Axis(number)]) for number in range(static_shape(node)[0])
        )
        self.items[node] = [
            builder.add(node.op, node.dtype, data.shape[1:], data, each) for each in singles
        ]
        return self.items[node][0]

    def product(self, rebuild: Rebuild, node: Node) -> Node:
        """A product for each matrix, along the axis of the batch."""
        left, right = node.operands
        if right not in self.found:
            return copied(rebuild, node)
        builder, (_, rows, columns) = rebuild.builder, static_shape(node)
        op, own = op_of(node, MatMul), rebuild.nodes[left]
        parts = [
            builder.add(op, node.dtype, (rows, columns), _item(rebuild, own, number), each)
            for number, each in enumerate(self.items[right])
        ]
        whole = [builder.reshape(part, (1, rows, columns)) for part in parts]
        return builder.add(Concat(0), node.dtype, node.shape, *whole)


def _item(rebuild: Rebuild, left: Node, number: int) -> Node:
    """The matrix of this number, or the only one."""
    *batch, rows, inner = static_shape(left)
    if not batch:
        return left
    axes = [Axis(number if batch[0] > 1 else 0), Axis(0, ((0, 1),)), Axis(0, ((1, 1),))]
    return rebuild.builder.view(left, (rows, inner), axes)

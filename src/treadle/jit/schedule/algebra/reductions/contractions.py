"""Sums of products with a matrix that no iteration changes are matrix products.

    sum over k of x[k] * W[k, n]       x @ W

Without the products in memory, and with the matrix packed for them. Declines for small matrices, of
which nests with other functions are as fast.
"""

from __future__ import annotations

from typing import NamedTuple

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    CarriedArg,
    Concat,
    Elementwise,
    Kernel,
    MatMul,
    Node,
    Number,
    Reduce,
    View,
)
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, reads_of
from treadle.jit.kernel.views import moved_axis

_FEWEST = 256
"""The elements of a matrix from which a product is worth it."""


class _Product(NamedTuple):
    """A row times a matrix, along the first axis of which the products are added, or the last."""

    row: Node
    matrix: Node
    inner: Number
    columns: Number
    is_turned: bool


@rewrite_pass
def with_contractions(kernel: Kernel) -> Rules | None:
    """The kernel with matrix products for such sums; itself if it has none."""
    nodes = all_nodes(kernel.main)
    sums = [node for node in nodes if isinstance(node.op, Reduce) and node.op.function == "add"]
    others = reads_of(node for node in nodes if node not in sums) | {*kernel.results}
    found = {node: made for node in sums if (made := _product(node, others)) is not None}
    return replacing(found, _multiplied)


def _product(node: Node, others: set[Node]) -> _Product | None:
    """The product that a sum is; `others` are the nodes that not only sums read."""
    (whole,) = node.operands
    is_product = whole.op == Elementwise("mul") and whole not in others
    if not is_product or node.dtype not in (DType.FLOAT32, DType.FLOAT64):
        return None
    assert isinstance(node.op, Reduce)
    shape, axes = whole.shape, node.op.axes
    long = [axis for axis, extent in enumerate(shape) if extent != 1]
    inner = [axis for axis in long if axis in axes]
    if len(long) != 2 or len(inner) != 1 or (whole.is_static and whole.size < _FEWEST):
        return None
    (along,), columns = inner, next(axis for axis in long if axis not in axes)
    for row, matrix in (whole.operands, whole.operands[::-1]):
        is_row = _extent(row, whole, along) != 1 and _extent(row, whole, columns) == 1
        is_matrix = all(_extent(matrix, whole, axis) == shape[axis] for axis in long)
        if is_row and is_matrix and row.home is node.home and _is_stored(matrix, node):
            return _Product(row, matrix, shape[along], shape[columns], along > columns)
    return None


def _is_stored(matrix: Node, node: Node) -> bool:
    """Whether a matrix is in memory anyway, and not made by functions in the nest of the sum."""
    while isinstance(matrix.op, View):
        (matrix,) = matrix.operands
    return matrix.home.depth < node.home.depth or isinstance(matrix.op, CarriedArg | Concat)


def _extent(operand: Node, whole: Node, axis: int) -> object:
    """The extent of an operand along an axis of the result it broadcasts to."""
    own = axis - (len(whole.shape) - len(operand.shape))
    return operand.shape[own] if own >= 0 else 1


def _multiplied(rebuild: Rebuild, node: Node, product: _Product) -> Node:
    """The sum as a product."""
    builder = rebuild.builder
    inner, columns = rebuild.number(product.inner), rebuild.number(product.columns)
    row = builder.reshape(rebuild.nodes[product.row], (1, inner))
    stored = (columns, inner) if product.is_turned else (inner, columns)
    matrix = builder.reshape(rebuild.nodes[product.matrix], stored)
    if product.is_turned:
        matrix = moved_axis(builder, matrix, 0, 1)
    made = builder.add(MatMul(), node.dtype, (1, columns), row, matrix)
    return builder.reshape(made, rebuild.shape(node))

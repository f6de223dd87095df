"""Products of a row, or a column, with a matrix that the iteration computes are sums of products.

    x[1,k] @ M[k,n], M = a * S + u     =     add over k of x[k,1] * M[k,n]

Each element of the matrix is used once, so it is multiplied and added where it is computed
(`schedule/steps/epilogues.py`): the states of linear attention are read from memory once. Declines
for small matrices, which registers hold, and for short rows.
"""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.ir import Elementwise, Kernel, MatMul, Node, Reduce
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes

_FEWEST, _SHORTEST = 512, 16
"""The elements of a matrix, and those of its rows, from which it is worth it."""


@rewrite_pass
def with_row_products(kernel: Kernel) -> Rules | None:
    """The kernel with sums in place of such products; itself if it has none."""
    found = {node: turned for node in all_nodes(kernel.main) if (turned := _form(node)) is not None}
    return replacing(found, _summed)


def _form(node: Node) -> bool | None:
    """Whether a product is that of a matrix and a column, not of a row; None: it stays."""
    if not isinstance(node.op, MatMul) or node.dtype not in (DType.FLOAT32, DType.FLOAT64):
        return None
    left, right = node.operands
    if node.shape[-2] == 1 and _is_computed(right, node):
        return False
    return True if node.shape[-1] == 1 and _is_computed(left, node) else None


def _is_computed(matrix: Node, node: Node) -> bool:
    """Whether the iteration computes a large matrix, each in its batch for one product."""
    if not isinstance(matrix.op, Elementwise) or matrix.home is not node.home:
        return False
    if not (node.home.is_loop and matrix.is_static and node.is_static):
        return False
    is_own = matrix.size >= _FEWEST and matrix.shape[:-2] == node.shape[:-2]
    return is_own and all(isinstance(e, int) and e >= _SHORTEST for e in matrix.shape[-2:])


def _summed(rebuild: Rebuild, node: Node, is_column: bool) -> Node:
    """The product as a sum over the rows of the matrix, or along each."""
    builder = rebuild.builder
    left, right = rebuild.operands(node)
    if is_column:
        right = builder.reshape(right, (*right.shape[:-2], 1, right.shape[-2]))
    else:
        left = builder.reshape(left, (*left.shape[:-2], left.shape[-1], 1))
    terms = builder.map("mul", left, right)
    axis = len(terms.shape) - 1 - (not is_column)
    kept = tuple(extent for k, extent in enumerate(terms.shape) if k != axis)
    return builder.reshape(builder.add(Reduce("add", (axis,)), node.dtype, kept, terms), node.shape)

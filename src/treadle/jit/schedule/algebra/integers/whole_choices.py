"""Choices between whole numbers that are written as sums: where again.

    int(c) * a + (1 - int(c)) * b       =       where(c, a, b)

One product is 0 and the other has the factor 1, so the sum is exact. Floats stay: 0 times infinity
is no number. A choice needs no products, and strategies look for it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.ir import Constant, Elementwise, Kernel, Node
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes

_Parts = tuple[Node, Node, Node]
"""The condition, and what is chosen where it is true, and where it is false."""


@rewrite_pass
def with_whole_choices(kernel: Kernel) -> Rules | None:
    """The kernel with choices in place of such sums; itself if it has none."""
    found = {node: parts for node in all_nodes(kernel.main) if (parts := _choice(node)) is not None}
    return replacing(found, _chosen)


def _choice(node: Node) -> _Parts | None:
    """What a sum chooses; None if it does not."""
    if node.op != Elementwise("add") or node.dtype.numpy.kind not in "iu":
        return None
    for one, other in (node.operands, node.operands[::-1]):
        for condition, then in _products(one):
            for negated, otherwise in _products(other):
                if _is_negation(negated, condition):
                    return condition.operands[0], then, otherwise
    return None


def _products(node: Node) -> Iterator[tuple[Node, Node]]:
    """The factors of a product in both orders."""
    if node.op == Elementwise("mul"):
        yield node.operands[0], node.operands[1]
        yield node.operands[1], node.operands[0]


def _is_negation(node: Node, condition: Node) -> bool:
    """Whether a number is 1 less another, which is a truth as a number."""
    if not _is_truth(condition):
        return False
    (truth,) = condition.operands
    if _is_truth(node):
        return node.operands[0].op == Elementwise("not") and node.operands[0].operands == (truth,)
    if node.op != Elementwise("sub") or node.operands[1] is not condition:
        return False
    first = node.operands[0]
    return isinstance(first.op, Constant) and bool(np.all(first.op.array == 1))


def _is_truth(node: Node) -> bool:
    return node.op == Elementwise("cast") and node.operands[0].dtype is DType.BOOL


def _chosen(rebuild: Rebuild, node: Node, parts: _Parts) -> Node:
    """A choice in place of a sum."""
    operands = (rebuild.nodes[each] for each in parts)
    return rebuild.builder.expand(rebuild.builder.map("where", *operands), rebuild.shape(node))

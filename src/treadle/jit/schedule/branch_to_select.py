"""Turns a branch with few cheap scalar functions on both sides into selects.

A loop whose If acts as a Where then has a single block, as loop strategies require.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.jit.kernel.ir import Branch, Elementwise, Kernel, Node, Result, View, op_of
from treadle.jit.kernel.rebuild import Rebuild, write_branch
from treadle.jit.kernel.rewrite import Rules, rewrite_pass
from treadle.jit.kernel.scalar_functions import FUNCTIONS, INSTRUCTIONS
from treadle.jit.kernel.traversal import all_nodes

_MAX_NODES = 4
"""The number of functions on both sides together, and of results."""


@rewrite_pass
def with_selects(kernel: Kernel) -> Rules | None:
    """The kernel with selects for its small branches; itself if it has none."""
    if not any(_is_small(node) for node in all_nodes(kernel.main)):
        return None
    writer = _Selects()
    return {Branch: writer.branch, Result: writer.result}


def _is_small(node: Node) -> bool:
    op = node.op
    if not isinstance(op, Branch) or not 0 < len(op.then_results) <= _MAX_NODES:
        return False
    inside = [*op.then.nodes, *op.otherwise.nodes]
    results = zip(op.then_results, op.otherwise_results, strict=True)
    return (
        sum(isinstance(each.op, Elementwise) for each in inside) <= _MAX_NODES
        and all(map(_is_plain, inside))
        and all(one.is_single and one.shape == other.shape for one, other in results)
    )


def _is_plain(node: Node) -> bool:
    """Whether a node is one cheap function or select of scalars that cannot fail."""
    if not node.is_single:
        return False
    if isinstance(node.op, Elementwise):
        return FUNCTIONS[node.op.function].cost is INSTRUCTIONS
    return isinstance(node.op, View)


@dataclass(frozen=True, eq=False, slots=True)
class _Selects:
    """The rules; `chosen` are the results of branches that became selects."""

    chosen: dict[Node, tuple[Node, ...]] = field(default_factory=dict)

    def branch(self, rebuild: Rebuild, node: Node) -> Node:
        """The nodes of both sides, and the selects; unchanged if it is large."""
        if not _is_small(node):
            return write_branch(rebuild, node)
        op, (condition,) = op_of(node, Branch), rebuild.operands(node)
        rebuild.write(op.then)
        rebuild.write(op.otherwise)
        builder = rebuild.builder
        chosen = builder.reshape(condition, ())
        self.chosen[node] = tuple(
            builder.map("where", chosen, rebuild.nodes[one], rebuild.nodes[other])
            for one, other in zip(op.then_results, op.otherwise_results, strict=True)
        )
        return condition

    def result(self, rebuild: Rebuild, node: Node) -> Node:
        """The value of a select; another result unchanged."""
        op, (source,) = op_of(node, Result), node.operands
        if source in self.chosen:
            return self.chosen[source][op.number]
        return rebuild.builder.add(op, node.dtype, rebuild.shape(node), rebuild.nodes[source])

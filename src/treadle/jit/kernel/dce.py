"""Dead code elimination in the kernel IR: removes unread nodes that cannot fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treadle.jit.kernel.ir import (
    Branch,
    CarriedArg,
    DimOf,
    Gather,
    Guard,
    HostCall,
    Input,
    Kernel,
    Loop,
    Node,
    Result,
    Scatter,
    Take,
    op_of,
)
from treadle.jit.kernel.traversal import all_blocks, all_nodes, shape_operands, with_inside, yielded

_KEPT = (CarriedArg, Input)
"""Operations that belong to their block."""


def remove_dead_nodes(kernel: Kernel) -> Kernel:
    """The kernel without dead nodes.

    A result of which only an extent is read stays: its loop counts what it would stack.
    """
    nodes = list(all_nodes(kernel.main))
    measured = _measured_results(nodes)
    read: set[Node] = {*kernel.results}
    is_more = True
    while is_more:
        for node in reversed(nodes):
            if node in read or _is_kept(node):
                read |= {node, *node.operands, *shape_operands(node), *yielded(node)}
        parts = {part for dim, part in measured.items() if dim in read}
        is_more = not parts <= read
        read |= parts
    for block in all_blocks(kernel.main):
        block.nodes[:] = [node for node in block.nodes if node in read]
    return replace(kernel, hoisted=tuple(node for node in kernel.hoisted if node in read))


def _measured_results(nodes: Sequence[Node]) -> dict[Node, Node]:
    """The nodes that are an extent of a result, each with the result."""
    dims = [node for node in nodes if isinstance(node.op, DimOf) and node.operands]
    if not dims:
        return {}
    results = {
        (node.operands[0], node.op.number): node for node in nodes if isinstance(node.op, Result)
    }
    found = ((dim, results.get((dim.operands[0], op_of(dim, DimOf).number))) for dim in dims)
    return {dim: part for dim, part in found if part is not None}


def may_fail(node: Node) -> bool:
    """Whether a run may end at a node without bodies, or never: its indices are not all checked."""
    if isinstance(node.op, Take | Gather | Scatter):
        return not node.op.is_in_range
    return isinstance(node.op, Guard | HostCall | Loop)


def _is_kept(node: Node) -> bool:
    """Whether a node stays although nothing reads it."""
    if isinstance(node.op, Branch):
        return any(map(may_fail, with_inside(node)))
    return isinstance(node.op, _KEPT) or may_fail(node)

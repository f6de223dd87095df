"""Dead code elimination in the kernel IR: removes unread nodes that cannot fail."""

from __future__ import annotations

from dataclasses import replace

from treadle.jit.kernel.ir import (
    Branch,
    CarriedArg,
    Gather,
    Guard,
    HostCall,
    Input,
    Kernel,
    Loop,
    Node,
    Scatter,
    Take,
)
from treadle.jit.kernel.traversal import all_blocks, all_nodes, shape_operands, with_inside, yielded

_KEPT = (CarriedArg, Input)
"""Operations that belong to their block."""


def remove_dead_nodes(kernel: Kernel) -> Kernel:
    """The kernel without dead nodes."""
    read: set[Node] = {*kernel.results}
    for node in reversed(list(all_nodes(kernel.main))):
        if node in read or _is_kept(node):
            read |= {node, *node.operands, *shape_operands(node), *yielded(node)}
    for block in all_blocks(kernel.main):
        block.nodes[:] = [node for node in block.nodes if node in read]
    return replace(kernel, hoisted=tuple(node for node in kernel.hoisted if node in read))


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

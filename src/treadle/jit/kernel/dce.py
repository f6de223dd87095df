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
from treadle.jit.kernel.traversal import all_blocks, all_nodes, shape_operands, yielded

_KEPT = (Branch, CarriedArg, Guard, HostCall, Input, Loop)
"""Operations that belong to their block, or may fail."""


def remove_dead_nodes(kernel: Kernel) -> Kernel:
    """The kernel without dead nodes."""
    read: set[Node] = {*kernel.results}
    for node in reversed(list(all_nodes(kernel.main))):
        if node in read or _is_kept(node):
            read |= {node, *node.operands, *shape_operands(node), *yielded(node)}
    for block in all_blocks(kernel.main):
        block.nodes[:] = [node for node in block.nodes if node in read]
    return replace(kernel, hoisted=tuple(node for node in kernel.hoisted if node in read))


def _is_kept(node: Node) -> bool:
    """Whether a node stays though nothing reads it."""
    if isinstance(node.op, Take | Gather | Scatter):
        return not node.op.is_in_range
    return isinstance(node.op, _KEPT)

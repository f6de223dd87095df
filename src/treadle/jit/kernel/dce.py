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

_MAY_FAIL = (Gather, Guard, HostCall, Loop, Scatter, Take)
"""Operations that may fail, or never end."""
_KEPT = (CarriedArg, Input, *_MAY_FAIL)
"""These, and those that belong to their block."""


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
    """Whether a node stays although nothing reads it."""
    if isinstance(node.op, Branch):
        return any(isinstance(each.op, _MAY_FAIL) for each in with_inside(node))
    return isinstance(node.op, _KEPT)

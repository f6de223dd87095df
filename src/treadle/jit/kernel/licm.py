"""Loop-invariant code motion in the kernel IR: invariant nodes are written outside their loop.

    loop
      %y = exp %x                 %y = exp %x
      ... %y ...                  loop
                                    ... %y ...

Declines for nodes that can fail, since the loop may not run, and for nodes without operands.
Nodes of branches in the loop leave it too.
"""

from __future__ import annotations

from treadle.jit.kernel.ir import Block, Branch, Gather, Guard, HostCall, Loop, Node, Scatter, Take
from treadle.jit.kernel.traversal import shape_operands

_NEVER_HOISTED = (Loop, Branch, Take, Gather, Scatter, HostCall)


def outermost_block(node: Node) -> Block:
    """The outermost block that a node may be written in: its operands and dims are known there.

    A branch keeps its nodes, unless they leave a loop around it too: there they are computed once
    at most more often, and for each iteration otherwise. Those whose extents a guard of the branch
    may be about stay.
    """
    block, needed = node.home, (*node.operands, *shape_operands(node))
    if isinstance(node.op, _NEVER_HOISTED) or not needed:
        return block
    deepest = max(each.home.depth for each in needed)
    found, may_leave_branches = block, _is_always_safe(node)
    while block.depth > deepest and block.parent is not None:
        if not (block.is_loop or may_leave_branches):
            break
        found = block.parent if block.is_loop else found
        block = block.parent
    return found


def _is_always_safe(node: Node) -> bool:
    """Whether a node can be computed where its branch is not taken: no guard is about it."""
    are_static = all(each.is_static for each in (node, *node.operands))
    return are_static and not shape_operands(node) and not isinstance(node.op, Guard)

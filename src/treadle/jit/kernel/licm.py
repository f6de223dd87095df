"""Loop-invariant code motion in the kernel IR: invariant nodes are written outside their loop.

    loop
      %y = exp %x                 %y = exp %x
      ... %y ...                  loop
                                    ... %y ...

Declines for nodes that can fail, since the loop may not run, and for nodes without operands.
"""

from __future__ import annotations

from treadle.jit.kernel.ir import Block, Branch, Gather, HostCall, Loop, Node, Scatter, Take
from treadle.jit.kernel.traversal import shape_operands

_NEVER_HOISTED = (Loop, Branch, Take, Gather, Scatter, HostCall)


def outermost_block(node: Node) -> Block:
    """The outermost block that a node may be written in: its operands and dims are known there.

    Only loops are left: the block of a branch keeps its nodes.
    """
    block, needed = node.home, (*node.operands, *shape_operands(node))
    if isinstance(node.op, _NEVER_HOISTED) or not needed:
        return block
    deepest = max(each.home.depth for each in needed)
    while block.is_loop and block.depth > deepest and block.parent is not None:
        block = block.parent
    return block

"""A maximum beside the position of the maximum: both from one reduction.

    m = max(x)                  p = max((key of x[i]) << 32 | ~i)
    k = argmax(x)         =     k = ~p as 32 bits, m = the element with the key p >> 32

The numbers of the reduction on the right are those that lowering/operators/argmax_topk.py writes.
The minimum likewise, where NaN is the least. A zero has the sign of 0.
"""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import Kernel, Node
from treadle.jit.kernel.rebuild import Rebuild, copied
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.integers.packed_keys import POSITION_BITS
from treadle.jit.schedule.steps.indexed_extremes import indexed_extreme


@rewrite_pass
def with_joint_extremes(kernel: Kernel) -> Rules | None:
    """The kernel whose maxima come from the reductions of their positions; itself if none does."""
    searched = {
        (extreme.values, node.op, node.home): node
        for node in all_nodes(kernel.main)
        if (extreme := indexed_extreme(node)) is not None and extreme.prefers_nan
    }
    found = {
        node: searched[key]
        for node in all_nodes(kernel.main)
        if node.operands and (key := (node.operands[0], node.op, node.home)) in searched
    }
    return replacing(found, _extreme)


def _extreme(rebuild: Rebuild, node: Node, packed: Node) -> Node:
    """The extreme from the reduction of its position."""
    found = _written(rebuild, packed)
    return rebuild.builder.reshape(_element(rebuild.builder, found), rebuild.shape(node))


def _written(rebuild: Rebuild, node: Node) -> Node:
    """A node that may stand further down, behind what it reads: equal nodes become one."""
    for operand in node.operands:
        if operand not in rebuild.nodes:
            rebuild.nodes[operand] = _written(rebuild, operand)
    return copied(rebuild, node)


def _element(builder: KernelBuilder, packed: Node) -> Node:
    """The float with the key in front of a packed number."""
    front = builder.map("shr", packed, builder.scalar(POSITION_BITS, DType.INT64))
    key = builder.cast(front, DType.INT32)
    is_below = builder.map("less", key, builder.scalar(0, DType.INT32))
    turned = builder.map("xor", key, builder.scalar(2**31 - 1, DType.INT32))
    bits = builder.map("where", is_below, turned, key)
    return builder.map("bits", bits, dtype=DType.FLOAT32)

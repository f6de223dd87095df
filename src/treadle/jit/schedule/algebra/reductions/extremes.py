"""A maximum beside the position of the maximum: both from one reduction.

    m = max(x)                  p = max((key of x[i]) << 32 | ~i)
    k = argmax(x)         =     k = ~p as 32 bits, m = the element with the key p >> 32

The numbers of the reduction on the right are those that lowering/operators/argmax_topk.py writes.
The minimum likewise. A zero has the sign of 0.
"""

from __future__ import annotations

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import Constant, Elementwise, Kernel, Node, Reduce
from treadle.jit.kernel.rebuild import Rebuild, copied
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes

_POSITION_BITS = 32


@rewrite_pass
def with_joint_extremes(kernel: Kernel) -> Rules | None:
    """The kernel whose maxima come from the reductions of their positions; itself if none does."""
    searched = {
        (source, node.op, node.home): node
        for node in all_nodes(kernel.main)
        if (source := _source(node)) is not None
    }
    found = {
        node: searched[key]
        for node in all_nodes(kernel.main)
        if node.operands and (key := (node.operands[0], node.op, node.home)) in searched
    }
    return replacing(found, _extreme)


def _source(node: Node) -> Node | None:
    """The elements whose keys, with positions behind, a node reduces; None if it does not."""
    if not isinstance(node.op, Reduce) or node.op.function not in ("max", "min"):
        return None
    key = _step(_step(_step(node.operands[0], "or"), "shl"), "cast")
    if key is None or not _is_shift(node.operands[0].operands[0]):
        return None
    if key.op == Elementwise("where") and node.op.function == "min":
        key = key.operands[2]
    if key.op == Elementwise("order") and key.operands[0].dtype is DType.FLOAT32:
        return key.operands[0]
    return None


def _step(node: Node | None, function: str) -> Node | None:
    """The first operand of this function."""
    return node.operands[0] if node is not None and node.op == Elementwise(function) else None


def _is_shift(node: Node) -> bool:
    by = node.operands[1]
    return isinstance(by.op, Constant) and by.is_single and int(by.op.array) == _POSITION_BITS


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
    front = builder.map("shr", packed, builder.scalar(_POSITION_BITS, DType.INT64))
    key = builder.cast(front, DType.INT32)
    is_below = builder.map("less", key, builder.scalar(0, DType.INT32))
    turned = builder.map("xor", key, builder.scalar(2**31 - 1, DType.INT32))
    bits = builder.map("where", is_below, turned, key)
    return builder.map("bits", bits, dtype=DType.FLOAT32)

"""Transposed items of constants: items of the transposed constant.

    transpose(weights[i])      =      transpose(weights, (0, 2, 1))[i]

A loop over experts, or over layers, picks a matrix of a constant in each iteration, and exporters
transpose it before they multiply. The constant is transposed once, when the kernel is made: a
mixture of experts takes 0.63 of the time (Zen 3). Declines where something else reads the item:
both would be kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle.jit.kernel.ir import Axis, Constant, Kernel, Node, ScanSlice, Take
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of
from treadle.jit.kernel.views import permutation, same

_FEWEST_ELEMENTS = 256


@rewrite_pass
def with_turned_items(kernel: Kernel) -> Rules | None:
    """The kernel with such items; itself if it has none."""
    nodes = all_nodes(kernel.main)
    items = {node for node in nodes if _is_item(node)}
    readers = readers_of(nodes) if items else {}
    found = dict[Node, Sequence[int]]()
    for item in items:
        own = readers.get(item, ())
        orders = [permutation(each) if each.home is item.home else None for each in own]
        first = orders[0] if orders else None
        if first is not None and all(order == first for order in orders):
            found |= dict.fromkeys(readers[item], first)
    return replacing(found, _turned)


def _is_item(node: Node) -> bool:
    """Whether a node is an item of a constant that a loop picks."""
    if not isinstance(node.op, ScanSlice | Take) or not isinstance(node.operands[0].op, Constant):
        return False
    is_one = isinstance(node.op, ScanSlice) or node.operands[1].shape == ()
    return is_one and node.size >= _FEWEST_ELEMENTS


def _turned(rebuild: Rebuild, node: Node, order: Sequence[int]) -> Node:
    """The item of the transposed constant."""
    (item,) = node.operands
    op, builder = item.op, rebuild.builder
    assert isinstance(op, ScanSlice | Take)
    source, *index = rebuild.operands(item)
    axes: list[Axis] = [same(axis + 1) for axis in order]
    axes.insert(op.axis, same(0))
    shape = (source.shape[op.axis], *rebuild.shape(node))
    whole = builder.view(source, shape, axes)
    if isinstance(op, ScanSlice):
        return builder.item(whole, reverse=op.reverse)
    return builder.add(Take(0, op.is_in_range), node.dtype, rebuild.shape(node), whole, *index)

"""Items of joined and of reshaped tensors are items of the tensors themselves.

    item of reshape(x), by rows of x           reshape(item of x)
    part of an item of concat(x, y), one of x  item of x

Programs join the inputs of a loop to one, which its body splits again. The joined tensor is a copy,
and passes know less of it than of an input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from treadle.jit.kernel.ir import Concat, Kernel, Node, Reshape, ScanSlice, View, op_of
from treadle.jit.kernel.rebuild import Rebuild, copied
from treadle.jit.kernel.rewrite import Rules, fixpoint_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of
from treadle.jit.kernel.view_bounds import axis_bounds


@fixpoint_pass
def with_items_of_sources(kernel: Kernel) -> Rules | None:
    """The kernel with items of the tensors that others are made of; itself if there are none."""
    nodes = all_nodes(kernel.main)
    items = [node for node in nodes if isinstance(node.op, ScanSlice)]
    reshaped = {node for node in items if _is_row_of_reshape(node)}
    joined = {node for node in items if isinstance(node.operands[0].op, Concat)}
    if joined:
        readers = readers_of(nodes)
        joined = {node for node in joined if _is_split(node, readers)}
    if not reshaped and not joined:
        return None

    def item(rebuild: Rebuild, node: Node) -> Node:
        (source,), op, builder = node.operands, op_of(node, ScanSlice), rebuild.builder
        if node in reshaped:
            row = builder.item(rebuild.nodes[source.operands[0]], 0, reverse=op.reverse)
            return builder.reshape(row, rebuild.shape(node))
        if node not in joined:
            return copied(rebuild, node)
        rows = [
            builder.item(rebuild.nodes[part], op.axis, reverse=op.reverse)
            for part in source.operands
        ]
        along = Concat(_axis_of_parts(node))
        return builder.add(along, node.dtype, rebuild.shape(node), *rows)

    return {ScanSlice: item, Reshape: _reshape}


def _reshape(rebuild: Rebuild, node: Node) -> Node:
    """A reshape; that of an item that has become one is a reshape of what it reshapes."""
    (source,) = node.operands
    if not (node.is_static and source.is_static):
        return copied(rebuild, node)
    return rebuild.builder.reshape(rebuild.nodes[source], node.shape)


def _is_row_of_reshape(node: Node) -> bool:
    """Whether each item has the elements of one row of the tensor that is reshaped."""
    (source,) = node.operands
    if not isinstance(source.op, Reshape) or op_of(node, ScanSlice).axis:
        return False
    base = source.operands[0]
    return base.is_static and base.shape[:1] == source.shape[:1]


def _axis_of_parts(node: Node) -> int:
    """The axis of an item along which the parts lie."""
    along, axis = op_of(node.operands[0], Concat).axis, op_of(node, ScanSlice).axis
    return along - (along > axis)


def _is_split(node: Node, readers: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether all that read an item of a Concat read one part each, by views."""
    joined, found = node.operands[0], readers.get(node, ())
    if op_of(joined, Concat).axis == op_of(node, ScanSlice).axis or not joined.is_static:
        return False
    along, ends = op_of(joined, Concat).axis, [0]
    for part in joined.operands:
        extent = part.shape[along]
        assert isinstance(extent, int)
        ends.append(ends[-1] + extent)
    return bool(found) and all(_reads_part(each, _axis_of_parts(node), ends) for each in found)


def _reads_part(view: Node, axis: int, ends: Sequence[int]) -> bool:
    """Whether a node is a view that reads nothing but one part between these ends."""
    if not isinstance(view.op, View):
        return False
    bounds = axis_bounds(view.op.axes[axis], view.shape)
    return bounds is not None and any(
        first <= bounds[0] and bounds[1] < end for first, end in pairwise(ends)
    )

"""Scatters into a transposed array: they write into the array as it is.

    transpose(scatter(transpose(s), rows, at))      =      s with s[:, at] = transpose(rows)

Exporters write columns so, since ScatterND indexes the first axes. Of a carried array both copies
would be made in every iteration. Declines where nothing transposes the result back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.jit.kernel.ir import Kernel, Node, Scatter, View, op_of
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, readers_of
from treadle.jit.kernel.views import permutation


@rewrite_pass
def with_turned_scatters(kernel: Kernel) -> Rules | None:
    """The kernel with such scatters into the arrays; itself if it has none."""
    nodes = all_nodes(kernel.main)
    scatters = [node for node in nodes if isinstance(node.op, Scatter)]
    readers = readers_of(nodes) if scatters else {}
    found = {
        node: order
        for node in scatters
        if (order := permutation(node.operands[0])) is not None
        and _is_turned_back(node, order, readers)
    }
    return replacing(found, _turned)


def _is_turned_back(
    node: Node, order: Sequence[int], readers: Mapping[Node, Sequence[Node]]
) -> bool:
    """Whether a reader of a scattered array transposes it back."""
    found = (permutation(each) for each in readers.get(node, ()))
    return any(back is not None and [back[k] for k in order] == sorted(order) for back in found)


def _turned(rebuild: Rebuild, node: Node, order: Sequence[int]) -> Node:
    """The array itself with the elements, transposed."""
    op, builder = op_of(node, Scatter), rebuild.builder
    _, *others = rebuild.operands(node)
    (whole,) = rebuild.operands(node.operands[0])
    axes = tuple(op.axes[axis] for axis in order)
    made = builder.add(
        Scatter(op.function, axes, op.is_in_range), whole.dtype, whole.shape, whole, *others
    )
    return builder.view(made, rebuild.shape(node), op_of(node.operands[0], View).axes)

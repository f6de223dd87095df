"""Axes of extent 1 between functions: each is computed in the shape in which others read it.

    g(squeeze(f(unsqueeze(x), unsqueeze(y))))       g(f(x, y))

Functions of one shape are fused into one nest, and written in place of what they replace.
"""

from __future__ import annotations

from collections.abc import Mapping

from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import Axis, Elementwise, Kernel, Node, Number, Shape, View
from treadle.jit.kernel.rebuild import Rebuild
from treadle.jit.kernel.rewrite import Rules, replacing, rewrite_pass
from treadle.jit.kernel.traversal import all_nodes, yielded
from treadle.jit.kernel.view_bounds import keeps_order


@rewrite_pass
def with_read_shapes(kernel: Kernel) -> Rules | None:
    """The kernel with its functions in the shapes in which they are read; itself if they are."""
    return replacing(_shapes(kernel), _reshaped)


def _shapes(kernel: Kernel) -> dict[Node, Shape]:
    """The shapes of the functions that all readers read in one other shape."""
    nodes, found = all_nodes(kernel.main), dict[Node, Shape]()
    readers: dict[Node, list[Node | None]] = {node: [None] for node in kernel.results}
    for reader in nodes:
        for read in reader.operands:
            readers.setdefault(read, []).append(reader)
        for read in yielded(reader):
            readers.setdefault(read, []).append(None)
    for node in reversed(nodes):
        of_kind = isinstance(node.op, Elementwise | View) and not node.is_single
        if not of_kind or (isinstance(node.op, View) and not keeps_order(node)):
            continue
        shapes = {_read_shape(node, reader, found) for reader in readers.get(node, ())}
        if len(shapes) == 1 and (shape := shapes.pop()) is not None:
            found[node] = shape
    return {
        node: shape
        for node, shape in found.items()
        if isinstance(node.op, Elementwise) and shape != node.shape
    }


def _read_shape(node: Node, reader: Node | None, found: Mapping[Node, Shape]) -> Shape | None:
    """The shape in which a function reads a value of its own block; None of another reader."""
    if reader is None or reader.home is not node.home:
        return None
    if isinstance(reader.op, View):
        return found.get(reader)
    if not isinstance(reader.op, Elementwise) or reader.shape != node.shape:
        return None
    return found.get(reader, node.shape)


def _reshaped(rebuild: Rebuild, node: Node, read: Shape) -> Node:
    """The function in the shape in which it is read, and a view of its result in the old one."""
    builder, old = rebuild.builder, rebuild.shape(node)
    shape = tuple(map(rebuild.number, read))
    given = [_seen(builder, operand, old, shape) for operand in rebuild.operands(node)]
    made = builder.add(node.op, node.dtype, shape, *given)
    return builder.reshape(made, old)


def _seen(builder: KernelBuilder, operand: Node, old: Shape, new: Shape) -> Node:
    """An operand of a function with the axes of extent 1 that the function now has."""
    if operand.is_single and len(operand.shape) <= len(new):
        return operand
    places = [k for k, extent in enumerate(new) if extent != 1]
    place_of = dict(zip((k for k, extent in enumerate(old) if extent != 1), places, strict=True))
    first, shape = len(old) - len(operand.shape), list[Number]([1] * len(new))
    axes = []
    for axis, extent in enumerate(operand.shape, start=first):
        if extent == 1:
            axes.append(Axis())
        else:
            shape[place_of[axis]] = extent
            axes.append(Axis(0, ((place_of[axis], 1),)))
    return builder.view(operand, shape, axes)

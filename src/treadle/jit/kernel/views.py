"""Views along one axis: items in order, and an axis in another place; copies without gaps."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import Axis, Concat, Constant, Node, Number, View


def same(axis: int) -> Axis:
    """The result's own position along an axis."""
    return Axis(0, ((axis, 1),))


def axis_slice(
    builder: KernelBuilder, node: Node, axis: int, start: Number, step: int, count: Number
) -> Node:
    """Every `step`-th item along an axis, `count` of them from `start`."""
    shape, axes = list(node.shape), [same(k) for k in range(len(node.shape))]
    axes[axis], shape[axis] = Axis(start, ((axis, step),)), count
    return builder.view(node, shape, axes)


def moved_axis(builder: KernelBuilder, node: Node, source: int, target: int) -> Node:
    """The node with one axis in another place."""
    order = [axis for axis in range(len(node.shape)) if axis != source]
    order.insert(target, source)
    axes = [same(order.index(axis)) for axis in range(len(node.shape))]
    return builder.view(node, [node.shape[axis] for axis in order], axes)


def permutation(node: Node) -> Sequence[int] | None:
    """The axis of a transposition that each axis of its operand is; None if it is none."""
    if not isinstance(node.op, View) or not all(_is_whole(axis) for axis in node.op.axes):
        return None
    order, given = [axis.terms[0][0] for axis in node.op.axes], node.operands[0].shape
    if sorted(order) != [*range(len(node.shape))] or order == sorted(order):
        return None
    return order if tuple(node.shape[axis] for axis in order) == given else None


def _is_whole(axis: Axis) -> bool:
    return axis.offset == 0 and len(axis.terms) == 1 and axis.terms[0][1] == 1


def packed(builder: KernelBuilder, node: Node) -> Node:
    """A contiguous copy of the elements, made where the node is defined."""
    if isinstance(node.op, Constant | Concat):
        return node
    return builder.add(Concat(0), node.dtype, node.shape, node)

"""Which element of an operand a view, a Concat or a broadcast reads; extents of two parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treadle.jit.kernel.ir import (
    Axis,
    Concat,
    Constant,
    DimOf,
    Elementwise,
    InputDim,
    Node,
    Number,
    Reshape,
    View,
    op_of,
)

_LEAST = -(2**62)
"""An extent less a number above this does not wrap around."""


def part_of_concat(
    node: Node, shape: Sequence[Number], axes: Sequence[Axis]
) -> tuple[Node, list[Axis]] | None:
    """The operand of a Concat that a view reads, and the position in it; None if several."""
    if not isinstance(node.op, Concat):
        return None
    along = node.op.axis
    bounds = axis_bounds(axes[along], shape)
    first: Number = 0
    for operand in node.operands:
        extent = operand.shape[along]
        if _is_whole(axes[along], shape, first, extent):
            return operand, [
                replace(axis, offset=0) if k == along else axis for k, axis in enumerate(axes)
            ]
        if not isinstance(extent, int) and first == 0:
            first = extent
            continue
        if bounds is None or not isinstance(first, int) or not isinstance(extent, int):
            return None
        if first <= bounds[0] and bounds[1] < first + extent:
            moved = Axis(bounds[2] - first, axes[along].terms)
            return operand, [moved if k == along else axis for k, axis in enumerate(axes)]
        first += extent
    return None


def _is_whole(axis: Axis, shape: Sequence[Number], first: Number, extent: Number) -> bool:
    """Whether a view reads all items of an operand in order, which begins at `first`."""
    if axis.offset != first or len(axis.terms) != 1:
        return False
    ((number, step),) = axis.terms
    return step == 1 and shape[number] == extent


def axis_bounds(axis: Axis, shape: Sequence[Number]) -> tuple[int, int, int] | None:
    """The least and the greatest index that a view reads along an axis, and its offset.

    None if they are dynamic, or if the view has no elements.
    """
    least = most = axis.offset
    for number, step in axis.terms:
        extent = shape[number]
        if not isinstance(extent, int) or extent == 0:
            return None
        reach = step * (extent - 1)
        if not isinstance(least, int) or not isinstance(most, int):
            return None
        least, most = least + min(reach, 0), most + max(reach, 0)
    if not isinstance(least, int) or not isinstance(most, int):
        return None
    assert isinstance(axis.offset, int)
    return least, most, axis.offset


def view_place(axis: Axis, index: Sequence[int]) -> int:
    """The index that a view with a known offset reads along an axis, for its own index."""
    assert isinstance(axis.offset, int)
    return axis.offset + sum(step * index[number] for number, step in axis.terms)


def is_identity(shape: Sequence[Number], axes: Sequence[Axis]) -> bool:
    """Whether a view that has the shape of its operand is the operand.

    Along an axis of extent 1 there is one place to read.
    """
    return all(
        axis == Axis(0, ((k, 1),)) or (axis == Axis() and shape[k] == 1)
        for k, axis in enumerate(axes)
    )


def element_of_concat(node: Node, axis: int, index: Sequence[int]) -> tuple[Node, list[int]]:
    """The operand of a Concat that has the element, and its index there."""
    position = list(index)
    for operand in node.operands:
        extent = operand.shape[axis]
        assert isinstance(extent, int)
        if position[axis] < extent:
            return operand, position
        position[axis] -= extent
    raise AssertionError("an index beyond the operands of a Concat")


def broadcast_index(operand: Node, index: Sequence[int]) -> list[int]:
    """The index of the element in a broadcast operand."""
    own = index[len(index) - len(operand.shape) :]
    return [0 if extent == 1 else i for extent, i in zip(operand.shape, own, strict=True)]


def keeps_order(view: Node) -> bool:
    """Whether a view only adds or removes axes of one."""
    op, source = op_of(view, View), view.operands[0]
    read = [
        (extent, axis) for extent, axis in zip(source.shape, op.axes, strict=True) if extent != 1
    ]
    long = [(extent, Axis(0, ((k, 1),))) for k, extent in enumerate(view.shape) if extent != 1]
    return read == long


def before_reshapes(node: Node) -> Node:
    """The node that has the elements of this one in the same order, before it was reshaped."""
    while (isinstance(node.op, View) and keeps_order(node)) or (
        isinstance(node.op, Reshape) and node.operands[0].is_static
    ):
        (node,) = node.operands
    return node


def whole_of(part: Node, rest: Node) -> Node | None:
    """The number that has these parts, b and a - b, also where these wrap around; else None."""
    is_rest = rest.op == Elementwise("sub") and rest.operands[1] is part
    return rest.operands[0] if is_rest else None


def is_rest_of_extent(node: Node) -> bool:
    """Whether it is n - min(n, c) for an extent n, and so never negative."""
    if node.op != Elementwise("sub") or not _is_extent(node.operands[0]):
        return False
    whole, part = node.operands
    if part.op != Elementwise("min") or whole not in part.operands:
        return False
    return all(each is whole or _is_bounded(each) for each in part.operands)


def _is_extent(node: Node) -> bool:
    return isinstance(node.op, InputDim | DimOf) or _number(node, -1) >= 0


def _is_bounded(node: Node) -> bool:
    """Whether a number is surely so large that its distance from an extent is a number, too."""
    bounds = node.operands if node.op == Elementwise("max") else (node,)
    return any(_number(bound, _LEAST) > _LEAST for bound in bounds)


def _number(node: Node, default: int) -> int:
    """The number that a constant of one element holds; the default of another node."""
    is_number = isinstance(node.op, Constant) and node.is_single
    return int(op_of(node, Constant).array.item()) if is_number else default

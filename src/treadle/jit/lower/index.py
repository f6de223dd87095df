"""Reading by index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building, Declined
from treadle.jit.kernel_ir import Axis, Constant, Extent, Node, Pick, Shape
from treadle.jit.lower.registry import lowers


@lowers("Gather", 1, 11, 13)
def gather(b: Building, operands: Sequence[Node], attributes: Mapping[str, Any]) -> Node:
    """np.take(data, indices, axis)."""
    data, indices = operands
    axis = attributes["axis"] % max(len(data.shape), 1)
    if not data.shape or indices.dtype not in (DType.INT64, DType.INT32):
        raise Declined("a Gather that does not fit")
    return picked(b, data, indices, axis)


def picked(b: Building, data: Node, indices: Node, axis: int) -> Node:
    """np.take(data, indices, axis): a view where it is one item that is known to be there."""
    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    if isinstance(indices.op, Constant) and indices.size == 1:
        return _at(b, data, axis, int(indices.op.array.item()), shape)
    return b.add(Pick(axis), data.dtype, shape, data, indices)


def _at(b: Building, data: Node, axis: int, index: int, shape: Shape) -> Node:
    given = data.shape[axis]
    least = -index if index < 0 else index + 1
    if isinstance(given, int) and given < least:
        raise Declined("a Gather out of range")
    if isinstance(given, Extent):
        b.expect(b.compare("greater_equal", given, least))
    shift = len(shape) - len(data.shape)
    axes = [Axis(0, ((k if k < axis else k + shift, 1),)) for k in range(len(data.shape))]
    axes[axis] = Axis(b.minus(given, -index) if index < 0 else index)
    return b.view(data, shape, axes)

"""Reading by index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building, Declined, extents_of
from treadle.jit.kernel_ir import Axis, Constant, Node, Pick
from treadle.jit.lower.registry import lowers


@lowers("Gather", 1, 11, 13)
def gather(b: Building, operands: Sequence[Node], attributes: Mapping[str, Any]) -> Node:
    """np.take(data, indices, axis)."""
    data, indices = operands
    given = extents_of(data)
    axis = attributes["axis"] % max(len(given), 1)
    if not given or indices.dtype not in (DType.INT64, DType.INT32):
        raise Declined("a Gather that does not fit")
    shape = (*given[:axis], *extents_of(indices), *given[axis + 1 :])
    if isinstance(indices.op, Constant) and indices.size == 1:
        return _at(b, data, axis, int(indices.op.array.item()), shape)
    return b.add(Pick(axis), data.dtype, shape, data, indices)


def _at(b: Building, data: Node, axis: int, index: int, shape: Sequence[int]) -> Node:
    given = extents_of(data)
    if not -given[axis] <= index < given[axis]:
        raise Declined("a Gather out of range")
    shift = len(shape) - len(given)
    axes = [
        Axis(index % given[axis]) if k == axis else Axis(0, ((k if k < axis else k + shift, 1),))
        for k in range(len(given))
    ]
    return b.view(data, shape, axes)

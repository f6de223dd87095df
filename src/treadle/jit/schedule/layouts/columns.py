"""Columns: items and stacked elements that lie across the rows of their tensor in memory.

They are transposed in tiles: some iterations' items are copied to rows at once, and the elements of
some iterations are rows until a tile is full (`codegen/ops/column_tiles.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from treadle.jit.kernel.ir import Kernel, Loop, Node, Number, ScanSlice, Shape, op_of
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.loops.facts import grows, read_result
from treadle.jit.schedule.storage import (
    MAX_SCALARS_PER_VALUE,
    Storage,
    StorageMap,
    transposed_axes,
)

_LANES = ((4, 1 << 14), (8, 1 << 18))
"""The width of a tile, and the bytes of the largest matrix that has it: half of L1, a part of L2.

LLVM takes 1 ms for a tile of 4 x 4 elements and 20 ms for one of 16 x 16.
"""
_MOST_LANES = 16


def tile_width(node: Node, vector_bytes: int) -> int:
    """The width of the tiles in which a loop collects or reads columns."""
    return _at_most(_LANES[-1][0], node, vector_bytes)


def tile_lanes(node: Node, vector_bytes: int) -> int:
    """The width of a tile of a copy: a wide one has more code, which pays in large matrices."""
    known = prod(extent for extent in node.shape if isinstance(extent, int))
    size = known * node.dtype.numpy.itemsize
    most = next((n for n, least in _LANES if node.is_static and size <= least), _MOST_LANES)
    return _at_most(most, node, vector_bytes)


def _at_most(most: int, node: Node, vector_bytes: int) -> int:
    return min(max(vector_bytes // node.dtype.numpy.itemsize, 4), most)


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """The scan slices of a loop that are columns, and the numbers of results stacked as such."""

    items: tuple[Node, ...] = ()
    stacks: tuple[int, ...] = ()

    def __str__(self) -> str:
        """As `explain --schedule` prints it."""
        counts = ("items", len(self.items)), ("stacked outputs", len(self.stacks))
        return ", ".join(f"{word} {number}" for word, number in counts if number)


def columns_of(node: Node, kernel: Kernel, order: MemoryOrder) -> Columns:
    """The columns of a loop that does not run tile by tile."""
    op = op_of(node, Loop)
    items = (each for each in op.body.nodes if isinstance(each.op, ScanSlice))
    numbers = range(len(op.states), len(op.states) + len(op.stacks))
    return Columns(
        tuple(item for item in items if _is_column(item, order)),
        tuple(
            number
            for number in numbers
            if _is_stacked_column(node, op, number, kernel, order.storage)
        ),
    )


def _is_column(item: Node, order: MemoryOrder) -> bool:
    op, source = op_of(item, ScanSlice), item.operands[0]
    storage_of = order.storage.storage_of
    if storage_of[item] is not Storage.INLINE:
        return False
    count, axis = source.shape[op.axis], op.axis
    if storage_of[source] is Storage.INLINE:
        axes = transposed_axes(source)
        if axes is None or axes[0] != axis:
            return False
        source, axis = source.operands[0], len(item.shape)
    return _are_columns(item.shape, count, axis) and order.is_dense(source)


def _is_stacked_column(
    node: Node, op: Loop, number: int, kernel: Kernel, storage: StorageMap
) -> bool:
    stack = op.stacks[number - len(op.states)]
    part = read_result(storage, kernel, node, number)
    if part is None or not stack.axis or grows(part):
        return False
    return _are_columns(stack.element.shape, part.shape[stack.axis], stack.axis)


def _are_columns(item: Shape, count: Number, axis: int) -> bool:
    """Whether slices of a dense tensor along the axis are columns, many and large."""
    own = [extent for extent in item if extent != 1]
    if any(extent != 1 for extent in item[axis:]) or not own:
        return False
    if not all(isinstance(extent, int) for extent in item):
        return False
    size = prod(extent for extent in item if isinstance(extent, int))
    last = own[-1]
    is_large = (
        size > MAX_SCALARS_PER_VALUE and isinstance(last, int) and last >= MAX_SCALARS_PER_VALUE
    )
    return is_large and not (isinstance(count, int) and count < MAX_SCALARS_PER_VALUE)

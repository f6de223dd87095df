"""The form in which each copy of a value to other memory runs.

from registers        its elements are stored one after the other
vectors               from memory to memory, both in row-major order without gaps
bytes                 the same by the C library, if the size is open
in row-major order    one loop over the positions of its elements
tiles                 a transposition of memory: both have neighbours, along different axes
one by one            a small view, once: LLVM neither unrolls nor vectorizes the loops
index by index        all others
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from treadle.ir import DType
from treadle.jit.kernel.ir import Elementwise, Iota, Node, Reshape, ScanSlice, View
from treadle.jit.schedule.cost_model import COPIED, eighths_of, per_element, per_read
from treadle.jit.schedule.layouts.memory_order import OWN_MEMORY, Destination, MemoryOrder
from treadle.jit.schedule.parallelism import (
    Parallelism,
    all_as_one,
    in_rows,
    interleaved,
    shares_items,
)
from treadle.jit.schedule.steps.chunks import items_in_chunks
from treadle.jit.schedule.storage import Storage, transposed_axes

_ASSUMED_SIDE = 64
"""The assumed value of a dynamic extent of a matrix that is transposed."""
_TILE_LANES, _MOST_TILE_LANES, _OPEN_TILE_LANES = ((4, 1 << 14), (8, 1 << 18)), 16, 8
"""The width of a tile, and the bytes of the largest matrix that has it: half of L1, a part of L2.

LLVM takes 1 ms for a tile of 4 x 4 elements and 20 ms for one of 16 x 16, which matrices of open
extents do not have: they may be small.
"""
_MOST_WRITTEN = 4
"""The most vectors that are copied without a loop."""
_MOST_SCALAR = 64
"""The most elements of a view that are copied one by one: about as many nanoseconds in each run."""


class CopyForm(enum.Enum):
    """The form of a copy, in the words of `explain --schedule`."""

    WRITTEN = "from registers"
    VECTORS = "in vectors"
    BYTES = "as bytes"
    FLAT = "in row-major order"
    TILES = "in tiles"
    SCALAR = "one by one"
    INDICES = "index by index"


@dataclass(frozen=True, slots=True)
class Copy:
    """How a copy runs; `loops` are those over its elements, or over its rows of tiles.

    `lanes` are the elements of a vector, of which up to `written` are copied without a loop (LLVM
    has none to vectorize then, which takes milliseconds), or those of a side of a tile. Tiles lie
    along two `axes`: that of neighbours in the source, and that of neighbours in the target.
    """

    form: CopyForm
    loops: Parallelism
    lanes: int = 0
    written: int = _MOST_WRITTEN
    axes: tuple[int, int] = (0, 0)

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        chunk = self.loops.chunk
        yield f"{self.lanes} elements at once" if self.form is CopyForm.VECTORS else self.form.value
        if self.form is not CopyForm.TILES:
            yield from self.loops.chunk_words()
        elif chunk is not None:
            yield f"a safepoint for every {chunk.size} rows of tiles"
        yield from self.loops.sharing_words()


def copy_of(
    node: Node,
    order: MemoryOrder,
    threshold: int,
    vector_bytes: int,
    destination: Destination = OWN_MEMORY,
) -> Copy:
    """How a value is copied to other memory; one that is inline is computed there.

    Copies of `threshold` nanoseconds are shared, 0: none.
    """
    nanoseconds = per_read(order.storage, node) + COPIED
    if order.storage.storage_of[node] is Storage.REGISTERS:
        return Copy(CopyForm.WRITTEN, Parallelism(nanoseconds, None))
    if destination.is_whole and order.is_stored_whole(node):
        return move_of(node, threshold, vector_bytes, nanoseconds)
    if destination.is_whole and order.is_flat(node):
        return Copy(CopyForm.FLAT, _flat(node, nanoseconds, threshold))
    return _turned(node, order, nanoseconds, threshold, vector_bytes, destination)


def is_computed_copy(node: Node, order: MemoryOrder) -> bool:
    """Whether a value is computed to memory of its own, by no nest."""
    is_buffer = order.storage.storage_of[node] is Storage.BUFFER
    return is_buffer and isinstance(node.op, View | Reshape | Iota | ScanSlice | Elementwise)


def computed_copy(node: Node, order: MemoryOrder, threshold: int, vector_bytes: int) -> Copy:
    """How a value is computed to memory of its own from its operands' elements, index by index.

    Those of a small view outside of all loops are copied one by one: to unroll the loops takes LLVM
    longer than all runs gain.
    """
    nanoseconds = per_element(order.storage, (node,))
    is_once = node.home.parent is None and isinstance(node.op, View)
    if is_once and node.is_static and node.size <= _MOST_SCALAR:
        return Copy(CopyForm.SCALAR, Parallelism(nanoseconds, None))
    return _turned(node, order, nanoseconds, threshold, vector_bytes, OWN_MEMORY)


def packed_copy(matrix: Node, order: MemoryOrder, vector_bytes: int) -> Copy:
    """How a transposed matrix is copied to panels, whose rows are neighbours."""
    return _turned(matrix, order, 0.0, 0, vector_bytes, Destination(is_whole=False))


def _flat(node: Node, nanoseconds: float, threshold: int) -> Parallelism:
    return all_as_one(nanoseconds, node.size if node.is_static else None, threshold)


def move_of(node: Node, threshold: int, vector_bytes: int, nanoseconds: float = COPIED) -> Copy:
    """How a value is moved from memory to memory, both in row-major order.

    If one thread copies all of it at once, by vectors, or as bytes if its size is open: LLVM takes
    5 milliseconds to vectorize a loop that does this.
    """
    loops = _flat(node, nanoseconds, threshold)
    if node.dtype is DType.BOOL or loops.is_shared or loops.chunk is not None:
        return Copy(CopyForm.FLAT, loops)
    if node.is_static:
        return Copy(CopyForm.VECTORS, loops, vector_bytes // node.dtype.numpy.itemsize)
    return Copy(CopyForm.BYTES, loops)


def _turned(
    node: Node,
    order: MemoryOrder,
    nanoseconds: float,
    threshold: int,
    vector_bytes: int,
    destination: Destination,
) -> Copy:
    """In tiles if it is a transposition of memory, else index by index."""
    axes = transposed_axes(node)
    is_stored = axes is not None and (
        order.is_stored_whole(node.operands[0]) or order.is_dense_item(node.operands[0])
    )
    if axes is None or not destination.has_rows or not is_stored:
        return Copy(CopyForm.INDICES, in_rows(nanoseconds, node.shape, threshold))
    lanes, extent = _tile_lanes(node, vector_bytes), node.shape[axes[0]]
    about = [each if isinstance(each, int) else _ASSUMED_SIDE for each in node.shape]
    tiles = lanes * prod(about) // max(about[axes[0]], 1)
    row = nanoseconds * tiles
    count = extent // lanes if isinstance(extent, int) else extent
    shared_axis = axes[0] if shares_items(count, row, (), threshold) else None
    chunk = items_in_chunks(count if node.is_static else None, eighths_of(nanoseconds) * tiles)
    loops = Parallelism(row, None, interleaved(row, count), shared_axis, chunk=chunk)
    return Copy(CopyForm.TILES, loops, lanes, axes=axes)


def _tile_lanes(node: Node, vector_bytes: int) -> int:
    """The width of a tile of a transposition: a wide one has more code, and pays in large ones."""
    item, lanes = node.dtype.numpy.itemsize, _OPEN_TILE_LANES
    if node.is_static:
        wide = (lanes for lanes, most in _TILE_LANES if node.size * item <= most)
        lanes = next(wide, _MOST_TILE_LANES)
    return min(max(vector_bytes // item, 4), lanes)

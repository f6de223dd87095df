"""Extremes with their positions: the two are kept apart while they are searched, in vectors.

    p = max((key of x[i]) << 32 | ~i)              the kernel's numbers: 64 bits each

    best, place = -inf, 0                          vectors of 32 bits, with twice the lanes
    for i in range(n):
        if x[i] > best or isnan(x[i]) and not isnan(best):
            best, place = x[i], i
    p = (key of best) << 32 | ~place               once

`lowering/operators/argmax_topk.py` writes the numbers on top. An element takes five instructions
where those would take seven on half the lanes: Viterbi with 64 states takes half the time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Block,
    Constant,
    Elementwise,
    Node,
    Number,
    Reduce,
    Reshape,
    View,
    op_of,
)
from treadle.jit.schedule.algebra.integers.packed_keys import packed_keys
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.nest_size import is_expensive
from treadle.jit.schedule.steps.row_vectors import has_row

_TILES = 4
"""The vectors of elements that are searched side by side."""
_PARTS_OF = {64: 8, 32: 4}
"""The searches that have registers, by the bytes of a vector: each waits for its element before."""
_MIN_PART = 3
"""The elements of a part that take longer than to compare the extremes of two."""
_MIN_LANES = 8
_LANE_BYTES = 4


@dataclass(frozen=True, eq=False, slots=True)
class IndexedExtreme:
    """A reduction of elements with positions behind.

    `values` are the elements, `positions` the numbers behind the keys: positions, or, if it
    `is_turned`, what is left of them to 2 ** 32 - 1. `is_first`: of equal elements, the first.
    `prefers_nan`: NaN is better than any number, else worse.
    """

    function: str
    values: Node
    positions: Node
    is_turned: bool
    prefers_nan: bool

    @property
    def is_first(self) -> bool:
        """Whether the position is that of the first extreme, not of the last."""
        return self.is_turned == (self.function == "max")


def indexed_extreme(node: Node) -> IndexedExtreme | None:
    """The elements and positions that a node reduces; None if it is another node."""
    if not isinstance(node.op, Reduce) or node.op.function not in ("max", "min"):
        return None
    packed = packed_keys(node.operands[0])
    if packed is None:
        return None
    key, positions = packed
    is_least = key.op == Elementwise("where") and node.op.function == "min"
    key = key.operands[2] if is_least else key
    if key.op != Elementwise("order") or key.operands[0].dtype is not DType.FLOAT32:
        return None
    return IndexedExtreme(
        node.op.function,
        key.operands[0],
        positions,
        is_turned=_is_turned(positions),
        prefers_nan=is_least or node.op.function == "max",
    )


def _is_turned(positions: Node) -> bool:
    """Whether positions are counted down."""
    while isinstance(positions.op, View | Reshape):
        (positions,) = positions.operands
    if isinstance(positions.op, Constant):
        return bool(positions.op.array.reshape(-1)[0] != 0)
    return positions.op == Elementwise("sub")


@dataclass(frozen=True, slots=True)
class Search:
    """Vectors of some lanes, several side by side, compared with extremes in vectors.

    Along the last axis of the operand. If that is not reduced, the other axis is searched in parts,
    which follow each other, at once.
    """

    lanes: int
    tiles: int
    parts: int = 1

    @property
    def elements(self) -> int:
        """The elements along the last axis that are compared at once."""
        return self.lanes * self.tiles


def search_of(
    node: Node, order: MemoryOrder, vectorized: Collection[Block], vector_bytes: int
) -> Search | None:
    """The search for an indexed extreme in vectors; None if it is searched otherwise."""
    found = indexed_extreme(node)
    if found is None or node.home in vectorized:
        return None
    op, (packed,), values = op_of(node, Reduce), node.operands, found.values
    last, inline = len(values.shape) - 1, set[Node]()
    if len(op.axes) != 1 or values.shape != packed.shape:
        return None
    if not has_row(values, last, order, inline):
        return None
    lanes, extent = vector_bytes // _LANE_BYTES, values.shape[last]
    is_row = op.axes == (last,)
    if not is_row and not isinstance(extent, int):
        return None
    while isinstance(extent, int) and lanes > extent:
        lanes //= 2
    if lanes < _MIN_LANES:
        return None
    tiles = 1 if any(map(is_expensive, inline)) else _tiles(extent, lanes, whole=is_row)
    parts = 1 if is_row else _parts(values.shape[op.axes[0]], tiles, vector_bytes)
    return Search(lanes, tiles, parts)


def _tiles(extent: Number, lanes: int, *, whole: bool) -> int:
    """The vectors side by side; the last one may overlap another unless they are one `whole`."""
    if not isinstance(extent, int):
        return _TILES
    if not whole:
        return min(_TILES, -(-extent // lanes))
    return max(n for n in (1, 2, _TILES) if n * lanes <= extent or n == 1)


def _parts(extent: Number, tiles: int, vector_bytes: int) -> int:
    """The parts in which the other axis is searched at once."""
    most = _PARTS_OF.get(vector_bytes, 1) // tiles
    return max(1, min(most, extent // _MIN_PART) if isinstance(extent, int) else most)

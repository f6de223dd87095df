"""Chunks: long nests and products run in several parts, so that a run can stop inside one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from treadle.jit.schedule.cost_model import LONG, eighths_of, is_long

_MIN_DIVIDED_EXTENT = 8
"""The extent of an axis from which threads share it."""
_LANES = 64
"""Parts of an axis are multiples of this number of items, if possible: whole vectors."""
_ROWS = 64
"""The least rows of a chunk: each reads the whole right operand, which the caches may not hold."""
_MULTIPLE = 8
"""Chunks are multiples of the rows that are computed together."""
_ASSUMED_ROWS = 2**14
"""The assumed value of a dynamic number of rows."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A long nest has a safepoint for every `size` items of an axis, before they are computed.

    An element counts as a number of `eighths` of a nanosecond.
    """

    axis: int
    size: int
    eighths: int

    def __str__(self) -> str:
        """As `explain --schedule` prints it."""
        return f"a safepoint for every {self.size} items of axis {self.axis}"


def divided_axis(shape: Sequence[object]) -> int:
    """The axis along which threads divide a nest, and chunks of a long one lie."""
    wide = (
        axis
        for axis, extent in enumerate(shape)
        if not isinstance(extent, int) or extent >= _MIN_DIVIDED_EXTENT
    )
    return next(wide, 0)


def nest_chunk(nanoseconds: float, shape: Sequence[object]) -> Chunk | None:
    """The chunks of a nest, whose elements take `nanoseconds`; None if it is short or dynamic."""
    eighths, axis = eighths_of(nanoseconds), divided_axis(shape)
    if not is_long((eighths, *shape)):
        return None
    size = chunk_of(shape[axis], (eighths, *shape[:axis], *shape[axis + 1 :]), 1)
    return Chunk(axis, size, eighths)


def items_in_chunks(count: object, eighths: int) -> Chunk | None:
    """The chunks of items that take `eighths` of a nanosecond each; None if all are short."""
    size = chunk_of(count, (eighths,), 1) if isinstance(count, int) and count else 0
    return Chunk(0, size, eighths) if size else None


def chunk_of(rows: object, row: Sequence[object], least: int = _ROWS) -> int:
    """The rows for which a safepoint is due, at least `least`, at most all; 0: the nest is short.

    `row` has the extents whose product is the multiplications of one row.
    """
    each = prod(extent for extent in row if isinstance(extent, int))
    is_known = all(isinstance(extent, int) for extent in row)
    if is_known and (rows if isinstance(rows, int) else _ASSUMED_ROWS) * each < LONG:
        return 0
    least = max(least, -(-LONG // each)) if is_known else least
    least += -least % _MULTIPLE if least > 1 else 0
    if not isinstance(rows, int):
        return least
    even = (n for n in range(least, min(rows, 2 * least) + 1) if rows % n == 0)
    return next((n for n in even if n % _MULTIPLE == 0), min(least, rows))


def part_of(rows: object, inner: object, columns: int, *, is_packed: bool) -> int:
    """The columns of each equal part of a product; 0: it is not divided.

    Only a product of so few rows that these are no chunks is divided; where the matrix is packed in
    panels, only into whole vectors.
    """
    if not (isinstance(rows, int) and isinstance(inner, int) and rows < 2 * _ROWS):
        return 0
    part = _even_part(columns, rows * inner)
    return 0 if is_packed and part % _LANES else part


def _even_part(extent: int, each: int) -> int:
    """The extent of equal parts of an axis, if possible of whole vectors; 0 if it is short.

    `each` is the number of multiplications for one item of the axis.
    """
    most = min(extent // 2, 2 * LONG // each) if extent * each >= 2 * LONG else 0
    parts = [n for n in range(most, most // 8, -1) if extent % n == 0]
    return next((n for n in parts if n % _LANES == 0), max(parts, default=0))

"""The tiles of matrix products: how many rows and columns of a result are in registers together.

    for panel of columns:                  as wide as a tile
        for block of rows:
            tile[rows, columns] += left[rows, k] * right[k, columns]        for every k

A matrix that a loop multiplies by is stored panel by panel, so that the rows of one follow each
other in memory. Wide panels serve few rows, which wait for the matrix; from four rows on tall tiles
of two vectors are faster: 8 x 2 reaches 0.95 of the peak of Zen 5, 4 x 4 0.75.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import Node, Number, static_shape
from treadle.jit.kernel.target import Target

_PANEL_VECTORS = 4
"""The most vectors in a row of a panel; a single row takes up to 16 from several panels."""
_REGISTERS_PER_ROW = 4
"""The vector registers for each row of a tile."""
_MOST_DOTS = 8
_MIN_ACCUMULATORS, _MOST_STEPS = 8, 4
"""Independent sums that hide the latency of a multiply-add, and the most steps they come from."""
NO_VECTOR_ROWS = (DType.BOOL, *SIXTEEN_BIT_FLOATS)
"""Dtypes with different representations in memory and in registers."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The rows of a result in registers together, the vectors of each, and the lanes of a vector.

    The last tiles of rows and of columns are smaller.
    """

    rows: int
    vectors: int
    lanes: int

    def __str__(self) -> str:
        """As `explain --schedule` prints it."""
        return f"tiles of {self.rows} x {self.vectors} vectors of {self.lanes}"

    @property
    def rests(self) -> tuple[int, int]:
        """The heights of tiles of rows that are left over, where their number is not known."""
        return max(self.rows // 2, 1), 1

    def panels(self, columns: int) -> tuple[int, int]:
        """The number of equal panels that cover columns, and of vectors in each.

        At most one more panel covers the columns that are left over.
        """
        vectors = -(-columns // self.lanes)
        number = -(-vectors // self.vectors)
        wide = vectors // number
        if vectors - (number - 1) * wide > self.vectors:
            wide = self.vectors
        has_tail = columns < vectors * self.lanes
        return number - 1 if has_tail or vectors != number * wide else number, wide


def tile_of(dtype: DType, rows: Number | None, columns: int, target: Target) -> Tile:
    """The tile of a product; rows are None if they are those of many iterations."""
    together = rows_together(rows, target)
    return Tile(together, vectors_together(together, target), lanes_of(dtype, columns, target))


def steps_together(inner: Number, sums: int) -> int:
    """The steps of the inner axis that run independently in a tile of this number of vectors."""
    if not isinstance(inner, int):
        return 1
    return max(min(_MIN_ACCUMULATORS // sums, inner, _MOST_STEPS), 1)


def rows_together(rows: Number | None, target: Target) -> int:
    """The rows of a tile: those of a product in equal parts, if their number is known."""
    most = target.registers // _REGISTERS_PER_ROW
    return -(-rows // -(-rows // most)) if isinstance(rows, int) and rows else most


def vectors_together(rows: int, target: Target) -> int:
    """The vectors in a row of a tile with this number of rows, a power of two."""
    return 1 << (target.registers // 2 // rows).bit_length() - 1


def lanes_of(dtype: DType, columns: int, target: Target) -> int:
    """The lanes of one vector; fewer if there are fewer columns."""
    lanes = target.vector_bytes // dtype.numpy.itemsize
    while lanes >= 2 * columns:
        lanes //= 2
    return lanes


def has_panels(product: Node) -> bool:
    """Whether a product has vectors of columns, if its right operand has its rows in memory."""
    columns = product.shape[-1]
    return product.dtype not in NO_VECTOR_ROWS and isinstance(columns, int) and columns > 1


def dots_together(rows: int, target: Target) -> int:
    """The dot products of each row that run side by side."""
    return max(min(target.registers // 2 // rows, _MOST_DOTS), 1)


def panel_columns(matrix: Node, rows: Sequence[Number | None], target: Target) -> int:
    """The columns of a panel of a matrix; `rows` are those of its products, None if not known."""
    columns = static_shape(matrix)[-1]
    lanes = lanes_of(matrix.dtype, columns, target)
    most = max(rows_together(each, target) for each in rows)
    vectors = min(vectors_together(most, target), _PANEL_VECTORS, -(-columns // lanes))
    return vectors * lanes

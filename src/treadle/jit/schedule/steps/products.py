"""The way in which each matrix product runs, and what threads share of it.

    panels of columns    whole products of a batch; else the panels; else the rows of each panel
    dot products         the columns
    single elements      the first axis that is long enough
    in registers         nothing

Where the right operand has its rows in memory, or is packed, a product runs by panels; few rows
times a transposed matrix are dot products; the rest is computed element by element. A product in
registers is written out, or runs through many terms that are neighbours in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from treadle.jit.kernel import costs
from treadle.jit.kernel.ir import Block, MatMul, Node, Number
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import loops_by_body
from treadle.jit.schedule.cost_model import is_long, per_product
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.layouts.packing import Packings
from treadle.jit.schedule.layouts.product_tiles import (
    Tile,
    dots_together,
    has_panels,
    rows_together,
    tile_of,
)
from treadle.jit.schedule.layouts.transposed_operands import stored_transpose
from treadle.jit.schedule.parallelism import Parallelism, in_rows, shares_items
from treadle.jit.schedule.steps.chunks import chunk_of, part_of
from treadle.jit.schedule.steps.late_terms import late_terms
from treadle.jit.schedule.storage import Storage

_SUMS = (32, 4), (4, 2)
"""The terms from which a sum in registers is added in parts, and the number of parts."""
_MIN_LOOPED = 32
"""The terms from which a sum of neighbours in memory is a loop, which LLVM vectorizes."""


@dataclass(frozen=True, slots=True)
class Dots:
    """Dot products with `matrix`, the transpose of the right operand: `together` columns at once.

    `lanes` terms of each are added at once; threads share the columns. The left operand is copied
    first where `copies_left`; sums of `together` columns are stored as one vector where
    `stores_vectors`. A long product has a safepoint for every `chunk` times `together` columns; 0:
    it has none.
    """

    sharing: Parallelism
    matrix: Node
    together: int
    lanes: int
    chunk: int
    copies_left: bool
    stores_vectors: bool

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        yield "dot products"
        yield from ["with a copy of the left operand"] * self.copies_left
        yield f"{self.together} columns at once"
        columns = self.chunk * self.together
        yield from [f"a safepoint for every {columns} columns"] * bool(self.chunk)
        yield from self.sharing.sharing_words()


@dataclass(frozen=True, slots=True)
class Panels:
    """A product by panels: threads share the products of `batches`, or `columns`, or else rows.

    `panel`: the columns of the panels in which the right operand is packed; if 0, its rows are in
    memory. `batches` are None where there are none, or each product is long. Threads share the rows
    of panels of at least `row_vectors` vectors, 0: of none. A long product runs in parts of `part`
    columns and in chunks of `chunk` rows, or products of a batch; 0: of all. `turns`: every
    second iteration runs backward, since the end of a matrix larger than the cache is still cached.
    `otherwise`: how it runs where the loop was too short for the matrix to be packed.
    """

    tile: Tile
    panel: int
    batches: Parallelism | None
    columns: Parallelism
    row_vectors: int
    part: int
    chunk: int
    turns: bool
    otherwise: Dots | None = None

    def rows(self, vectors: int) -> Parallelism:
        """The blocks of rows of a panel of this number of vectors."""
        is_shared = 0 < self.row_vectors <= vectors
        return replace(self.columns, shared_axis=0 if is_shared else None)

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        yield "in packed panels" if self.panel else "in panels"
        yield str(self.tile)
        yield from [f"in parts of {self.part} columns"] * bool(self.part)
        rows = "rows" if self.batches is None else "products"
        yield from [f"a safepoint for every {self.chunk} {rows}"] * bool(self.chunk)
        axes = {"columns": self.columns.is_shared, "rows": self.row_vectors}
        shared = [
            f"shared by threads along its {axis}" for axis, is_shared in axes.items() if is_shared
        ]
        batches = () if self.batches is None else self.batches.sharing_words()
        yield from [*batches, *shared][:1]
        yield from ["backward in every second iteration"] * self.turns
        yield from ["dot products in short loops"] * (self.otherwise is not None)


@dataclass(frozen=True, slots=True)
class Elements:
    """A product element by element, in chunks of `chunk` rows; 0: of all."""

    sharing: Parallelism
    chunk: int

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        yield "element by element"
        yield from [f"a safepoint for every {self.chunk} rows"] * bool(self.chunk)
        yield from self.sharing.sharing_words()


_WORDS_OF_SUMS = {
    0: "in a loop over its terms",
    1: "written out",
    2: "written out in two sums",
    4: "written out in four sums",
}


@dataclass(frozen=True, slots=True)
class InRegisters:
    """A product in registers: an element's terms are added in one to four `sums`, 0: in a loop.

    The `late` terms, by number, are added to the sum of the others.
    """

    sums: int
    late: tuple[int, ...] = ()

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        yield "in registers"
        yield _WORDS_OF_SUMS[self.sums]
        yield from [f"terms {', '.join(map(str, self.late))} last"] * bool(self.late)


ProductSchedule = Dots | Panels | Elements | InRegisters


def product_schedules(
    thresholds: Mapping[Block, int],
    order: MemoryOrder,
    packed: Packings,
    distributed: Collection[Node],
    target: Target,
) -> dict[Node, ProductSchedule]:
    """How each product runs; from a block's threshold on it is shared, 0: not at all.

    `distributed` are the products of many iterations.
    """
    found: dict[Node, ProductSchedule] = {}
    loops = loops_by_body(order.storage.storage_of)
    for node, place in order.storage.storage_of.items():
        if not isinstance(node.op, MatMul):
            continue
        threshold, panel = thresholds[node.home], packed.panel_of.get(node, 0)
        matrix = stored_transpose(node)
        dots = None
        if matrix is not None and order.has_rows(matrix):
            dots = _dots(node, matrix, order, target, threshold)
        if place is Storage.REGISTERS:
            found[node] = _in_registers(node, order, loops)
        elif has_panels(node) and (panel or order.has_rows(node.operands[1])):
            panels = _panels(node, panel, target, threshold, is_ahead=node in distributed)
            found[node] = replace(panels, otherwise=dots if node in packed.maybe else None)
        else:
            found[node] = dots or _elements(node, threshold)
    return found


def _in_registers(node: Node, order: MemoryOrder, loops: Mapping[Block, Node]) -> InRegisters:
    """A loop for one column of many terms, none of them in registers."""
    inner, places = node.operands[0].shape[-1], order.storage.storage_of
    assert isinstance(inner, int), "a product of unknown extents in registers"
    is_row = node.shape[-1] == 1 and inner >= _MIN_LOOPED
    if is_row and not any(places[each] is Storage.REGISTERS for each in node.operands):
        return InRegisters(0)
    sums = next((sums for least, sums in _SUMS if inner >= least), 1)
    return InRegisters(sums, late_terms(node, loops))


def _elements(node: Node, threshold: int) -> Elements:
    *batch, rows, columns = node.shape
    inner = node.operands[0].shape[-1]
    cost = per_product(node.dtype, rows) * _known(inner) * costs.SCALAR_SLOWDOWN
    chunk = chunk_of(rows, (*batch, columns, inner))
    return Elements(in_rows(cost, node.shape, threshold), chunk)


def _panels(node: Node, panel: int, target: Target, threshold: int, *, is_ahead: bool) -> Panels:
    *batches, rows, columns = node.shape
    inner = node.operands[0].shape[-1]
    assert isinstance(columns, int)
    one = per_product(node.dtype, rows) * _known(inner) * _known(rows) * columns
    together = None if is_ahead else rows
    by_batch = bool(batches) and not is_long((rows, columns, inner))
    part = 0 if by_batch else part_of(rows, inner, columns, is_packed=bool(panel))
    cost = per_product(node.dtype, together)
    tile = tile_of(node.dtype, together, part or columns, target)
    alike, wide = tile.panels(columns)
    size = together, inner, alike * wide * tile.lanes
    shares_columns = shares_items(alike, cost, size, threshold)
    blocks = together // tile.rows if isinstance(together, int) else together
    sharing = (
        count
        for count in range(1, tile.vectors + 1)
        if shares_items(blocks, cost, (blocks, tile.rows * count * tile.lanes, inner), threshold)
    )
    return Panels(
        tile,
        panel,
        in_rows(one, batches, threshold) if by_batch else None,
        Parallelism(cost, None, 1, 0 if shares_columns else None),
        next(sharing, 0),
        part,
        chunk_of(batches[0], (*batches[1:], rows, columns, inner), 1)
        if by_batch
        else chunk_of(rows, (part or columns, inner)),
        not is_ahead and _turns(node, target),
    )


def _dots(node: Node, matrix: Node, order: MemoryOrder, target: Target, threshold: int) -> Dots:
    (*_, rows, columns), inner = node.shape, matrix.shape[-1]
    assert isinstance(rows, int)
    assert isinstance(inner, int)
    at_once = dots_together(rows, target)
    full = columns // at_once if isinstance(columns, int) else columns
    cost = per_product(node.dtype, rows)
    size = full * at_once if isinstance(full, int) else full
    is_shared = shares_items(full, cost, (rows, inner, size), threshold)
    lanes = min(target.vector_bytes // node.dtype.numpy.itemsize, inner)
    sharing = Parallelism(cost, 1, 1, 1 if is_shared else None)
    chunk = 0 if full == 0 else chunk_of(full, (rows, inner, at_once), 1)
    copies_left = not order.is_stored_whole(node.operands[0])
    are_even = lanes.bit_count() == at_once.bit_count() == 1 < at_once <= lanes
    stores_vectors = are_even and order.has_rows(node)
    return Dots(sharing, matrix, at_once, lanes, chunk, copies_left, stores_vectors)


def _turns(node: Node, target: Target) -> bool:
    right, rows = node.operands[1], node.shape[-2]
    if not (node.home.is_loop and right.home.depth < node.home.depth and node.is_static):
        return False
    is_large = right.is_static and right.size * right.dtype.numpy.itemsize > costs.L1_BYTES
    return is_large and isinstance(rows, int) and rows <= rows_together(rows, target)


def _known(extent: Number) -> int:
    """The extent, or an assumed value for it."""
    return extent if isinstance(extent, int) else costs.ASSUMED_TERMS

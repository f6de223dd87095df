"""What threads share of matrix products, in each way to compute them.

    panels of columns    whole products of a batch; else the panels; else the rows of each panel
    dot products         the columns
    single elements      the first axis that is long enough

Where the right operand has its rows in memory, or is packed, a product runs by panels; few rows
times a transposed input are dot products; the rest is computed element by element.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from treadle.jit.kernel import costs
from treadle.jit.kernel.ir import Block, MatMul, Node, Number, static_shape
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.cost_model import per_product
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.layouts.product_tiles import (
    alike_panels,
    dots_together,
    has_panels,
    lanes_of,
    rows_together,
    vectors_together,
)
from treadle.jit.schedule.parallelism import Parallelism, in_rows, shares_items
from treadle.jit.schedule.storage import Storage, stored_transpose


@dataclass(frozen=True, slots=True)
class Panels:
    """A product by panels: threads share the products of `batches`, or `columns`, or else rows.

    They share the rows of panels of at least `row_vectors` vectors, 0: of none. `turns`: every
    second iteration runs backward, since the end of a matrix larger than the cache is still cached.
    """

    batches: Parallelism
    columns: Parallelism
    row_vectors: int
    turns: bool

    def rows(self, vectors: int) -> Parallelism:
        """The blocks of rows of a panel of this number of vectors."""
        is_shared = 0 < self.row_vectors <= vectors
        return replace(self.columns, shared_axis=0 if is_shared else None)

    def sharing_words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        axes = {"columns": self.columns.is_shared, "rows": self.row_vectors}
        shared = [
            f"shared by threads along its {axis}" for axis, is_shared in axes.items() if is_shared
        ]
        yield from [*self.batches.sharing_words(), *shared][:1]
        yield from ["backward in every second iteration"] * self.turns


@dataclass(frozen=True, slots=True)
class ProductSchedule:
    """The ways in which a product may run."""

    dots: Parallelism | None
    panels: Panels | None
    elements: Parallelism | None

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        ways = zip(_WAYS, (self.dots, self.panels, self.elements), strict=True)
        way, found = next((way, found) for way, found in ways if found is not None)
        yield from (way, *found.sharing_words())


_WAYS = "dot products", "in panels", "element by element"


def product_schedules(
    thresholds: Mapping[Block, int],
    order: MemoryOrder,
    packed: Collection[Node],
    batched: Collection[Node],
    target: Target,
) -> dict[Node, ProductSchedule]:
    """How the products in memory run; from a block's threshold on they are shared, 0: none.

    `packed` are matrices in panels, `batched` the products of many iterations.
    """
    found = {}
    for node, place in order.storage.storage_of.items():
        if not isinstance(node.op, MatMul) or place is not Storage.BUFFER:
            continue
        threshold, right = thresholds[node.home], node.operands[1]
        has_rows = has_panels(node) and order.has_rows(right)
        is_in_panels = has_rows or (has_panels(node) and right in packed)
        is_stored, is_batched = stored_transpose(node) is not None, node in batched
        found[node] = ProductSchedule(
            _dots(node, target, threshold) if is_stored else None,
            _panels(node, target, threshold, is_batched=is_batched) if is_in_panels else None,
            None if has_rows or is_stored else _elements(node, threshold),
        )
    return found


def _elements(node: Node, threshold: int) -> Parallelism:
    inner = _known(node.operands[0].shape[-1])
    cost = per_product(node.dtype, node.shape[-2]) * inner * costs.SCALAR_SLOWDOWN
    return in_rows(cost, node.shape, threshold)


def _panels(node: Node, target: Target, threshold: int, *, is_batched: bool) -> Panels:
    *batches, rows, columns = node.shape
    inner = node.operands[0].shape[-1]
    assert isinstance(columns, int)
    one = per_product(node.dtype, rows) * _known(inner) * _known(rows) * columns
    together = None if is_batched else rows
    cost, most = per_product(node.dtype, together), rows_together(together, target)
    lanes, vectors = lanes_of(node.dtype, columns, target), vectors_together(most, target)
    alike, wide = alike_panels(columns, lanes, vectors)
    shares_columns = shares_items(alike, cost, (together, inner, alike * wide * lanes), threshold)
    blocks = together // most if isinstance(together, int) else together
    sharing = (
        count
        for count in range(1, vectors + 1)
        if shares_items(blocks, cost, (blocks, most * count * lanes, inner), threshold)
    )
    return Panels(
        in_rows(one, batches, threshold),
        Parallelism(cost, None, 1, 0 if shares_columns else None),
        next(sharing, 0),
        not is_batched and _turns(node, target),
    )


def _dots(node: Node, target: Target, threshold: int) -> Parallelism:
    (rows, columns), inner = static_shape(node), node.operands[1].shape[0]
    at_once = dots_together(rows, target)
    full, cost = columns // at_once, per_product(node.dtype, rows)
    is_shared = shares_items(full, cost, (rows, inner, full * at_once), threshold)
    return Parallelism(cost, 1, 1, 1 if is_shared else None)


def _turns(node: Node, target: Target) -> bool:
    right, rows = node.operands[1], node.shape[-2]
    if not (node.home.is_loop and right.home.depth < node.home.depth and node.is_static):
        return False
    is_large = right.is_static and right.size * right.dtype.numpy.itemsize > costs.L1_BYTES
    return is_large and isinstance(rows, int) and rows <= rows_together(rows, target)


def _known(extent: Number) -> int:
    """The extent, or an assumed value for it."""
    return extent if isinstance(extent, int) else costs.ASSUMED_TERMS

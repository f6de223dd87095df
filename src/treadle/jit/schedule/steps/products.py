"""How matrix products use the processor: what threads share of each, in the ways to compute it.

    panels of columns    whole products of a batch; else the panels; else the rows of each panel
    dot products         the columns
    single elements      the first axis that is long enough

Where the right operand has its rows in memory, or is packed, a product runs by panels; few rows
times a transposed input are dot products; the rest is computed element by element.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from treadle.jit.kernel import costs
from treadle.jit.kernel.ir import Block, MatMul, Node, Number, static_shape
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.cost_model import per_product
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.layouts.packing import Packing
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
    """A product by panels: a multiplication takes an estimated number of `nanoseconds`.

    Threads share the products of `batches`; `columns`: they share panels; else the rows of those of
    at least `row_vectors` vectors, 0: of none. `turns`: every second iteration runs backward, since
    the end of a matrix larger than the cache is still cached then.
    """

    nanoseconds: float
    batches: Parallelism
    columns: bool
    row_vectors: int
    turns: bool

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        yield "in panels"
        if self.batches.shared_axis is not None:
            yield from self.batches.sharing_words()
        elif self.columns or self.row_vectors:
            yield f"shared by threads along its {'columns' if self.columns else 'rows'}"
        if self.turns:
            yield "backward in every second iteration"


@dataclass(frozen=True, slots=True)
class ProductSchedule:
    """The ways in which a product may run: by panels, as dot products, element by element."""

    panels: Panels | None
    dots: Parallelism | None
    elements: Parallelism | None

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        if self.dots is not None:
            yield "dot products"
            yield from self.dots.sharing_words()
        elif self.panels is not None:
            yield from self.panels.words()
        elif self.elements is not None:
            yield "element by element"
            yield from self.elements.sharing_words()


@dataclass(frozen=True, eq=False, slots=True)
class ProductFacts:
    """What it follows from: where operands are, and the products of many iterations (`batched`)."""

    order: MemoryOrder
    packings: Mapping[Node, tuple[Packing, ...]]
    batched: Collection[Node]
    target: Target


def product_schedules(
    blocks: Mapping[Block, tuple[Step, ...]],
    thresholds: Mapping[Block, int],
    facts: ProductFacts,
) -> dict[Node, ProductSchedule]:
    """How the products in memory run; from a block's threshold on they are shared, 0: none."""
    packed = {packing.matrix for each in facts.packings.values() for packing in each}
    places = facts.order.storage.storage_of
    return {
        step: _schedule(step, facts, packed, thresholds[block])
        for block, steps in blocks.items()
        for step in steps
        if not isinstance(step, Nest)
        and isinstance(step.op, MatMul)
        and places[step] is Storage.BUFFER
    }


def _schedule(
    node: Node, facts: ProductFacts, packed: Collection[Node], threshold: int
) -> ProductSchedule:
    right, is_wide, target = node.operands[1], has_panels(node), facts.target
    has_rows = is_wide and facts.order.has_rows(right)
    is_in_panels = has_rows or (is_wide and right in packed)
    is_batched = node in facts.batched
    panels = _panels(node, target, threshold, is_batched=is_batched) if is_in_panels else None
    dots = None if stored_transpose(node) is None else _dots(node, target, threshold)
    if dots is not None or has_rows:
        return ProductSchedule(panels, dots, None)
    inner, rows = node.operands[0].shape[-1], node.shape[-2]
    cost = per_product(node.dtype, rows) * _known(inner) * costs.SCALAR_SLOWDOWN
    return ProductSchedule(panels, dots, in_rows(cost, node.shape, threshold))


def _panels(node: Node, target: Target, threshold: int, *, is_batched: bool) -> Panels:
    *batches, rows, columns = node.shape
    inner = node.operands[0].shape[-1]
    assert isinstance(columns, int)
    one = per_product(node.dtype, rows) * _known(inner) * _known(rows) * columns
    outside = in_rows(one, batches, threshold)
    together = None if is_batched else rows
    cost, most = per_product(node.dtype, together), rows_together(together, target)
    lanes, vectors = lanes_of(node.dtype, columns, target), vectors_together(most, target)
    alike, wide = alike_panels(columns, lanes, vectors)
    size = together, inner, alike * wide * lanes
    shares_columns = shares_items(alike, cost, size, threshold)
    blocks = together // most if isinstance(together, int) else together
    sharing = (
        count
        for count in range(1, vectors + 1)
        if shares_items(blocks, cost, (blocks, most * count * lanes, inner), threshold)
    )
    return Panels(
        cost, outside, shares_columns, next(sharing, 0), not is_batched and _turns(node, target)
    )


def _dots(node: Node, target: Target, threshold: int) -> Parallelism:
    rows, columns = static_shape(node)
    inner = static_shape(node.operands[1])[0]
    at_once = dots_together(rows, target)
    full, cost = columns // at_once, per_product(node.dtype, rows)
    is_shared = shares_items(full, cost, (rows, inner, full * at_once), threshold)
    return Parallelism(cost, 1, 1, 1 if is_shared else None)


def _turns(node: Node, target: Target) -> bool:
    right, rows = node.operands[1], node.shape[-2]
    is_invariant = node.home.is_loop and right.home.depth < node.home.depth
    if not (is_invariant and right.is_static and node.is_static):
        return False
    assert isinstance(rows, int)
    is_large = right.size * right.dtype.numpy.itemsize > costs.L1_BYTES
    return is_large and rows <= rows_together(rows, target)


def _known(extent: Number) -> int:
    """The extent, or an assumed value for it."""
    return extent if isinstance(extent, int) else costs.ASSUMED_TERMS

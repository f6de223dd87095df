"""The form in which reductions, and searches for the best items of a row, run.

reduction   each element alone; those along a short last axis together; whole rows are added; or
            terms in registers are written out
search      a heap of the best items so far; the same, sorted at the end; a sort of all items; or
            the ranks of all items of a short row
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import prod

from treadle.ir import DType
from treadle.jit.kernel import costs
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import ArgTopK, Block, Node, Reduce, op_of, static_shape
from treadle.jit.schedule.cost_model import per_read
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.nest_size import INTERLEAVED_ELEMENTS, interleaves
from treadle.jit.schedule.steps.chunks import Chunk, nest_chunk
from treadle.jit.schedule.steps.indexed_extremes import Search, search_of
from treadle.jit.schedule.steps.short_rows import rows_at_once
from treadle.jit.schedule.storage import Storage

_SHORT_AXIS, _LONG_AXIS, _BLOCK = 4, 32, 4096
"""Extents of the last axis and of a reduced one before it, with vectors over the reduced one."""
PARTIAL_SUMS = 8
"""The sums that a long sum in registers begins with, so that it keeps its precision."""
_MIN_VECTOR_EXTENT = 8
"""Extent of an axis from which it is computed in vectors."""
SUM_BLOCK = 4096
"""The terms of a sum that are added before Kahan's correction (`codegen/ops/blocked_sum.py`).

Few enough for the lanes of vectors to keep their precision; many enough to make the work per block
negligible.
"""
_SHORT_ROW = 64
"""The elements of a row from which it is added by itself."""
_MOST_INTERLEAVED_NS = 2.0
"""The nanoseconds of a term up to which sums are made side by side.

A sum waits for the one before: four vectors of sums of 4,096 float32 take 0.35 of the time of one,
of 1,024 float64 0.4 (Zen 3).
"""
_SUMMED = (DType.FLOAT32, DType.FLOAT64)
_LONG_ROW = 2**18
"""The items of a row from which a search in it has safepoints."""
_MIN_SORTED = 128
"""The number of wanted items from which sorting is considered instead of a heap."""
_SORTED_SHARE = 16
"""All items are sorted if at least one in this many is wanted."""
SIFT_NS, SORT_NS = 50, 8
"""The nanoseconds that safepoints count for one sift, and for one item in a pass of a sort."""
_MOST_RANKED = 16
"""The most items of a row that is sorted by ranks: a median filter with 16 rows of 9 items takes
0.55 of the time of one with heaps."""
_KEYS_TOGETHER = 16
"""The keys that are compared at once with the worst item of a heap, a power of two."""
_ROWS_TOGETHER = 8
"""The rows that are combined at once with a row of the result."""


class Form(enum.Enum):
    """The form of a reduction or of a search, in the words of `explain --schedule`."""

    EACH = "vectors along the reduced axis"
    NEIGHBOURS = "vectors along the reduced axis, for the elements of the last one at once"
    ROWS = "vectors along the result"
    SHORT_ROWS = "vectors along short rows"
    WRITTEN = "written out"
    VECTOR = "written out, the terms in one vector"
    PARTS = "written out, in eight sums"
    INDEXED = "vectors along the reduced axis, positions beside values"
    INDEXED_ROWS = "vectors along the result, positions beside values"
    HEAP = "a heap of the best"
    SORTED_HEAP = "a heap of the best, then sorted"
    SORT = "all items are sorted"
    RANKS = "the ranks of all items"


@dataclass(frozen=True, slots=True)
class StepForm:
    """How a reduction or a search runs.

    `in_vectors`: LLVM computes its terms in vectors. `in_blocks`: a long sum is added by blocks.
    `chunk`: where a long element has safepoints; `polls`: whether a search has some. `together`:
    the rows that are combined at once, or the keys, neighbours in memory, that a search compares at
    once with the worst item; 0: one at a time. `search`: the vectors in which an extreme and its
    position are searched. `joins_axes`: the reduced axes are read as one axis, since their elements
    are contiguous. `interleaved`: the number of vector accumulators.
    """

    form: Form
    in_vectors: bool = False
    in_blocks: bool = False
    chunk: Chunk | None = None
    polls: bool = False
    together: int = 0
    search: Search | None = None
    joins_axes: bool = False
    interleaved: int = 1

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        yield self.form.value
        yield from ["all rows at once"] * self.joins_axes
        yield from ["in blocks"] * self.in_blocks
        if self.interleaved > 1:
            yield f"{self.interleaved} of them side by side"
        if self.together:
            yield f"{self.together} {_TOGETHER.get(self.form, 'keys')} at once"
        if self.search:
            yield f"{self.search.elements} elements at once"
            yield from [f"in {self.search.parts} parts"] * (self.search.parts > 1)
        yield from ["with safepoints"] * (self.polls or self.chunk is not None)


_TOGETHER = {Form.ROWS: "rows", Form.SHORT_ROWS: "of them"}
"""Of which things a reduction combines some at once."""
_INDEXED = {(Form.EACH, True): Form.INDEXED, (Form.ROWS, False): Form.INDEXED_ROWS}
"""The form in which positions are searched beside values, by whether the last axis is reduced."""


def form_of(
    node: Node,
    order: MemoryOrder,
    vectorized: Collection[Block] = (),
    vector_bytes: int = 0,
) -> StepForm | None:
    """The form of a reduction or search; None for another node.

    `vectorized` blocks run for several iterations at once. `vector_bytes`: those of vectors of
    extremes, 0 if there are none.
    """
    match node.op:
        case Reduce() as op:
            found = _reduction(node, op, order, vectorized, vector_bytes)
            search = search_of(node, order, vectorized, vector_bytes)
            form = _INDEXED.get((found.form, len(node.operands[0].shape) - 1 in op.axes))
            return StepForm(form, search=search) if form and search and not found.chunk else found
        case ArgTopK() as op:
            return _search(node, op, order)
    return None


def _search(node: Node, op: ArgTopK, order: MemoryOrder) -> StepForm:
    (keys,), count = node.operands, node.shape[op.axis]
    extent = keys.shape[op.axis]
    if isinstance(extent, int) and isinstance(count, int) and 1 < extent <= _MOST_RANKED:
        return StepForm(Form.RANKS)
    polls = not isinstance(extent, int) or extent >= _LONG_ROW
    together = _KEYS_TOGETHER if _is_row(keys, op.axis, order) else 0
    if not isinstance(count, int) or count < _MIN_SORTED:
        return StepForm(Form.HEAP, polls=polls, together=together)
    if isinstance(extent, int) and count * _SORTED_SHARE >= extent:
        return StepForm(Form.SORT, polls=polls)
    return StepForm(Form.SORTED_HEAP, polls=polls, together=together)


def _is_row(keys: Node, axis: int, order: MemoryOrder) -> bool:
    """Whether neighbouring keys along the axis are neighbours in memory."""
    if any(extent != 1 for extent in keys.shape[axis + 1 :]):
        return False
    kind = order.storage.storage_of[keys]
    if kind is Storage.REGISTERS:
        return True  # they are in memory too, for a dynamic index
    is_last = axis == len(keys.shape) - 1
    return kind is not Storage.INLINE and (order.has_rows if is_last else order.is_dense)(keys)


def _reduction(
    node: Node,
    op: Reduce,
    order: MemoryOrder,
    vectorized: Collection[Block],
    vector_bytes: int,
) -> StepForm:
    places = order.storage.storage_of
    (source,), is_kept = node.operands, places[node] is Storage.REGISTERS
    if not is_kept and len(source.shape) - 1 not in op.axes:
        if not is_beside_short_axis(node):
            return StepForm(Form.ROWS, together=_ROWS_TOGETHER)
        form = Form.NEIGHBOURS
    else:
        form = Form.EACH
    over = [source.shape[axis] for axis in op.axes]
    last = over[-1] if over else 0
    is_sum = op.function == "add" and is_float(node.dtype)
    if form is Form.EACH and places[source] is Storage.REGISTERS and (is_kept or node.is_single):
        if not is_sum or prod(static_shape(source)[axis] for axis in op.axes) < PARTIAL_SUMS:
            return StepForm(Form.WRITTEN)
        return StepForm(Form.PARTS if node.home in vectorized else Form.VECTOR)
    if form is Form.EACH and not is_kept and node.home not in vectorized:
        rows = rows_at_once(node, order, vector_bytes)
        if rows:
            return StepForm(Form.SHORT_ROWS, together=rows)
    joins_axes = form is Form.EACH and _is_of_short_rows(node, order)
    over = [prod(static_shape(source)[axis] for axis in op.axes)] if joins_axes else over
    last = over[-1] if over else 0
    in_vectors = not isinstance(last, int) or last >= _MIN_VECTOR_EXTENT
    is_longer = not isinstance(last, int) or last > SUM_BLOCK
    in_blocks = form is Form.EACH and is_sum and node.dtype in _SUMMED and is_longer
    chunk = nest_chunk(costs.SUMMED, over)
    is_wide = form is Form.EACH and in_vectors and interleaves(last)
    vectors = INTERLEAVED_ELEMENTS if is_wide and _is_short(node, order) else 1
    return StepForm(form, in_vectors, in_blocks, chunk, joins_axes=joins_axes, interleaved=vectors)


def _is_short(node: Node, order: MemoryOrder) -> bool:
    """Whether the terms take so little time that a chain of sums takes longer."""
    return per_read(order.storage, node.operands[0]) <= _MOST_INTERLEAVED_NS


def _is_of_short_rows(node: Node, order: MemoryOrder) -> bool:
    """Whether the last axes are reduced, and short rows of them follow each other in memory.

    The sum of 32 x 32 float64 takes half the time as one row of 1,024 (Zen 3).
    """
    op, (source,) = op_of(node, Reduce), node.operands
    rank, count = len(source.shape), len(op.axes)
    if count < 2 or op.axes != tuple(range(rank - count, rank)) or not source.is_static:
        return False
    shape = static_shape(source)
    is_some = prod(shape[axis] for axis in op.axes[:-1]) > 1
    is_alone = node.is_single or 1 < shape[-1] < _SHORT_ROW
    return is_some and is_alone and order.is_flat(source)


def is_beside_short_axis(node: Node) -> bool:
    """Whether vectors of a reduction run over the reduced axis though it is not the last one.

    The sums of 64 x 64 rows of 3, as of forces between bodies, take half the time.
    """
    op, (source,) = node.op, node.operands
    assert isinstance(op, Reduce)
    last, before = len(source.shape) - 1, len(source.shape) - 2
    if op.axes != (before,) or not node.is_static or source.shape[last] == 1:
        return False
    short, long = source.shape[last], source.shape[before]
    assert isinstance(short, int)
    return short <= _SHORT_AXIS and isinstance(long, int) and _LONG_AXIS <= long <= _BLOCK

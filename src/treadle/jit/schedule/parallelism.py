"""How a loop nest uses the processor: what runs in vectors, and what several threads share.

Elements are computed in vectors along one axis, or along all of them as one where every operand and
result lies in memory in row-major order. LLVM is asked to compute several vectors side by side
where an element takes long and a row has enough of them. Threads share a nest of enough estimated
time along its first axis that is long enough; at run time they do so where measuring shows a gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from treadle.jit.kernel.ir import (
    Concat,
    Elementwise,
    Node,
    Reduce,
    op_of,
    static_shape,
)
from treadle.jit.schedule.cost_model import (
    COPIED,
    per_element,
    per_read,
    per_result,
    vector_lanes,
    widest,
)
from treadle.jit.schedule.fusion import Nest
from treadle.jit.schedule.index_set_splitting import known_widths
from treadle.jit.schedule.layouts.memory_order import MemoryOrder, is_same_size
from treadle.jit.schedule.nest_size import INTERLEAVED_ELEMENTS, emission_weight, interleaves
from treadle.jit.schedule.steps.chunks import Chunk, divided_axis, nest_chunk
from treadle.jit.schedule.steps.forms import Form, StepForm
from treadle.jit.schedule.steps.short_rows import rows_axis
from treadle.jit.schedule.storage import Storage

CACHE_LINE_ELEMENTS = 64
"""Elements that one thread writes together, so that no two threads write to one cache line."""
_ASSUMED_EXTENT, _ASSUMED_ELEMENTS = 256, 16_384
"""The assumed values of a dynamic extent, and of a dynamic number of elements."""
_NARROW = range(2, 9)
"""Lengths of rows that are written at once."""
_MIN_VECTORS = 4
"""The vectors of a row from which the elements after the last whole one hardly matter."""
_MASKING_BYTES = 64
"""The bytes of vectors that have masks."""
_MOST_MASKED = 128
"""The elements of a row from which what is left of it hardly matters."""
_MOST_RESTS = 2
"""The elements after the last whole vector of a row, for each vector, that cost less than masks."""
_MOST_OVERLAPPED = 32
"""The vectors of a row from which one more hardly matters."""
_LEAST_LANES, _MIN_PARTED = 4, 8
"""The elements of the smallest vector, and of a row with vectors of several sizes."""
_MAX_PARTED = 32
"""The weighted functions of a nest that is written out for vectors of several sizes."""
_MAX_SIDE_BY_SIDE = 16
"""The functions of a nest whose short rows have no loop."""
_MIN_INTERLEAVED_NS = 0.1
"""The cost of an element from which several vectors are computed independently.

Also that of a reduction's element from which the rest of a row is computed under a mask: the sums
of 45 columns of `exp` take 0.57 of the time so, those of 20 columns of `min` 1.4 times.
"""


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How the loops over the elements of a nest run.

    An element takes an estimated number of `nanoseconds`. Vectors lie along `vector_axis`, or along
    all axes as one (None), of `lanes` elements, or as LLVM chooses (0); `interleaved` of them are
    computed independently. Threads divide
    `shared_axis`, all elements if there is no vector axis; None: one thread computes all.

    `masked`: the lanes of vectors whose masks may cut off the rest of a row of a piece; 0: none do.
    `overlapped`: those of vectors of which the last one of a row may compute elements again.
    `parted`: those of the vectors of a row, of which smaller ones compute the rest.
    `chunk`: those of a long nest, with safepoints between them.
    """

    nanoseconds: float
    vector_axis: int | None
    interleaved: int = 1
    shared_axis: int | None = None
    lanes: int = 0
    masked: int = 0
    overlapped: int = 0
    parted: int = 0
    chunk: Chunk | None = None

    @property
    def is_shared(self) -> bool:
        """Whether threads share it."""
        return self.shared_axis is not None

    def shares(self, count: object, least: int) -> bool:
        """Whether threads share this number of its items, each in multiples of `least`."""
        return self.is_shared and _can_share(count, least)

    def in_lanes(self, lanes: int, shape: Sequence[object]) -> Parallelism:
        """The same in vectors of these lanes, if a row has enough of them."""
        row = shape if self.vector_axis is None else shape[-1:]
        length = prod(each if isinstance(each, int) else _ASSUMED_EXTENT for each in row)
        is_known = all(isinstance(each, int) for each in row)
        is_long = not is_known or length >= _MIN_VECTORS * lanes
        return replace(self, lanes=lanes) if lanes and is_long else self

    def spans(self, length: int) -> Sequence[tuple[int, int]]:
        """The parts in which a row of a piece is computed, each with its start and its length.

        Whole vectors, and the last one again so that it ends with the row: of 126 floats 16 at a
        time 14 would be left, which LLVM computes one by one. Or vectors of a half, of a quarter.
        """
        if self.parted:
            return self._smaller(length)
        vectors, rest = divmod(length, self.overlapped or length)
        if not rest or not 0 < vectors < _MOST_OVERLAPPED:
            return [(0, length)]
        return [(0, length - rest), (length - self.overlapped, self.overlapped)]

    def _smaller(self, length: int) -> Sequence[tuple[int, int]]:
        """Whole vectors of a row, and smaller ones; less than the least are left in the end."""
        start = length - length % self.parted
        found = [(0, start)] if start else []
        width = self.parted // 2
        while width >= _LEAST_LANES:
            if width <= length - start:
                found.append((start, width))
                start += width
            width //= 2
        return [*found, *([(start, length - start)] if start < length else ())]

    def masks(self, length: int) -> bool:
        """Whether masks pay for rows of a length: what is left of one would be many elements."""
        if not self.masked or not self.masked <= 2 * length < 2 * _MOST_MASKED:
            return False
        vectors, rest = divmod(length, self.masked)
        return rest > _MOST_RESTS * vectors

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        is_flat = self.vector_axis is None
        yield f"vectors along {'all axes' if is_flat else f'axis {self.vector_axis}'}"
        if self.interleaved > 1:
            yield f"{self.interleaved} of them side by side"
        if self.lanes:
            yield f"{self.lanes} elements in each"
        if self.masked:
            yield "the rest of a row under a mask"
        if self.overlapped:
            yield "the last of a row again"
        if self.parted:
            yield "the rest of a row in smaller ones"
        yield from self.chunk_words()
        yield from self.sharing_words()

    def chunk_words(self) -> Iterator[str]:
        """Its safepoints, in words."""
        yield from [str(self.chunk)] * (self.chunk is not None)

    def sharing_words(self) -> Iterator[str]:
        """The axis that threads divide, in words; nothing if one thread computes all."""
        if self.is_shared:
            axis = "" if self.vector_axis is None else f" along axis {self.shared_axis}"
            yield f"shared by threads{axis}"


def parallelism_of(
    step: Nest | Node,
    order: MemoryOrder,
    threshold: int,
    vector_bytes: int,
    form: StepForm | None,
    *,
    is_apart: bool = False,
) -> Parallelism | None:
    """How a fused nest, or a reduction (in a form) or copy in memory, runs; None for others.

    `is_apart`: a nest reads nothing from the memory that it writes.
    """
    if isinstance(step, Nest):
        lanes = vector_lanes(step.nodes, vector_bytes)
        found = _of_nest(step, order, threshold)
        if step.pieces is None:
            found = found.in_lanes(lanes, step.nodes[0].shape)
            return _of_rows(found, step, vector_bytes, is_apart=is_apart)
        return _with_whole_vectors(found, step, vector_bytes, is_apart=is_apart)
    if order.storage.storage_of[step] is not Storage.BUFFER:
        return None
    if isinstance(step.op, Reduce):
        cost = per_result(order.storage, step)
        if form is not None and form.form is Form.NEIGHBOURS:
            *shape, row = static_shape(step)  # the elements along the last axis count as one
            return replace(in_rows(row * cost, shape, threshold), interleaved=1)
        if form is not None and form.form is Form.INDEXED_ROWS and form.search is not None:
            at_once, last = form.search.elements, step.shape[-1]
            assert isinstance(last, int), "vectors along an open axis"
            vectors = in_rows(at_once * cost, (*step.shape[:-1], -(-last // at_once)), threshold)
            return replace(vectors, interleaved=1)
        if form is not None and form.form is Form.SHORT_ROWS:
            axis = rows_axis(step)
            rows = step.shape[axis]
            assert isinstance(rows, int), "groups of an open number of rows"
            groups = (*step.shape[:axis], -(-rows // form.together))
            return replace(in_rows(form.together * cost, groups, threshold), interleaved=1)
        found = in_rows(cost, step.shape, threshold)
        is_long = per_read(order.storage, step.operands[0]) >= _MIN_INTERLEAVED_NS
        has_rows = form is not None and form.form is Form.ROWS
        return _with_masks(found, (step,), vector_bytes) if has_rows and is_long else found
    if isinstance(step.op, Concat) and is_narrow(step):
        last = static_shape(step)[-1]
        return in_rows(last * COPIED, step.shape[:-1], threshold)
    return None


def _of_rows(found: Parallelism, nest: Nest, vector_bytes: int, *, is_apart: bool) -> Parallelism:
    """The same with the vectors of a short row side by side, or with vectors for the rest of one.

    The loop over few vectors takes longer than they do: a state of 8 x 16 x 32 floats that decays
    and takes an outer product takes 0.6 of the time. LLVM computes the rest of a row one by one.
    What is loaded from where a masked vector was stored waits for it, so that only nests that read
    nothing from there have masks: rows of 15 in place take 10 ns so, and 3 in smaller vectors.
    """
    first, lanes = nest.nodes[0], found.lanes or vector_bytes // widest(nest.nodes)
    if not first.is_static or (found.vector_axis is None and len(first.shape) != 1):
        return found
    length = static_shape(first)[-1]
    vectors, rest = divmod(length, lanes)
    if rest:
        return _with_smaller_vectors(found, nest, vector_bytes, is_apart=is_apart)
    is_short = vectors <= 2 * INTERLEAVED_ELEMENTS and len(nest.nodes) <= _MAX_SIDE_BY_SIDE
    if not is_short or found.vector_axis is None or found.interleaved > 1:
        return found
    return replace(found, interleaved=gcd(vectors, INTERLEAVED_ELEMENTS))


def _with_smaller_vectors(
    found: Parallelism, nest: Nest, vector_bytes: int, *, is_apart: bool
) -> Parallelism:
    """The same with the rest of each row in smaller vectors, or under a mask if these are many."""
    shape, lanes = static_shape(nest.nodes[0]), found.lanes or vector_bytes // widest(nest.nodes)
    length, parted = shape[-1], replace(found, parted=lanes)
    count = len(parted.spans(length))
    masked = _with_masks(found, nest.nodes, vector_bytes)
    if is_apart and len(shape) > 1 and masked.masks(length) and count > 1 + (length > lanes):
        return masked
    weight = sum(map(emission_weight, nest.nodes))
    is_short = _MIN_PARTED <= length < _MOST_MASKED and weight <= _MAX_PARTED
    return parted if is_short and count > 1 else found


def _with_whole_vectors(
    found: Parallelism, nest: Nest, vector_bytes: int, *, is_apart: bool
) -> Parallelism:
    """The same with what the rows of its pieces leave beside whole vectors in a vector, too."""
    assert nest.pieces is not None, "a nest that is not split"
    lanes = vector_bytes // widest(nest.nodes)
    lengths = known_widths(nest.pieces)
    overlapped = replace(found, overlapped=lanes if is_apart else 0)
    if any(len(overlapped.spans(length)) > 1 for length in lengths):
        return overlapped
    masked = _with_masks(found, nest.nodes, vector_bytes)
    return masked if any(map(masked.masks, lengths)) else found


def _with_masks(found: Parallelism, nodes: Sequence[Node], vector_bytes: int) -> Parallelism:
    """The same with the rest of a row under a mask, where vectors have masks."""
    lanes = vector_bytes // widest(nodes)
    return replace(found, masked=lanes if vector_bytes >= _MASKING_BYTES else 0)


def is_narrow(node: Node) -> bool:
    """Whether a Concat has short rows, which are written at once, each of all operands."""
    is_last = op_of(node, Concat).axis == len(node.shape) - 1
    are_static = all(each.is_static for each in (node, *node.operands))
    return is_last and are_static and node.shape[-1] in _NARROW


def _of_nest(nest: Nest, order: MemoryOrder, threshold: int) -> Parallelism:
    first, nanoseconds = nest.nodes[0], per_element(order.storage, nest.nodes)
    if nest.pieces is not None:
        return replace(in_rows(nanoseconds, first.shape, threshold), interleaved=1)
    if _is_flat(nest.nodes, order) and all(map(order.is_written_whole, nest.nodes)):
        size = first.size if first.is_static else None
        return all_as_one(nanoseconds, size, threshold)
    return in_rows(nanoseconds, first.shape, threshold)


def in_rows(nanoseconds: float, shape: Sequence[object], threshold: int) -> Parallelism:
    """How a nest of a shape runs, index by index; `threshold` nanoseconds are shared, 0: nothing.

    Extents that are no numbers are dynamic.
    """
    if not shape:
        return Parallelism(nanoseconds, None)
    axis, last = divided_axis(shape), len(shape) - 1
    is_shared = shares_items(shape[axis], nanoseconds, shape, threshold)
    vectors = interleaved(nanoseconds, shape[-1])
    chunk = nest_chunk(nanoseconds, shape)
    return Parallelism(nanoseconds, last, vectors, axis if is_shared else None, chunk=chunk)


def all_as_one(nanoseconds: float, size: object, threshold: int) -> Parallelism:
    """How one loop over all elements in row-major order runs."""
    about = size if isinstance(size, int) else _ASSUMED_ELEMENTS
    is_shared = _can_share(size, CACHE_LINE_ELEMENTS) and 0 < threshold <= about * nanoseconds
    vectors, shared_axis = interleaved(nanoseconds, size), 0 if is_shared else None
    chunk = nest_chunk(nanoseconds, (size,))
    return Parallelism(nanoseconds, None, vectors, shared_axis, chunk=chunk)


def shares_items(count: object, nanoseconds: float, size: Sequence[object], threshold: int) -> bool:
    """Whether threads share items; the elements are the product of `size`, or the items."""
    if threshold <= 0 or not _can_share(count, 1):
        return False
    if not size:
        about = count if isinstance(count, int) else _ASSUMED_ELEMENTS
    else:
        about = prod(each if isinstance(each, int) else _ASSUMED_EXTENT for each in size)
    return threshold <= about * nanoseconds


def _can_share(count: object, least: int) -> bool:
    """Whether two threads have something to do, in multiples of `least`."""
    return not isinstance(count, int) or count >= 2 * least


def interleaved(nanoseconds: float, length: object) -> int:
    """How many vectors of a row are computed independently.

    A chain of dependent functions exceeds the processor's out-of-order window. In a chain of ten
    `tanh` over 262,144 elements each takes 0.85 nanoseconds one element at a time, 0.51 with two,
    0.30 with four, 0.29 with eight.
    """
    is_worth_it = nanoseconds >= _MIN_INTERLEAVED_NS and interleaves(length)
    return INTERLEAVED_ELEMENTS if is_worth_it else 1


def _is_flat(nodes: Sequence[Node], order: MemoryOrder) -> bool:
    """Whether one loop runs over the row-major positions of all elements."""
    if not all(isinstance(node.op, Elementwise) for node in nodes):
        return False
    outside = {o for node in nodes for o in node.operands if o not in nodes}
    return all(o.is_single or (is_same_size(o, nodes[0]) and order.is_flat(o)) for o in outside)

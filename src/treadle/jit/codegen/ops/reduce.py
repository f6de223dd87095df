"""Reductions: unrolled over registers, else loops with an accumulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer, Flat, Indices
from treadle.jit.codegen.chunks import long_axis_in_chunks, moved_along
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index, i64
from treadle.jit.codegen.iteration_space import each_index
from treadle.jit.codegen.llvm_types import I32, register_type, undefined
from treadle.jit.codegen.ops.blocked_sum import summed_in_blocks
from treadle.jit.codegen.ops.indexed_extremes import search_along_result, searched_row
from treadle.jit.codegen.ops.reduced_element import (
    combine,
    fused_sum,
    neutral,
    source_index,
)
from treadle.jit.codegen.ops.short_rows import reduce_short_rows
from treadle.jit.codegen.parallel import parallel_nest, row_hints
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import Node, Reduce, op_of, static_shape
from treadle.jit.schedule.steps.chunks import divided_axis
from treadle.jit.schedule.steps.forms import PARTIAL_SUMS, Form, StepForm
from treadle.jit.schedule.steps.indexed_extremes import Search
from treadle.jit.schedule.storage import Storage

Visit = Callable[[Indices], None]
"""Called for each element of the operand, once it is read."""


def _ignored(_index: Indices) -> None:
    """Do nothing."""


@dataclass(frozen=True, eq=False, slots=True)
class _Reduction:
    """A reduction that is emitted in a form."""

    context: CodegenContext
    node: Node
    form: StepForm
    visit: Visit

    @property
    def op(self) -> Reduce:
        """The operation."""
        return op_of(self.node, Reduce)

    @property
    def over(self) -> list[Index]:
        """The extents of the reduced axes."""
        shape = self.node.operands[0].shape
        if self.form.joins_axes:
            return [prod(static_shape(self.node.operands[0])[axis] for axis in self.op.axes)]
        return [self.context.access.extent(shape[axis]) for axis in self.op.axes]

    def operand_index(self, kept: Sequence[Index], over: Sequence[Index]) -> Indices:
        """The operand's index for an element of the result and an index of the reduced axes."""
        if not self.form.joins_axes:
            return source_index(self.node, kept, over)
        source = static_shape(self.node.operands[0])
        before = len(source) - len(self.op.axes)
        access, w = self.context.access, self.context.builder
        (count,), (inner,) = self.over, over
        first = access.flat(kept[:before], source[:before])
        return Flat(w.add(w.multiply(first, count), inner))

    def read(self, index: Indices) -> Any:
        """An element of the operand."""
        return self.context.access.read(self.node.operands[0], index)

    def combined(self, left: Any, right: Any) -> Any:
        """Two elements or results in one."""
        return combine(self.context.builder, self.op.function, self.node.dtype, left, right)

    @property
    def is_sum(self) -> bool:
        """Whether it adds floats that are not rounded after each step."""
        return self.op.function == "add" and self.node.dtype in (DType.FLOAT32, DType.FLOAT64)

    @property
    def neutral(self) -> Any:
        """The result of no elements."""
        return neutral(self.op.function, self.node.dtype)


def emit_reduce(context: CodegenContext, node: Node, visit: Visit = _ignored) -> None:
    """The reduction, into registers or memory, in the form that the schedule says.

    `visit` is called for each element of the operand that is added to its row, or by itself.
    """
    found, access = _Reduction(context, node, context.schedule.form_of(node), visit), context.access
    if access.storage_of(node) is Storage.REGISTERS:
        indices = product(*map(range, static_shape(node)))
        access.keep(node, [_one(found, index) for index in indices])
        return
    buffer = allocate(context, node)
    _FORMS.get(found.form.form, _each)(found, buffer)
    access.buffers[node] = buffer


def _each(found: _Reduction, buffer: Buffer) -> None:
    access, loops = found.context.access, found.context.schedule.parallelism_of(found.node)
    with each_index(found.context, access.shape(found.node), loops) as own:
        access.store(buffer, own, _one(found, own))


def _one(found: _Reduction, kept: Sequence[Index]) -> Any:
    if found.form.form is Form.INDEXED:
        return searched_row(found.context, found.node, kept, _search(found))
    if found.form.form in _WRITTEN:
        return _written(found, kept)
    if found.form.in_blocks:
        polls, sum_of = found.form.chunk is not None, partial(_block_sum, found, kept)
        return summed_in_blocks(found.context, found.node.dtype, found.over, sum_of, polls=polls)
    return _accumulated(found, found.over, [partial(found.operand_index, kept)])[0]


def _block_sum(
    found: _Reduction,
    kept: Sequence[Index],
    around: Sequence[Index],
    first: Index,
    count: Index,
) -> Any:
    def index_in_block(inner: Sequence[Index]) -> Indices:
        moved = found.context.builder.add(first, inner[0])
        return found.operand_index(kept, (*around, moved))

    part = replace(found, form=replace(found.form, chunk=None))  # each block has a safepoint
    return _accumulated(part, [count], [index_in_block])[0]


def _neighbours(found: _Reduction, buffer: Buffer) -> None:
    """The elements along the short last axis of the result together: one pass over the operand."""
    context, node = found.context, found.node
    *shape, last = context.access.shape(node)
    assert isinstance(last, int)
    with each_index(context, shape, context.schedule.parallelism_of(node)) as own:
        places = [partial(source_index, node, (*own, k)) for k in range(last)]
        for k, total in enumerate(_accumulated(found, found.over, places)):
            context.access.store(buffer, (*own, k), total)


def _accumulated(
    found: _Reduction,
    over: Sequence[Index],
    places: Sequence[Callable[[Sequence[Index]], Indices]],
) -> list[Any]:
    """Accumulate the elements within the extents, for each index of the result in `places`.

    LLVM vectorizes the loop.
    """
    context, type_ = found.context, register_type(found.node.dtype)
    totals = [context.builder.variable(type_, found.neutral) for _ in places]
    hints: list[str] = []
    if found.form.in_vectors:
        count = found.form.interleaved
        hints = ["unroll.disable", *[f"interleave.count={count}"] * (count > 1)]
    with (
        long_axis_in_chunks(context, over, found.form.chunk) as (axis, first, extents),
        context.builder.nest(extents, hints) as inner,
        context.access.scope(),
    ):
        index = moved_along(context, inner, axis, first)
        for total, place in zip(totals, places, strict=True):
            element = found.read(place(index))
            before = context.builder.builder.load(total, typ=type_)
            context.builder.builder.store(found.combined(before, element), total)
            found.visit(place(index))
    return [context.builder.builder.load(total, typ=type_) for total in totals]


def _written(found: _Reduction, kept: Sequence[Index]) -> Any:
    """The terms written out: as one vector, or combined in parts and these by pairs."""
    context, node, function = found.context, found.node, found.op.function
    over = (range(static_shape(node.operands[0])[axis]) for axis in found.op.axes)
    elements = [found.read(source_index(node, kept, inner)) for inner in product(*over)]
    if found.form.form is Form.VECTOR:
        return _added(context, elements)

    def combined(left: Any, right: Any) -> Any:
        if found.is_sum:
            return fused_sum(context.builder, left, right)
        types = (node.dtype, node.dtype), node.dtype
        return functions.apply(context.builder, function, *types, left, right)

    parts = PARTIAL_SUMS if found.form.form is Form.PARTS else 1
    sums = [reduce(combined, elements[k::parts]) for k in range(min(parts, len(elements)))]
    while len(sums) > 1:
        sums = [combined(*pair) for pair in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0] if sums else found.neutral


def _added(context: CodegenContext, elements: Sequence[Any]) -> Any:
    """The sum of the elements as a vector, in any order."""
    b, type_ = context.builder.builder, elements[0].type
    vector = llvm.VectorType(type_, len(elements))
    whole: Any = undefined(vector)
    for number, element in enumerate(elements):
        whole = b.insert_element(whole, element, llvm.Constant(I32, number))
    add = context.builder.external(f"llvm.vector.reduce.fadd.{i64(vector)}", type_, type_, vector)
    return b.call(add, [llvm.Constant(type_, -0.0), whole], fastmath=("reassoc",))


def _by_rows(found: _Reduction, buffer: Buffer) -> None:
    """Reduced axes outside, the result's inside: whole rows are added, several at a time.

    Threads share the result by parts.
    """
    context = found.context
    shape, loops = context.access.shape(found.node), context.schedule.parallelism_of(found.node)
    axis = divided_axis(shape)
    with (
        long_axis_in_chunks(context, shape, loops.chunk) as (_axis, start, extents),
        parallel_nest(context, extents[axis], loops, size=extents) as (first, count),
    ):
        own = (*extents[:axis], count, *extents[axis + 1 :])
        moved = partial(moved_along, context, axis=axis, first=context.builder.add(start, first))
        _add_all(found, buffer, _Part(own, moved))


class _Part(NamedTuple):
    """The part of a result being written, and where an index of it is in the whole result."""

    shape: Sequence[Index]
    place: Callable[[Sequence[Index]], tuple[Index, ...]]


def _add_all(found: _Reduction, buffer: Buffer, part: _Part) -> None:
    *outer, last = found.over
    w, together = found.context.builder, found.form.together
    with w.nest(part.shape) as index:
        found.context.access.store(buffer, part.place(index), found.neutral)
    full, rest = w.split(last, together)
    with w.nest(outer) as around:
        if full != 0:
            with w.range(full) as number:
                first = w.multiply(number, together)
                rows = [(*around, w.add(first, k)) for k in range(together)]
                _add_rows(found, buffer, part, rows)
        if not isinstance(rest, int):
            done = w.multiply(full, together)
            with w.range(rest) as number:
                _add_rows(found, buffer, part, [(*around, w.add(done, number))])
        elif rest:
            rows = [(*around, full * together + k) for k in range(rest)]
            _add_rows(found, buffer, part, rows)


def _add_rows(found: _Reduction, buffer: Buffer, part: _Part, rows: Sequence[Any]) -> None:
    access = found.context.access
    loops = found.context.schedule.parallelism_of(found.node)
    hints = row_hints(loops, part.shape[-1]) if part.shape else ()
    with found.context.builder.nest(part.shape, hints) as own, access.scope():
        index = part.place(own)
        places = [source_index(found.node, index, row) for row in rows]
        values = [found.read(place) for place in places]
        half = (len(values) + 1) // 2
        parts = [[access.load(buffer, index), *values[:half]], values[half:]]
        sums = [reduce(found.combined, part) for part in parts if part]
        access.store(buffer, index, reduce(found.combined, sums))
        for place in places:
            found.visit(place)


def _indexed_rows(found: _Reduction, buffer: Buffer) -> None:
    search_along_result(found.context, found.node, buffer, _search(found))


def _short_rows(found: _Reduction, buffer: Buffer) -> None:
    lanes = found.form.together
    reduce_short_rows(found.context, found.node, buffer, lanes, found.combined)


def _search(found: _Reduction) -> Search:
    assert found.form.search is not None, "a form with a search"
    return found.form.search


_FORMS = {
    Form.NEIGHBOURS: _neighbours,
    Form.ROWS: _by_rows,
    Form.SHORT_ROWS: _short_rows,
    Form.INDEXED_ROWS: _indexed_rows,
}
_WRITTEN = Form.WRITTEN, Form.VECTOR, Form.PARTS

"""Reductions: unrolled over registers, else loops with an accumulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import product
from typing import Any, NamedTuple

from llvmlite import ir as llvm

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.chunks import long_axis_in_chunks, moved_along
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index, i64
from treadle.jit.codegen.iteration_space import each_index
from treadle.jit.codegen.llvm_types import I32, register_type, undefined
from treadle.jit.codegen.ops.blocked_sum import summed_in_blocks
from treadle.jit.codegen.ops.reduced_element import combine, neutral, source_index
from treadle.jit.codegen.parallel import parallel_nest
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import Node, Reduce, op_of, static_shape
from treadle.jit.schedule.steps.chunks import divided_axis
from treadle.jit.schedule.steps.forms import PARTIAL_SUMS, Form, StepForm
from treadle.jit.schedule.storage import Storage


def emit_reduce(context: CodegenContext, node: Node) -> None:
    """The reduction, into registers or memory, in the form that the schedule says."""
    op, t, found = op_of(node, Reduce), context.access, context.schedule.form_of(node)
    if t.storage_of(node) is Storage.REGISTERS:
        indices = product(*map(range, static_shape(node)))
        t.keep(node, [_one(context, node, op, found, index) for index in indices])
        return
    buffer = allocate(context, node)
    _FORMS.get(found.form, _each)(context, node, op, buffer, found)
    t.buffers[node] = buffer


def _each(context: CodegenContext, node: Node, op: Reduce, buffer: Any, found: StepForm) -> None:
    loops = context.schedule.parallelism_of(node)
    with each_index(context, context.access.shape(node), loops) as own:
        context.access.store(buffer, own, _one(context, node, op, found, own))


def _one(
    context: CodegenContext, node: Node, op: Reduce, found: StepForm, kept: Sequence[Index]
) -> Any:
    if found.form in _WRITTEN:
        return _written(context, node, op, found, kept)
    over = [context.access.extent(node.operands[0].shape[axis]) for axis in op.axes]
    if found.in_blocks:
        polls = found.chunk is not None
        sum_of = partial(_block_sum, context, node, op, found, kept)
        return summed_in_blocks(context, node.dtype, over, sum_of, polls=polls)
    return _accumulated(context, node, op, found, over, [partial(source_index, node, kept)])[0]


def _block_sum(
    context: CodegenContext,
    node: Node,
    op: Reduce,
    found: StepForm,
    kept: Sequence[Index],
    around: Sequence[Index],
    first: Index,
    count: Index,
) -> Any:
    def index_in_block(inner: Sequence[Index]) -> tuple[Index, ...]:
        return source_index(node, kept, (*around, context.builder.add(first, inner[0])))

    part = replace(found, chunk=None)  # a safepoint stands before each block
    return _accumulated(context, node, op, part, [count], [index_in_block])[0]


def _neighbours(
    context: CodegenContext, node: Node, op: Reduce, buffer: Any, found: StepForm
) -> None:
    """The elements along the short last axis of the result together: one pass over the operand."""
    *shape, last = context.access.shape(node)
    assert isinstance(last, int)
    loops = context.schedule.parallelism_of(node)
    over = [context.access.extent(node.operands[0].shape[axis]) for axis in op.axes]
    with each_index(context, shape, loops) as own:
        places = [partial(source_index, node, (*own, k)) for k in range(last)]
        for k, total in enumerate(_accumulated(context, node, op, found, over, places)):
            context.access.store(buffer, (*own, k), total)


def _accumulated(
    context: CodegenContext,
    node: Node,
    op: Reduce,
    found: StepForm,
    over: Sequence[Index],
    places: Sequence[Callable[[Sequence[Index]], tuple[Index, ...]]],
) -> list[Any]:
    """Accumulate the elements within the extents, for each index of the result in `places`.

    LLVM vectorizes the loop.
    """
    t, function, dtype = context.access, op.function, node.dtype
    type_ = register_type(dtype)
    totals = [context.builder.variable(type_, neutral(function, dtype)) for _ in places]
    hints = ("unroll.disable",) if found.in_vectors else ()
    with (
        long_axis_in_chunks(context, over, found.chunk) as (axis, first, extents),
        context.builder.nest(extents, hints) as inner,
        t.scope(),
    ):
        index = moved_along(context, inner, axis, first)
        for total, place in zip(totals, places, strict=True):
            element = t.read(node.operands[0], place(index))
            before = context.builder.builder.load(total, typ=type_)
            context.builder.builder.store(
                combine(context.builder, function, dtype, before, element), total
            )
    return [context.builder.builder.load(total, typ=type_) for total in totals]


def _written(
    context: CodegenContext, node: Node, op: Reduce, found: StepForm, kept: Sequence[Index]
) -> Any:
    """The terms written out: as one vector, or combined in parts and these by pairs."""
    over = (range(static_shape(node.operands[0])[axis]) for axis in op.axes)
    indices = (source_index(node, kept, inner) for inner in product(*over))
    elements = [context.access.read(node.operands[0], index) for index in indices]
    if found.form is Form.VECTOR:
        return _added(context, elements)

    def combined(left: Any, right: Any) -> Any:
        types = (node.dtype, node.dtype), node.dtype
        return functions.apply(context.builder, op.function, *types, left, right)

    parts = PARTIAL_SUMS if found.form is Form.PARTS else 1
    sums = [reduce(combined, elements[k::parts]) for k in range(min(parts, len(elements)))]
    while len(sums) > 1:
        sums = [combined(*pair) for pair in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0] if sums else neutral(op.function, node.dtype)


def _added(context: CodegenContext, elements: Sequence[Any]) -> Any:
    """The sum of the elements as a vector, in any order."""
    b, type_ = context.builder.builder, elements[0].type
    vector = llvm.VectorType(type_, len(elements))
    whole: Any = undefined(vector)
    for number, element in enumerate(elements):
        whole = b.insert_element(whole, element, llvm.Constant(I32, number))
    add = context.builder.external(f"llvm.vector.reduce.fadd.{i64(vector)}", type_, type_, vector)
    return b.call(add, [llvm.Constant(type_, -0.0), whole], fastmath=("reassoc",))


def _by_rows(context: CodegenContext, node: Node, op: Reduce, buffer: Any, form: StepForm) -> None:
    """Reduced axes outside, the result's inside: whole rows are added, several at a time.

    Threads share the result by parts.
    """
    shape, found = context.access.shape(node), context.schedule.parallelism_of(node)
    axis = divided_axis(shape)
    with (
        long_axis_in_chunks(context, shape, found.chunk) as (_axis, start, extents),
        parallel_nest(context, extents[axis], found, size=extents) as (first, count),
    ):
        own = (*extents[:axis], count, *extents[axis + 1 :])
        moved = partial(moved_along, context, axis=axis, first=context.builder.add(start, first))
        _add_all(context, node, op, buffer, _Part(own, moved), form.together)


class _Part(NamedTuple):
    """The part of a result being written, and where an index of it is in the whole result."""

    shape: Sequence[Index]
    place: Callable[[Sequence[Index]], tuple[Index, ...]]


def _add_all(
    context: CodegenContext, node: Node, op: Reduce, buffer: Any, part: _Part, together: int
) -> None:
    *outer, last = [context.access.extent(node.operands[0].shape[axis]) for axis in op.axes]
    w = context.builder
    with w.nest(part.shape) as index:
        context.access.store(buffer, part.place(index), neutral(op.function, node.dtype))
    full, rest = w.split(last, together)
    with w.nest(outer) as around:
        if full != 0:
            with w.range(full) as number:
                first = w.multiply(number, together)
                rows = [(*around, w.add(first, k)) for k in range(together)]
                _add_rows(context, node, op, buffer, part, rows)
        if not isinstance(rest, int):
            done = w.multiply(full, together)
            with w.range(rest) as number:
                _add_rows(context, node, op, buffer, part, [(*around, w.add(done, number))])
        elif rest:
            rows = [(*around, full * together + k) for k in range(rest)]
            _add_rows(context, node, op, buffer, part, rows)


def _add_rows(
    context: CodegenContext, node: Node, op: Reduce, buffer: Any, part: _Part, rows: Sequence[Any]
) -> None:
    t, args = context.access, (op.function, node.dtype)
    with context.builder.nest(part.shape) as own, t.scope():
        index = part.place(own)
        values = [t.read(node.operands[0], source_index(node, index, row)) for row in rows]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [combine(context.builder, *args, *pair) for pair in pairs] + values[
                len(values) & ~1 :
            ]
        t.store(buffer, index, combine(context.builder, *args, t.load(buffer, index), values[0]))


_FORMS = {Form.NEIGHBOURS: _neighbours, Form.ROWS: _by_rows}
_WRITTEN = Form.WRITTEN, Form.VECTOR, Form.PARTS

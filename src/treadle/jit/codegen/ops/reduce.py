"""Reductions: unrolled over registers, else loops with an accumulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.chunks import long_axis_in_chunks, moved_along
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index, i64
from treadle.jit.codegen.iteration_space import each_index
from treadle.jit.codegen.llvm_types import I32, register_type, undefined
from treadle.jit.codegen.ops.blocked_sum import is_long_sum, summed_in_blocks
from treadle.jit.codegen.ops.reduced_element import combine, neutral, source_index
from treadle.jit.codegen.parallel import parallel_nest
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel import costs
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Node, Reduce, op_of, static_shape
from treadle.jit.schedule.parallelism import divided_axis
from treadle.jit.schedule.steps.forms import Form
from treadle.jit.schedule.storage import Storage

_UNROLLED_ROWS = 8
_PARTIAL_SUMS = 8
"""The sums that a long sum in registers begins with, so that it keeps its precision."""
_MIN_VECTOR_EXTENT = 8
"""Extent of an axis from which it is computed in vectors."""


def emit_reduce(context: CodegenContext, node: Node) -> None:
    """The reduction, into registers or memory."""
    op, t = op_of(node, Reduce), context.access
    if t.storage_of(node) is Storage.REGISTERS:
        indices = product(*map(range, static_shape(node)))
        t.keep(node, [_one(context, node, op, index) for index in indices])
        return
    buffer = allocate(context, node)
    _FORMS[context.schedule.form_of(node)](context, node, op, buffer)
    t.buffers[node] = buffer


def _each(context: CodegenContext, node: Node, op: Reduce, buffer: Any) -> None:
    found = context.schedule.parallelism_of(node)
    with each_index(context, context.access.shape(node), found) as own:
        context.access.store(buffer, own, _one(context, node, op, own))


def _one(context: CodegenContext, node: Node, op: Reduce, kept: Sequence[Index]) -> Any:
    operand = node.operands[0]
    t, function, dtype = context.access, op.function, node.dtype
    if t.storage_of(operand) is Storage.REGISTERS and all(isinstance(each, int) for each in kept):
        return _unrolled(context, node, op, kept, [static_shape(operand)[axis] for axis in op.axes])
    over = [t.extent(operand.shape[axis]) for axis in op.axes]
    if is_long_sum(function, dtype, over):
        return summed_in_blocks(context, dtype, over, partial(_block_sum, context, node, op, kept))
    return _accumulated(context, node, op, over, [partial(source_index, node, kept)])[0]


def _block_sum(
    context: CodegenContext,
    node: Node,
    op: Reduce,
    kept: Sequence[Index],
    around: Sequence[Index],
    first: Index,
    count: Index,
) -> Any:
    def index_in_block(inner: Sequence[Index]) -> tuple[Index, ...]:
        return source_index(node, kept, (*around, context.builder.add(first, inner[0])))

    return _accumulated(context, node, op, [count], [index_in_block])[0]


def _neighbours(context: CodegenContext, node: Node, op: Reduce, buffer: Any) -> None:
    """The elements along the short last axis of the result together: one pass over the operand."""
    *shape, last = context.access.shape(node)
    assert isinstance(last, int)
    found = context.schedule.parallelism_of(node)
    over = [context.access.extent(node.operands[0].shape[axis]) for axis in op.axes]
    axis = found.shared_axis if shape else None
    found = replace(found, nanoseconds=last * found.nanoseconds, shared_axis=axis)
    with each_index(context, shape, found) as own:
        places = [partial(source_index, node, (*own, k)) for k in range(last)]
        for k, total in enumerate(_accumulated(context, node, op, over, places)):
            context.access.store(buffer, (*own, k), total)


def _accumulated(
    context: CodegenContext,
    node: Node,
    op: Reduce,
    over: Sequence[Index],
    places: Sequence[Callable[[Sequence[Index]], tuple[Index, ...]]],
) -> list[Any]:
    """Accumulate the elements within the extents, for each index of the result in `places`.

    LLVM vectorizes the loop.
    """
    t, function, dtype = context.access, op.function, node.dtype
    type_ = register_type(dtype)
    totals = [context.builder.variable(type_, neutral(function, dtype)) for _ in places]
    is_wide = bool(over) and (not isinstance(over[-1], int) or over[-1] >= _MIN_VECTOR_EXTENT)
    hints = ("unroll.disable",) if is_wide else ()
    with (
        long_axis_in_chunks(context, over, costs.SUMMED) as (axis, first, extents),
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


def _unrolled(
    context: CodegenContext, node: Node, op: Reduce, kept: Sequence[Index], over: Sequence[int]
) -> Any:
    indices = (source_index(node, kept, inner) for inner in product(*map(range, over)))
    elements = [context.access.read(node.operands[0], index) for index in indices]
    is_long_sum_of_floats = len(elements) >= _MIN_VECTOR_EXTENT and (
        op.function == "add" and is_float(node.dtype)
    )
    if is_long_sum_of_floats and node.home not in context.vectorized:
        return _added(context, elements)

    def combined(left: Any, right: Any) -> Any:
        types = (node.dtype, node.dtype), node.dtype
        return functions.apply(context.builder, op.function, *types, left, right)

    parts = _PARTIAL_SUMS if is_long_sum_of_floats else 1
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


def _by_rows(context: CodegenContext, node: Node, op: Reduce, buffer: Any) -> None:
    """Reduced axes outside, the result's inside: whole rows are added, several at a time.

    Threads share the result by parts.
    """
    shape, found = context.access.shape(node), context.schedule.parallelism_of(node)
    axis = divided_axis(shape)
    with (
        long_axis_in_chunks(context, shape, found.nanoseconds, axis) as (_, start, extents),
        parallel_nest(context, extents[axis], found, size=extents) as part,
    ):
        first, count = part
        own = (*extents[:axis], count, *extents[axis + 1 :])
        _add_all(context, node, op, buffer, _Part(axis, context.builder.add(start, first), own))


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """The part of a result being written: along an axis, from `first` on."""

    axis: int
    first: Index
    shape: Sequence[Index]

    def storage_of(self, context: CodegenContext, index: Sequence[Index]) -> tuple[Index, ...]:
        """The position of an index of the part in the whole result."""
        own = context.builder.add(self.first, index[self.axis])
        return (*index[: self.axis], own, *index[self.axis + 1 :])


def _add_all(context: CodegenContext, node: Node, op: Reduce, buffer: Any, part: _Part) -> None:
    *outer, last = [context.access.extent(node.operands[0].shape[axis]) for axis in op.axes]
    with context.builder.nest(part.shape) as index:
        context.access.store(
            buffer, part.storage_of(context, index), neutral(op.function, node.dtype)
        )
    full, rest = context.builder.split(last, _UNROLLED_ROWS)
    with context.builder.nest(outer) as around:
        if full != 0:
            with context.builder.range(full) as number:
                first = context.builder.multiply(number, _UNROLLED_ROWS)
                rows = [(*around, context.builder.add(first, k)) for k in range(_UNROLLED_ROWS)]
                _add_rows(context, node, op, buffer, part, rows)
        if not isinstance(rest, int):
            done = context.builder.multiply(full, _UNROLLED_ROWS)
            with context.builder.range(rest) as number:
                _add_rows(
                    context, node, op, buffer, part, [(*around, context.builder.add(done, number))]
                )
        elif rest:
            rows = [(*around, full * _UNROLLED_ROWS + k) for k in range(rest)]
            _add_rows(context, node, op, buffer, part, rows)


def _add_rows(
    context: CodegenContext, node: Node, op: Reduce, buffer: Any, part: _Part, rows: Sequence[Any]
) -> None:
    t, args = context.access, (op.function, node.dtype)
    with context.builder.nest(part.shape) as own, t.scope():
        index = part.storage_of(context, own)
        values = [t.read(node.operands[0], source_index(node, index, row)) for row in rows]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            values = [combine(context.builder, *args, *pair) for pair in pairs] + values[
                len(values) & ~1 :
            ]
        t.store(buffer, index, combine(context.builder, *args, t.load(buffer, index), values[0]))


_FORMS = {Form.EACH: _each, Form.NEIGHBOURS: _neighbours, Form.ROWS: _by_rows}

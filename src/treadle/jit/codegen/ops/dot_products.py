"""Few rows times a transposed matrix: dot products along the rows of the matrix as it is stored.

    result[..., row, column] = left[..., row, :] @ matrix[..., column, :]

Nothing is transposed, which for one row takes longer than the product. Several dot products run
side by side; the lanes of all are added at their end. One row times 512 x 512 takes 14 us where
transposing takes 54 more (one thread, Zen 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, cast

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.buffer import Buffer, dense_strides
from treadle.jit.codegen.chunks import in_chunks
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index, i64
from treadle.jit.codegen.llvm_types import literal, register_type
from treadle.jit.codegen.ops.lane_sums import lane_sums
from treadle.jit.codegen.ops.matmul_microkernel import masked_load
from treadle.jit.codegen.ops.vector_product import multiply_add
from treadle.jit.codegen.parallel import parallel_range
from treadle.jit.kernel.ir import MatMul, Node, op_of
from treadle.jit.schedule.steps.products import Dots


@dataclass(frozen=True, eq=False, slots=True)
class _Dots:
    """The dot products of `rows` rows of a batch; `lanes` terms of each are added at once.

    The sums of `as_vector` columns are stored as a vector; 0: each by itself.
    """

    op: MatMul
    dtype: DType
    batch: tuple[Index, ...]
    rows: int
    inner: int
    lanes: int
    left: Buffer
    matrix: Node
    result: Buffer
    as_vector: int

    @property
    def vector(self) -> Any:
        return llvm.VectorType(register_type(self.dtype), self.lanes)


def emit_dot_products(context: CodegenContext, node: Node, found: Dots, result: Buffer) -> None:
    """Emit the product to memory; threads share the columns."""
    *batches, rows, columns = context.access.shape(node)
    operand, (*outer, _, inner) = node.operands[0], found.matrix.shape
    shape = tuple(cast(int, extent) for extent in (*outer, rows, inner))
    left = _copied(context, operand, shape) if found.copies_left else context.access.buffer(operand)
    full, rest = context.builder.split(columns, found.together)
    with context.builder.nest(batches) as batch, context.access.scope():
        dots = _Dots(
            op_of(node, MatMul), node.dtype, tuple(batch), shape[-2], shape[-1], found.lanes,
            left, found.matrix, result, found.together * found.stores_vectors,
        )  # fmt: skip
        _emit_columns(context, dots, found, full, rest)


def _emit_columns(
    context: CodegenContext, dots: _Dots, found: Dots, full: Index, rest: Index
) -> None:
    """All columns: some at once, `full` times, and the `rest`, one by one if it is not known."""
    at_once = found.together
    if full != 0:
        row = dots.rows, dots.inner, at_once
        with in_chunks(context, full, row, found.chunk) as (first, count):
            size = dots.rows, dots.inner, context.builder.multiply(count, at_once)
            with parallel_range(context, count, found.sharing, size) as number:
                own = context.builder.add(first, number)
                _emit(context, dots, context.builder.multiply(own, at_once), at_once)
    done = context.builder.multiply(full, at_once)
    if not isinstance(rest, int):
        with context.builder.range(rest) as number, context.access.scope():
            _emit(context, dots, context.builder.add(done, number), 1)
    elif rest:
        _emit(context, dots, done, rest)


def _copied(context: CodegenContext, left: Node, shape: tuple[int, ...]) -> Buffer:
    """A copy of the left operand, which may not know its shape by itself."""
    access = context.access
    pointer = access.slots.workspace(prod(shape) * left.dtype.numpy.itemsize)
    copy = Buffer(pointer, left.dtype, dense_strides(shape), access.aliases.fresh())
    with context.builder.nest(shape) as index, access.scope():
        access.store(copy, index, access.read(left, index))
    return copy


def _emit(context: CodegenContext, dots: _Dots, column: Index, count: int) -> None:
    """The dot products of all rows with `count` rows of the matrix from `column` on."""
    builder = context.builder
    zero = llvm.Constant(dots.vector, None)
    totals = [[builder.variable(dots.vector, zero) for _ in range(count)] for _ in range(dots.rows)]
    full, rest = divmod(dots.inner, dots.lanes)
    with builder.range(full) as number, context.access.scope():
        _add(context, dots, column, builder.multiply(number, dots.lanes), dots.lanes, totals)
    if rest:
        _add(context, dots, column, full * dots.lanes, rest, totals)
    for row, own in enumerate(totals):
        _store(context, dots, (*dots.batch, row, column), own)


def _store(context: CodegenContext, dots: _Dots, index: tuple[Index, ...], totals: Any) -> None:
    """Store the sums of lanes from an index on: side by side, where their number allows it."""
    w, b, count = context.builder, context.builder.builder, len(totals)

    def loaded(number: int) -> Any:
        return b.load(totals[number], typ=dots.vector)

    if count == dots.as_vector:
        sums = lane_sums(w, count, loaded, partial(b.fadd, flags=("reassoc",)))
        address, size = context.access.address(dots.result, index), dots.dtype.numpy.itemsize
        context.access.aliases.mark(b.store(sums, address, align=size), dots.result.scope)
        return
    *own, column = index
    for number in range(count):
        total = _sum_of_lanes(context, dots, loaded(number))
        context.access.store(dots.result, (*own, w.add(column, number)), total)


def _add(
    context: CodegenContext, dots: _Dots, column: Index, first: Index, count: int, totals: Any
) -> None:
    """Add `count` terms, from `first` on, to every sum."""
    access, b = context.access, context.builder.builder
    scope = access.scope_of(dots.matrix)
    places = ((*dots.batch, row, first) for row in range(dots.rows))
    lefts = [
        _loaded(context, dots, access.address(dots.left, place), dots.left.scope, count)
        for place in places
    ]
    for number in range(len(totals[0])):
        own = (*dots.batch, context.builder.add(column, number), first)
        address = access.located(dots.matrix, own)
        factor = _loaded(context, dots, address, scope, count)
        for left, sums in zip(lefts, totals, strict=True):
            before = b.load(sums[number], typ=dots.vector)
            b.store(multiply_add(context, dots.op, dots.dtype, left, factor, before), sums[number])


def _loaded(context: CodegenContext, dots: _Dots, address: Any, scope: str, count: int) -> Any:
    """A vector of terms; lanes from `count` on are 0."""
    if count < dots.lanes:
        loaded = masked_load(context, dots.dtype, address, dots.vector, count)
    else:
        loaded = context.builder.builder.load(
            address, typ=dots.vector, align=dots.dtype.numpy.itemsize
        )
    context.access.aliases.mark(loaded, scope)
    return loaded


def _sum_of_lanes(context: CodegenContext, dots: _Dots, lanes: Any) -> Any:
    type_ = dots.vector.element
    name = f"llvm.vector.reduce.fadd.{i64(dots.vector)}"
    add = context.builder.external(name, type_, type_, dots.vector)
    return context.builder.builder.call(add, [literal(dots.dtype, 0), lanes], fastmath=("reassoc",))

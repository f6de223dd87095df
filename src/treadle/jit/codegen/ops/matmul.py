"""Matrix products, each in the way that `schedule/steps/products.py` has decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import pairwise, product
from typing import Any

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.chunks import in_chunks
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I1, literal, register_type
from treadle.jit.codegen.ops import batched_matmul, dot_products
from treadle.jit.codegen.ops.matmul_microkernel import emit_product
from treadle.jit.codegen.ops.vector_product import Product, added, multiply_add, row_reader
from treadle.jit.codegen.parallel import parallel_indices
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import MatMul, Node, op_of, static_shape
from treadle.jit.schedule.distribution import Distribution
from treadle.jit.schedule.steps.products import Dots, Elements, InRegisters, Panels

_At = Callable[[tuple[Index, ...]], Any]


def emit_contract(context: CodegenContext, node: Node) -> None:
    """The product, into registers or memory, in the way that the schedule says."""
    found, t = context.schedule.products[node], context.access
    inner = t.extent(node.operands[0].shape[-1])
    if isinstance(found, InRegisters):
        element = partial(_dot, found=found) if found.sums else _looped
        each = product(*map(range, static_shape(node)))
        t.keep(node, [element(context, node, index, inner) for index in each])
        return
    distribution = context.schedule.distributed.get(node)
    if isinstance(found, Panels) and distribution is not None:
        _emit_ahead(context, node, found, distribution, inner)
        return
    buffer = allocate(context, node)
    match found:
        case Dots():
            dot_products.emit_dot_products(context, node, found, buffer)
        case Panels(otherwise=Dots() as dots):
            _emit_either(context, node, buffer, found, dots, inner)
        case Panels():
            _emit_by_rows(context, node, buffer, found, inner)
        case Elements():
            _emit_elements(context, node, buffer, found, inner)
    t.buffers[node] = buffer


def _emit_either(
    context: CodegenContext, node: Node, buffer: Buffer, found: Panels, dots: Dots, inner: Index
) -> None:
    """By panels if the matrix was packed, else as dot products."""
    is_packed = context.access.is_packed[node.operands[1]]
    with context.builder.builder.if_else(is_packed) as (packed, stored):
        with packed, context.access.scope():
            _emit_by_rows(context, node, buffer, found, inner)
        with stored, context.access.scope():
            dot_products.emit_dot_products(context, node, dots, buffer)


def _emit_elements(
    context: CodegenContext, node: Node, buffer: Buffer, found: Elements, inner: Index
) -> None:
    *batch, rows, columns = context.access.shape(node)
    with in_chunks(context, rows, (*batch, columns, inner), found.chunk) as (first, count):
        own = (*batch, count, columns)
        with parallel_indices(context, own, found.sharing) as (*outer, row, column):
            index = (*outer, context.builder.add(first, row), column)
            context.access.store(buffer, index, _looped(context, node, index, inner))


def _emit_by_rows(
    context: CodegenContext, node: Node, buffer: Buffer, found: Panels, inner: Index
) -> None:
    """By blocks of rows and columns; threads share the products, or the parts of a long one."""
    *batches, rows, columns = context.access.shape(node)
    assert isinstance(columns, int)
    if found.batches is not None:
        row = *batches[1:], rows, columns, inner
        with in_chunks(context, batches[0], row, found.chunk) as (first, count):
            own = count, *batches[1:]
            with parallel_indices(context, own, found.batches) as (number, *rest):
                batch = (context.builder.add(first, number), *rest)
                whole = (0, rows), (0, columns)
                emit_product(context, _product(context, node, buffer, batch, *whole, found))
        return
    with (
        context.builder.nest(batches) as batch,
        in_chunks(context, columns, (rows, inner), found.part) as part,
        in_chunks(context, rows, (part[1], inner), found.chunk) as chunk,
    ):
        emit_product(context, _product(context, node, buffer, batch, chunk, part, found))


def _emit_ahead(
    context: CodegenContext, node: Node, found: Panels, distribution: Distribution, inner: Index
) -> None:
    """Compute the products of many iterations when due; that of this iteration is among them."""
    made = batched_matmul.BatchedProducts(context, node, distribution)
    left, (right, scope) = node.operands[0], _right(context, node, found)
    with context.builder.builder.if_then(made.is_due()), context.access.scope():
        emit_product(context, Product(
            op_of(node, MatMul), node.dtype, made.count(),
            inner, static_shape(node)[-1],
            lambda row: made.row(left, row),
            lambda k, column: right((k, column)),
            lambda row, column: context.access.address(made.all, (row, column)),
            (scope, made.all.scope), found.panel, found,
            has_many_rows=True,
        ))  # fmt: skip
    context.access.buffers[node] = made.own(node)


def _product(
    context: CodegenContext,
    node: Node,
    buffer: Buffer,
    batch: Sequence[Index],
    chunk: tuple[Index, Index],
    part: tuple[Index, int],
    found: Panels,
) -> Product:
    left, (right, scope) = node.operands[0], _right(context, node, found)
    batch_of_right = _batch(node.operands[1], batch)
    (first, rows), (first_column, columns) = chunk, part

    def own(row: Index) -> Index:
        return context.builder.add(first, row)

    def moved(column: Index) -> Index:
        return context.builder.add(first_column, column)

    return Product(
        op_of(node, MatMul), node.dtype, rows, context.access.extent(left.shape[-1]), columns,
        lambda row: row_reader(context, left, (*_batch(left, batch), own(row))),
        lambda k, column: right((*batch_of_right, k, moved(column))),
        lambda row, column: context.access.address(buffer, (*batch, own(row), moved(column))),
        (scope, buffer.scope), found.panel if part[0] == 0 else min(found.panel, 1),
        found, _is_backward(context, node) if found.turns else None,
    )  # fmt: skip


def _right(context: CodegenContext, node: Node, found: Panels) -> tuple[_At, str]:
    """How to address the right operand, in packed panels or as it is stored; its alias scope."""
    access, right = context.access, node.operands[1]
    if found.panel:
        return partial(access.address, access.packed[right]), access.packed[right].scope
    return partial(access.located, right), access.scope_of(right)


def _is_backward(context: CodegenContext, node: Node) -> Any:
    """Whether this iteration runs backward: every second one does."""
    return context.builder.builder.trunc(
        context.builder.index(context.access.counters[node.home]), I1
    )


def _pair(node: Node, index: Sequence[Index], position: Index) -> tuple[Any, Any]:
    """The indices of the two factors of a term."""
    *batch, row, column = index
    left, right = node.operands
    return (*_batch(left, batch), row, position), (*_batch(right, batch), position, column)


def _batch(operand: Node, batch: Sequence[Index]) -> list[Index]:
    given = operand.shape[:-2]
    own = batch[len(batch) - len(given) :]
    return [0 if extent == 1 else i for extent, i in zip(given, own, strict=True)]


def _term(context: CodegenContext, node: Node, index: Sequence[Index], position: Index) -> Any:
    first, second = _pair(node, index, position)
    left, right = (
        context.access.read(node.operands[0], first),
        context.access.read(node.operands[1], second),
    )
    if is_float(node.dtype):
        return context.builder.builder.fmul(left, right, flags=("contract",))
    return multiply_add(
        context, op_of(node, MatMul), node.dtype, left, right, literal(node.dtype, 0)
    )


def _dot(
    context: CodegenContext, node: Node, index: Sequence[Index], inner: int, found: InRegisters
) -> Any:
    """One element of the product; long sums in parts, which the processor adds side by side."""
    if not inner:
        return literal(node.dtype, 0)
    terms = [k for k in range(inner) if k not in found.late]
    sums = min(found.sums, len(terms))
    ends = [len(terms) * number // sums for number in range(sums + 1)]
    parts = [_dot_of(context, node, index, terms[first:last]) for first, last in pairwise(ends)]
    late = (_term(context, node, index, k) for k in found.late)
    return reduce(partial(added, context, node.dtype, flags=("contract",)), [*parts, *late])


def _dot_of(
    context: CodegenContext, node: Node, index: Sequence[Index], positions: Sequence[int]
) -> Any:
    first, *rest = (_term(context, node, index, k) for k in positions)
    return reduce(partial(added, context, node.dtype, flags=("contract",)), rest, first)


def _looped(context: CodegenContext, node: Node, index: Sequence[Index], inner: Index) -> Any:
    type_ = register_type(node.dtype)
    total = context.builder.variable(type_, literal(node.dtype, 0))
    with context.builder.range(inner) as k, context.access.scope():
        before = context.builder.builder.load(total, typ=type_)
        term = _term(context, node, index, k)
        context.builder.builder.store(
            added(context, node.dtype, before, term, ("contract", "reassoc")), total
        )
    return context.builder.builder.load(total, typ=type_)

"""Matrix products.

Unrolled if the result and operands, or short sums, are in registers. If columns of the right
operand are contiguous in memory, blocks of rows and columns are kept in vector registers; few rows
times a transposed matrix are dot products (`dot_products.py`); the rest is computed element by
element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.chunks import columns_in_parts, in_chunks
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I1, literal, register_type
from treadle.jit.codegen.ops import batched_matmul, dot_products
from treadle.jit.codegen.ops.matmul_microkernel import emit_product
from treadle.jit.codegen.ops.vector_product import Product, row_reader
from treadle.jit.codegen.parallel import parallel_indices
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Node, static_shape
from treadle.jit.schedule.cost_model import is_long
from treadle.jit.schedule.distribution import Distribution
from treadle.jit.schedule.layouts.product_tiles import has_panels
from treadle.jit.schedule.steps.products import Panels
from treadle.jit.schedule.storage import Storage, stored_transpose

_MIN_HALVED = 4
"""The terms from which a sum is added in two halves."""
_MIN_LOOPED = 32
"""The terms from which a sum of neighbours in memory is a loop, which LLVM vectorizes."""


def emit_contract(context: CodegenContext, node: Node) -> None:
    """The product, into registers or memory."""
    t = context.access
    inner = t.extent(node.operands[0].shape[-1])
    if t.storage_of(node) is Storage.REGISTERS:
        element = _looped if _is_long_dot_product(context, node, inner) else _dot
        each = product(*map(range, static_shape(node)))
        t.keep(node, [element(context, node, index, inner) for index in each])
        return
    shape, right = t.shape(node), node.operands[1]
    has_rows, found = has_panels(node) and t.has_rows(right), context.schedule.products[node]
    distribution = context.schedule.distributed.get(node)
    if has_rows and distribution is not None:
        _emit_ahead(context, node, distribution)
        return
    buffer = allocate(context, node)
    matrix = None if has_rows else stored_transpose(node)
    if matrix is not None:
        dot_products.emit_dot_products(context, node, matrix, buffer)
        t.buffers[node] = buffer
        return
    if has_rows:
        assert found.panels is not None, "a product without panels"
        _emit_by_rows(context, node, buffer, found.panels, inner)
    else:
        assert found.elements is not None, "a product that has panels"
        *batch, rows, columns = shape
        with in_chunks(context, rows, (*batch, columns, inner)) as (first, count):
            own = (*batch, count, columns)
            with parallel_indices(context, own, found.elements) as (*outer, row, column):
                index = (*outer, context.builder.add(first, row), column)
                t.store(buffer, index, _looped(context, node, index, inner))
    t.buffers[node] = buffer


def _is_long_dot_product(context: CodegenContext, node: Node, inner: Index) -> bool:
    """Whether a product in registers has one column of many terms, none of them in registers."""
    return (
        node.shape[-1] == 1
        and isinstance(inner, int)
        and inner >= _MIN_LOOPED
        and not any(context.access.storage_of(each) is Storage.REGISTERS for each in node.operands)
    )


def _emit_by_rows(
    context: CodegenContext, node: Node, buffer: Buffer, found: Panels, inner: Index
) -> None:
    """By blocks of rows and columns; threads share the products, or the parts of a long one."""
    *batches, rows, columns = context.access.shape(node)
    assert isinstance(columns, int)
    is_packed = node.operands[1] in context.access.packed
    if batches and not is_long((rows, columns, inner)):
        with in_chunks(context, batches[0], (*batches[1:], rows, columns, inner), 1) as own:
            first, count = own
            with parallel_indices(context, (count, *batches[1:]), found.batches) as (number, *rest):
                batch = (context.builder.add(first, number), *rest)
                whole = (0, rows), (0, columns)
                emit_product(context, _product(context, node, buffer, batch, *whole, found))
        return
    with (
        context.builder.nest(batches) as batch,
        columns_in_parts(context, rows, inner, columns, is_packed) as part,
        in_chunks(context, rows, (part[1], inner)) as chunk,
    ):
        emit_product(context, _product(context, node, buffer, batch, chunk, part, found))


def _emit_ahead(context: CodegenContext, node: Node, distribution: Distribution) -> None:
    """Compute the products of many iterations when due; that of this iteration is among them.

    A loop of few iterations computes each by itself if the matrix need not be transposed then.
    """
    made = batched_matmul.BatchedProducts(context, node, distribution)
    is_short, matrix = batched_matmul.runs_briefly(context, node), stored_transpose(node)
    if is_short is None or matrix is None:
        _emit_batch(context, node, made)
    else:
        with context.builder.builder.if_else(is_short) as (short, long):
            with short, context.access.scope():
                dot_products.emit_dot_products(context, node, matrix, made.own(node))
            with long:
                _emit_batch(context, node, made)
    context.access.buffers[node] = made.own(node)


def _emit_batch(context: CodegenContext, node: Node, made: batched_matmul.BatchedProducts) -> None:
    left, right = node.operands
    found = context.schedule.products[node].panels
    assert found is not None, "a product without panels"
    with context.builder.builder.if_then(made.is_due()), context.access.scope():
        emit_product(context, Product(
            node.dtype, made.count(), static_shape(left)[-1], static_shape(node)[-1],
            lambda row: made.row(left, row),
            lambda k, column: context.access.located(right, (k, column)),
            lambda row, column: context.access.address(made.all, (row, column)),
            (context.access.scope_of(right), made.all.scope), _panel(context, node, (0, 0)), found,
            has_many_rows=True,
        ))  # fmt: skip


def _product(
    context: CodegenContext,
    node: Node,
    buffer: Buffer,
    batch: Sequence[Index],
    chunk: tuple[Index, Index],
    part: tuple[Index, int],
    found: Panels,
) -> Product:
    left, right = node.operands
    (first, rows), (first_column, columns) = chunk, part

    def own(row: Index) -> Index:
        return context.builder.add(first, row)

    def moved(column: Index) -> Index:
        return context.builder.add(first_column, column)

    return Product(
        node.dtype, rows, context.access.extent(left.shape[-1]), columns,
        lambda row: row_reader(context, left, (*_batch(left, batch), own(row))),
        lambda k, column: context.access.located(right, (*_batch(right, batch), k, moved(column))),
        lambda row, column: context.access.address(buffer, (*batch, own(row), moved(column))),
        (context.access.scope_of(right), buffer.scope),
        _panel(context, node, part), found, _is_backward(context, node) if found.turns else None,
    )  # fmt: skip


def _panel(context: CodegenContext, node: Node, part: tuple[Index, int]) -> int:
    """The columns of the panels in which the right operand is packed, or 0; 1 in a later part."""
    packed = context.access.packed.get(node.operands[1])
    if packed is None:
        return 0
    return packed.panel if part[0] == 0 else 1


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
    return context.builder.builder.mul(left, right)


def _dot(context: CodegenContext, node: Node, index: Sequence[Index], inner: int) -> Any:
    """One element of the product; long sums in halves, which the processor adds side by side."""
    if not inner:
        return literal(node.dtype, 0)
    middle = inner // 2 if inner >= _MIN_HALVED else 0
    halves = [range(middle), range(middle, inner)] if middle else [range(inner)]
    found = [_dot_of(context, node, index, half) for half in halves]
    return reduce(lambda left, right: _sum(context, node, left, right, ("contract",)), found)


def _dot_of(
    context: CodegenContext, node: Node, index: Sequence[Index], positions: Sequence[int]
) -> Any:
    first, *rest = (_term(context, node, index, k) for k in positions)
    return reduce(lambda sum_, term: _sum(context, node, sum_, term, ("contract",)), rest, first)


def _sum(context: CodegenContext, node: Node, left: Any, right: Any, flags: Sequence[str]) -> Any:
    if is_float(node.dtype):
        return context.builder.builder.fadd(left, right, flags=flags)
    return context.builder.builder.add(left, right)


def _looped(context: CodegenContext, node: Node, index: Sequence[Index], inner: Index) -> Any:
    type_ = register_type(node.dtype)
    total = context.builder.variable(type_, literal(node.dtype, 0))
    with context.builder.range(inner) as k, context.access.scope():
        before = context.builder.builder.load(total, typ=type_)
        term = _term(context, node, index, k)
        context.builder.builder.store(
            _sum(context, node, before, term, ("contract", "reassoc")), total
        )
    return context.builder.builder.load(total, typ=type_)

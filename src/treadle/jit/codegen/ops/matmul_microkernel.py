"""The micro-kernel of matrix products: a block of the result in vector registers.

A block of rows and columns stays in registers while the inner axis runs. The processor determines
the width and the number of vectors; if a block has few of them, several steps of the inner axis run
independently to hide latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index, i64
from treadle.jit.codegen.llvm_types import I1, I32, VOID, register_type
from treadle.jit.codegen.ops.vector_product import Product, multiply_add, splat
from treadle.jit.codegen.parallel import parallel_range
from treadle.jit.kernel.element_types import is_float
from treadle.jit.schedule.cost_model import per_product
from treadle.jit.schedule.layouts.product_tiles import lanes_of, rows_together, vectors_together

_MIN_ACCUMULATORS = 8
"""Independent sums that hide the latency of a multiply-add."""


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows from `row`, and `count` vectors from `column`; the last has `tail` columns."""

    row: Index
    height: int
    column: Index
    count: int
    tail: int


def emit_product(context: CodegenContext, product: Product) -> None:
    """Emit the product to memory: threads share panels of columns, or blocks of rows."""
    if product.rows == 0 or not product.columns:
        return
    target = context.builder.target
    most = rows_together(product.rows, target)
    for column, count, tail in _panels(context, product, vectors_together(most, target)):
        for row, height in _rows(context, product, most, count):
            _block(context, product, _Block(row, height, column, count, tail))


def _lanes(context: CodegenContext, product: Product) -> int:
    return lanes_of(product.dtype, product.columns, context.builder.target)


def _rows(
    context: CodegenContext, product: Product, most: int, vectors: int
) -> Iterator[tuple[Index, int]]:
    """(first row, height) of blocks that cover all rows, inside the loops they need.

    Of many rows the last ones are an overlapping block of the same code, unless there are fewer
    than in a block.
    """
    full, rest = context.builder.split(product.rows, most)
    blocks, heights = full, [max(most // 2, 1), 1]
    if product.has_many_rows and not isinstance(rest, int):
        blocks, rest = _overlapping(context, full, rest)
        heights = [1]
    if full != 0:
        size = (blocks, most * vectors * _lanes(context, product), product.inner)
        with parallel_range(
            context, blocks, per_product(product.dtype, product.rows), size=size
        ) as number:
            first = context.builder.multiply(number, most)
            if blocks is not full:
                b, last = context.builder.builder, context.builder.add(product.rows, -most)
                first = b.select(b.icmp_signed("<", first, last), first, last)
            yield first, most
    done = context.builder.multiply(full, most)
    if isinstance(rest, int):
        if rest:
            yield done, rest
        return
    for height in heights:
        times, rest = context.builder.split(rest, height)
        with context.builder.range(times) as number, context.access.scope():
            yield context.builder.add(done, number), height
        done = context.builder.add(done, context.builder.multiply(times, height))


def _overlapping(context: CodegenContext, full: Any, rest: Any) -> tuple[Any, Any]:
    """The number of blocks, and of rows left over: none once there is a block."""
    b, none = context.builder.builder, context.builder.index(0)
    has_block = b.icmp_signed(">", full, none)
    is_more = b.and_(has_block, b.icmp_signed(">", rest, none))
    return b.add(full, b.zext(is_more, full.type)), b.select(has_block, none, rest)


def _panels(
    context: CodegenContext, product: Product, most: int
) -> Iterator[tuple[Index, int, int]]:
    """(first column, vectors, columns of the last) of panels that cover all columns evenly."""
    lanes, (alike, wide) = _lanes(context, product), _alike(context, product, most)
    vectors = -(-product.columns // lanes)
    tail = product.columns - (vectors - 1) * lanes
    if alike:
        size = (product.rows, product.inner, alike * wide * lanes)
        with parallel_range(
            context,
            alike,
            per_product(product.dtype, product.rows),
            size=size,
            turned=product.turned,
        ) as panel:
            yield context.builder.multiply(panel, wide * lanes), wide, lanes
    first = alike * wide
    while first < vectors:
        count = min(vectors - first, most)
        yield first * lanes, count, tail if first + count == vectors else lanes
        first += count


def _alike(context: CodegenContext, product: Product, most: int) -> tuple[int, int]:
    """The number of equal panels, and the number of vectors in each."""
    lanes = _lanes(context, product)
    vectors = -(-product.columns // lanes)
    number = -(-vectors // most)
    wide = vectors // number
    tail = product.columns - (vectors - 1) * lanes
    return number - 1 if tail < lanes or vectors % number else number, wide


def _block(context: CodegenContext, product: Product, block: _Block) -> None:
    b = context.builder.builder
    vector = llvm.VectorType(register_type(product.dtype), _lanes(context, product))
    zero = llvm.Constant(vector, None)
    steps = _steps(product, block)
    totals = [
        [
            [context.builder.variable(vector, zero) for _ in range(block.count)]
            for _ in range(block.height)
        ]
        for _ in range(steps)
    ]
    full, rest = context.builder.split(product.inner, steps)
    if full != 0:
        with context.builder.range(full) as number:
            for step, own in enumerate(totals):
                _add(
                    context,
                    product,
                    block,
                    context.builder.add(context.builder.multiply(number, steps), step),
                    vector,
                    own,
                )
    for step in range(rest):
        _add(context, product, block, full * steps + step, vector, totals[step])
    for row, each in enumerate(zip(*totals, strict=True)):
        for column, parts in enumerate(zip(*each, strict=True)):
            total = b.load(parts[0], typ=vector)
            for part in parts[1:]:
                total = _sum(context, product.dtype, total, b.load(part, typ=vector))
            address = product.result(
                context.builder.add(block.row, row), _column(context, block, column, vector.count)
            )
            context.access.aliases.mark(
                _store(context, product, block, column, total, address), product.scopes[1]
            )


def _load(
    context: CodegenContext, product: Product, block: _Block, number: int, address: Any, vector: Any
) -> Any:
    """Load a vector of the right operand, masked to the existing columns."""
    if number < block.count - 1 or block.tail == vector.count:
        return context.builder.builder.load(address, typ=vector, align=product.dtype.numpy.itemsize)
    return masked_load(context, product.dtype, address, vector, block.tail)


def _store(
    context: CodegenContext, product: Product, block: _Block, number: int, total: Any, address: Any
) -> Any:
    if number < block.count - 1 or block.tail == total.type.count:
        return context.builder.builder.store(total, address, align=product.dtype.numpy.itemsize)
    align = llvm.Constant(I32, product.dtype.numpy.itemsize)
    operands = [total, address, align, _mask(block.tail, total.type)]
    return _masked(context, "store", total.type, VOID, operands)


def masked_load(
    context: CodegenContext, dtype: DType, address: Any, vector: Any, count: int
) -> Any:
    """A vector of `count` elements and zeros."""
    align = llvm.Constant(I32, dtype.numpy.itemsize)
    operands = [address, align, _mask(count, vector), llvm.Constant(vector, None)]
    return _masked(context, "load", vector, vector, operands)


def _masked(
    context: CodegenContext, what: str, vector: Any, result: Any, operands: Sequence[Any]
) -> Any:
    name = f"llvm.masked.{what}.{i64(vector)}.p0"
    types = [operand.type for operand in operands]
    return context.builder.builder.call(context.builder.external(name, result, *types), operands)


def _mask(count: int, vector: Any) -> Any:
    return llvm.Constant(
        llvm.VectorType(I1, vector.count), [k < count for k in range(vector.count)]
    )


def _steps(product: Product, block: _Block) -> int:
    """The number of inner steps that run independently."""
    if not isinstance(product.inner, int):
        return 1
    return max(min(_MIN_ACCUMULATORS // (block.height * block.count), product.inner, 4), 1)


def _column(context: CodegenContext, block: _Block, number: int, lanes: int) -> Index:
    return context.builder.add(block.column, number * lanes)


def _add(
    context: CodegenContext,
    product: Product,
    block: _Block,
    position: Index,
    vector: Any,
    totals: Any,
) -> None:
    """One step of the inner axis."""
    b, position = context.builder.builder, product.turned(context, position, product.inner)
    with context.access.scope():
        columns = []
        for number in range(block.count):
            address = product.right(position, _column(context, block, number, vector.count))
            loaded = _load(context, product, block, number, address, vector)
            context.access.aliases.mark(loaded, product.scopes[0])
            columns.append(loaded)
        for row, own in enumerate(totals):
            factor = splat(
                context, product.left(context.builder.add(block.row, row), position), vector
            )
            for total, column in zip(own, columns, strict=True):
                before = b.load(total, typ=vector)
                b.store(multiply_add(context, product.dtype, factor, column, before), total)


def _sum(context: CodegenContext, dtype: DType, left: Any, right: Any) -> Any:
    return (context.builder.builder.fadd if is_float(dtype) else context.builder.builder.add)(
        left, right
    )

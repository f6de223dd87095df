"""The micro-kernel of matrix products: a block of the result in vector registers.

A block of rows and columns stays in registers while the inner axis runs. The processor determines
the width and the number of vectors; if a block has few of them, several steps of the inner axis run
independently to hide latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index, i64
from treadle.jit.codegen.llvm_types import I1, I32, I64, VOID, memory_type, register_type, zeros
from treadle.jit.codegen.ops.vector_product import Product, added, multiply_add
from treadle.jit.codegen.parallel import parallel_range
from treadle.jit.schedule.layouts.product_tiles import steps_together


@dataclass(frozen=True, slots=True)
class _Block:
    """These rows, and `count` vectors from `column`; the last has `tail` columns.

    `left` reads the elements of each row of the left operand.
    """

    rows: Sequence[Index]
    left: Sequence[Callable[[Index], Any]]
    column: Index
    count: int
    tail: int


def emit_product(context: CodegenContext, product: Product) -> None:
    """Emit the product to memory: threads share panels of columns, or blocks of rows."""
    if product.rows == 0 or not product.columns:
        return
    for column, count, tail in _panels(context, product):
        for rows in _rows(context, product, count):
            left = [product.left(row) for row in rows]
            _block(context, product, _Block(rows, left, column, count, tail))


def _rows(context: CodegenContext, product: Product, vectors: int) -> Iterator[list[Index]]:
    """The rows of blocks that cover all rows, inside the loops they need.

    The last block of many rows repeats the last row, so that one code computes all of them.
    """
    w, tile = context.builder, product.found.tile
    most = tile.rows
    full, rest = w.split(product.rows, most)
    has_one_code = product.has_many_rows and not isinstance(rest, int)
    blocks = w.split(w.add(product.rows, most - 1), most)[0] if has_one_code else full
    if full != 0:
        size = (blocks, most * vectors * tile.lanes, product.inner)
        with parallel_range(context, blocks, product.found.rows(vectors), size) as number:
            part = context.builder
            rows = _rows_from(context, part.multiply(number, most), most)
            last = part.add(product.rows, -1)
            yield [part.least(row, last) for row in rows] if has_one_code else rows
    if has_one_code:
        return
    done = w.multiply(full, most)
    if isinstance(rest, int):
        if rest:
            yield _rows_from(context, done, rest)
        return
    for height in tile.rests:
        times, rest = w.split(rest, height)
        with w.range(times) as number, context.access.scope():
            yield _rows_from(context, w.add(done, number), height)
        done = w.add(done, w.multiply(times, height))


def _rows_from(context: CodegenContext, first: Index, count: int) -> list[Index]:
    return [context.builder.add(first, row) for row in range(count)]


def _panels(context: CodegenContext, product: Product) -> Iterator[tuple[Index, int, int]]:
    """(first column, vectors, columns of the last) of panels that cover all columns evenly."""
    found, lanes = product.found, product.found.tile.lanes
    alike, wide = found.tile.panels(product.columns)
    vectors = -(-product.columns // lanes)
    tail = product.columns - (vectors - 1) * lanes
    if alike:
        size = (product.rows, product.inner, alike * wide * lanes)
        with parallel_range(context, alike, found.columns, size, product.turned) as panel:
            yield context.builder.multiply(panel, wide * lanes), wide, lanes
    first = alike * wide
    while first < vectors:
        count = min(vectors - first, found.tile.vectors)
        yield first * lanes, count, tail if first + count == vectors else lanes
        first += count


def _block(context: CodegenContext, product: Product, block: _Block) -> None:
    w = context.builder
    vector = llvm.VectorType(register_type(product.dtype), product.found.tile.lanes)
    size = len(block.rows) * block.count
    steps = steps_together(product.inner, size)
    totals = [zeros(vector)] * (steps * size)
    full, rest = w.split(product.inner, steps)
    if full != 0:
        with w.range_with(full, totals) as number:
            for step in range(steps):
                position = w.add(w.multiply(number, steps), step)
                _add(context, product, block, position, totals, step * size)
    for step in range(rest):
        _add(context, product, block, full * steps + step, totals, step * size)
    sums = [
        reduce(lambda left, right: added(context, product.dtype, left, right), totals[k::size])
        for k in range(size)
    ]
    for number, row in enumerate(block.rows):
        start = product.result(row, block.column)
        for column, total in enumerate(sums[number * block.count :][: block.count]):
            address = _further(context, product, start, column * vector.count)
            stored = _store(context, product, block, column, total, address)
            context.access.aliases.mark(stored, product.scopes[1])


def _further(context: CodegenContext, product: Product, address: Any, columns: int) -> Any:
    """The address of the element this number of columns further in a row."""
    w, type_ = context.builder, memory_type(product.dtype)
    offset = [llvm.Constant(I64, columns)]
    return w.builder.gep(address, offset, inbounds=True, source_etype=type_) if columns else address


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
    operands = [address, align, _mask(count, vector), zeros(vector)]
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


def _add(
    context: CodegenContext,
    product: Product,
    block: _Block,
    position: Index,
    totals: list[Any],
    first: int,
) -> None:
    """One step of the inner axis, added to the totals from `first` on."""
    vector, position = totals[first].type, product.turned(context, position, product.inner)
    with context.access.scope():
        columns = _vectors(context, product, block, position, vector)
        for element in block.left:
            factor = context.builder.splat(element(position), vector.count)
            for column in columns:
                totals[first] = multiply_add(
                    context, product.op, product.dtype, factor, column, totals[first]
                )
                first += 1


def _vectors(
    context: CodegenContext, product: Product, block: _Block, position: Index, vector: Any
) -> list[Any]:
    """The vectors of a row of the right operand; the addresses in one panel are computed once."""
    w, found, panel = context.builder, [], product.panel
    first, start = 0, None
    for number, column in enumerate(range(0, block.count * vector.count, vector.count)):
        is_near = not panel or w.has_same_quotient(block.column, first, column, panel)
        if start is None or not is_near:
            first, start = column, product.right(position, w.add(block.column, column))
        address = _further(context, product, start, column - first)
        found.append(_load(context, product, block, number, address, vector))
        context.access.aliases.mark(found[-1], product.scopes[0])
    return found

"""One row times a large matrix, which is read once, in the order in which it lies in memory.

    for strip of columns:                       as wide as a page
        for k in range(0, inner, STEPS):
            result[strip] += left[k] * right[k, strip] + left[k + 1] * right[k + 1, strip] ...

A panel a few vectors wide, in registers, would jump from page to page of a matrix that no cache
holds. Here the processor's prefetcher follows STEPS rows, and the result stays in the L1 cache.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import register_type
from treadle.jit.codegen.ops.vector_product import Product, multiply_add, splat
from treadle.jit.codegen.parallel import parallel_range
from treadle.jit.schedule.cost_model import per_product
from treadle.jit.schedule.layouts.large_products import STRIP_BYTES

_STEPS, _UNROLLED = 4, 2
"""Rows of the matrix, and vectors of each, that are added together."""


def streamed_columns(product: Product) -> int:
    """The number of columns from the first on that are streamed, in whole strips; 0 if none is."""
    if not product.is_streamed or not isinstance(product.inner, int) or product.inner < _STEPS:
        return 0
    width = STRIP_BYTES // product.dtype.numpy.itemsize
    return product.columns // width * width


def emit_streamed(context: CodegenContext, product: Product, columns: int) -> None:
    """Emit the first columns of the product; threads share strips of them."""
    inner, width = product.inner, STRIP_BYTES // product.dtype.numpy.itemsize
    assert isinstance(inner, int)
    strips = columns // width
    cost, size = per_product(product.dtype, 1), (inner, columns)
    with parallel_range(context, strips, cost, size=size, turned=product.turned) as number:
        strip = context.builder.multiply(number, width)
        full, rest = divmod(inner, _STEPS)
        _add(context, product, strip, 0, rest or _STEPS, is_first=True)
        start, left = (rest, full) if rest else (_STEPS, full - 1)
        with context.builder.range(left) as step, context.access.scope():
            first = context.builder.add(context.builder.multiply(step, _STEPS), start)
            _add(context, product, strip, first, _STEPS, is_first=False)


def _add(
    context: CodegenContext, product: Product, strip: Index, first: Index, count: int, *,
    is_first: bool,
) -> None:  # fmt: skip
    """Add the products of `count` rows from `first` on to a strip of the result, or begin it."""
    w, size = context.builder, product.dtype.numpy.itemsize
    lanes = w.target.vector_bytes // size
    vector = llvm.VectorType(register_type(product.dtype), lanes)
    rows = [w.add(first, step) for step in range(count)]
    factors = [splat(context, product.left(0, row), vector) for row in rows]
    together = lanes * _UNROLLED
    with w.range(STRIP_BYTES // size // together) as number, context.access.scope():
        for offset in range(0, together, lanes):
            column = w.add(strip, w.add(w.multiply(number, together), offset))
            target = product.result(0, column)
            total = None if is_first else _load(context, product, target, vector, 1)
            for row, factor in zip(rows, factors, strict=True):
                term = _load(context, product, product.right(row, column), vector, 0)
                zero = llvm.Constant(vector, None)
                total = multiply_add(context, product.dtype, factor, term, total or zero)
            stored = w.builder.store(total, target, align=size)
            context.access.aliases.mark(stored, product.scopes[1])


def _load(context: CodegenContext, product: Product, address: Any, vector: Any, side: int) -> Any:
    loaded = context.builder.builder.load(address, typ=vector, align=product.dtype.numpy.itemsize)
    context.access.aliases.mark(loaded, product.scopes[side])
    return loaded

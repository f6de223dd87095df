"""Long nests in chunks of rows, with a safepoint before each: a run can stop inside one product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.failure import is_in_parallel_part
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.safepoint import poll_after

_LONG = 2**28
"""The multiplications from which a product is divided: at least 10 ms."""
_ROWS = 64
"""The least rows of a chunk: each reads the whole right operand, which the caches may not hold."""
_MULTIPLE = 4
"""Chunks are multiples of the rows that are computed together."""
_ASSUMED_ROWS = 2**14
"""The assumed value of a dynamic number of rows."""


def is_long(extents: tuple[Index, ...]) -> bool:
    """Whether the product of the extents is known, and takes long to run through."""
    known = [extent for extent in extents if isinstance(extent, int)]
    return len(known) == len(extents) and prod(known) >= _LONG


@contextmanager
def in_chunks(
    context: CodegenContext, rows: Index, row: tuple[Index, ...], least: int = _ROWS
) -> Iterator[tuple[Index, Index]]:
    """(first, count) of the rows to compute: all of them, or one chunk of a long nest.

    `row` has the extents whose product is the multiplications of one row; a chunk has at least
    `least` rows.
    """
    b = context.builder
    size = _chunk(rows, row, least)
    if not size or is_in_parallel_part(context) or context.tile is not None:
        yield 0, rows
        return
    chunks, _ = b.split(b.add(rows, size - 1), size)
    is_even = isinstance(rows, int) and rows % size == 0
    with b.range(chunks) as number, context.access.scope():
        first = b.multiply(number, size)
        count: Index = size if is_even else _least(context, size, rows, first)
        _poll(context, (count, *row))
        yield first, count


def _chunk(rows: Index, row: tuple[Index, ...], least: int) -> int:
    """The rows of a chunk; 0 where the nest is short."""
    each = prod(extent for extent in row if isinstance(extent, int))
    is_known = all(isinstance(extent, int) for extent in row)
    if is_known and (rows if isinstance(rows, int) else _ASSUMED_ROWS) * each < _LONG:
        return 0
    least = max(least, -(-_LONG // each)) if is_known else least
    least += -least % _MULTIPLE if least > 1 else 0
    if not isinstance(rows, int):
        return least
    even = (n for n in range(least, min(rows, 2 * least) + 1) if rows % n == 0)
    return next((n for n in even if n % _MULTIPLE == 0), least)


def _least(context: CodegenContext, size: int, rows: Index, first: Index) -> Index:
    """The rows that are left, at most a whole chunk."""
    b = context.builder.builder
    left = b.sub(context.builder.index(rows), context.builder.index(first))
    whole = llvm.Constant(I64, size)
    return b.select(b.icmp_signed("<", left, whole), left, whole)


def _poll(context: CodegenContext, extents: tuple[Index, ...]) -> None:
    """A safepoint that counts an eighth of a nanosecond a multiplication."""
    taken = context.builder.product(extents)
    eighth = taken >> 3 if isinstance(taken, int) else context.builder.builder.ashr(
        taken, llvm.Constant(I64, 3)
    )  # fmt: skip
    poll_after(context, eighth)

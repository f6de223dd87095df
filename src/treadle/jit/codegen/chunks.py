"""Long nests in chunks, with a safepoint before each: a run can stop inside one operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.failure import is_in_parallel_part
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.schedule.cost_model import LONG, eighths_of, takes_long

_LANES = 64
"""Parts of an axis are multiples of this number of items, if possible: whole vectors."""
_ROWS = 64
"""The least rows of a chunk: each reads the whole right operand, which the caches may not hold."""
_MULTIPLE = 8
"""Chunks are multiples of the rows that are computed together."""
_ASSUMED_ROWS = 2**14
"""The assumed value of a dynamic number of rows."""


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
    if isinstance(rows, int) and rows <= size:
        _poll(context, (rows, *row))
        yield 0, rows
        return
    chunks, _ = b.split(b.add(rows, size - 1), size)
    is_even = isinstance(rows, int) and rows % size == 0
    with b.range(chunks) as number, context.access.scope():
        first = b.multiply(number, size)
        count: Index = size if is_even else _least(context, size, rows, first)
        _poll(context, (count, *row))
        yield first, count


@contextmanager
def long_axis_in_chunks(
    context: CodegenContext, shape: Sequence[Index], cost: float, axis: int | None = None
) -> Iterator[tuple[int, Index, list[Index]]]:
    """(axis, first, extents) of the elements to compute: all of them, or a chunk along an axis.

    Only a nest of known extents is divided, if it takes long at `cost` nanoseconds an element,
    along the given axis or the first that has several items.
    """
    if axis is None:
        axis = next((k for k, extent in enumerate(shape) if extent != 1), 0)
    if not shape or not takes_long(cost, shape):
        yield 0, 0, list(shape)
        return
    others = (*shape[:axis], *shape[axis + 1 :])
    with in_chunks(context, shape[axis], (eighths_of(cost), *others), 1) as (first, count):
        yield axis, first, [*shape[:axis], count, *shape[axis + 1 :]]


def moved_along(
    context: CodegenContext, index: Sequence[Index], axis: int, first: Index
) -> tuple[Index, ...]:
    """The index counted from `first` on along the axis."""
    if not index:
        return ()
    return (*index[:axis], context.builder.add(first, index[axis]), *index[axis + 1 :])


@contextmanager
def columns_in_parts(
    context: CodegenContext, rows: Index, inner: Index, columns: int, is_packed: bool
) -> Iterator[tuple[Index, int]]:
    """(first, count) of the columns of a product to compute: all, or an equal part of many.

    Only a product of so few rows that `in_chunks` leaves it whole is divided; where the matrix is
    packed in panels, only into whole vectors.
    """
    b, part = context.builder, 0
    if isinstance(rows, int) and isinstance(inner, int) and rows < 2 * _ROWS:
        part = _even_part(columns, rows * inner)
        part = 0 if is_packed and part % _LANES else part
    if not part or is_in_parallel_part(context) or context.tile is not None:
        yield 0, columns
        return
    with b.range(columns // part) as number, context.access.scope():
        first = b.multiply(number, part)
        _poll(context, (part, rows, inner))
        yield first, part


def _even_part(extent: int, each: int) -> int:
    """The extent of equal parts of an axis, if possible of whole vectors; 0 if it is short.

    `each` is the number of multiplications for one item of the axis.
    """
    most = min(extent // 2, 2 * LONG // each) if extent * each >= 2 * LONG else 0
    parts = [n for n in range(most, most // 8, -1) if extent % n == 0]
    return next((n for n in parts if n % _LANES == 0), max(parts, default=0))


def _chunk(rows: Index, row: tuple[Index, ...], least: int) -> int:
    """The rows of a chunk; 0 where the nest is short."""
    each = prod(extent for extent in row if isinstance(extent, int))
    is_known = all(isinstance(extent, int) for extent in row)
    if is_known and (rows if isinstance(rows, int) else _ASSUMED_ROWS) * each < LONG:
        return 0
    least = max(least, -(-LONG // each)) if is_known else least
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

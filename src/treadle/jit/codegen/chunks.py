"""Long nests in chunks, with a safepoint before each: a run can stop inside one operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.failure import is_in_parallel_part
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.schedule.steps.chunks import Chunk


@contextmanager
def in_chunks(
    context: CodegenContext, rows: Index, row: tuple[Index, ...], size: int
) -> Iterator[tuple[Index, Index]]:
    """(first, count) of the rows to compute: all of them, or one chunk of `size`, if that is not 0.

    `row` has the extents whose product is the multiplications of one row.
    """
    b = context.builder
    if not size or is_in_parallel_part(context):
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
        left = size if is_even else b.builder.sub(b.index(rows), b.index(first))
        count = b.least(left, size)
        _poll(context, (count, *row))
        yield first, count


@contextmanager
def long_axis_in_chunks(
    context: CodegenContext, shape: Sequence[Index], found: Chunk | None
) -> Iterator[tuple[int, Index, list[Index]]]:
    """(axis, first, extents) of the elements to compute: all of them, or a chunk along an axis."""
    if found is None:
        yield 0, 0, list(shape)
        return
    axis, row = found.axis, (found.eighths, *shape[: found.axis], *shape[found.axis + 1 :])
    with in_chunks(context, shape[axis], row, found.size) as (first, count):
        yield axis, first, [*shape[:axis], count, *shape[axis + 1 :]]


def moved_along(
    context: CodegenContext, index: Sequence[Index], axis: int, first: Index
) -> tuple[Index, ...]:
    """The index counted from `first` on along the axis."""
    if not index:
        return ()
    return (*index[:axis], context.builder.add(first, index[axis]), *index[axis + 1 :])


def _poll(context: CodegenContext, extents: tuple[Index, ...]) -> None:
    """A safepoint that counts an eighth of a nanosecond a multiplication."""
    taken = context.builder.product(extents)
    eighth = taken >> 3 if isinstance(taken, int) else context.builder.builder.ashr(
        taken, llvm.Constant(I64, 3)
    )  # fmt: skip
    poll_after(context, eighth)

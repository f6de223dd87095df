"""Transposed copies by tiles, so that every cache line is read and written once.

A full tile of n x n elements is n vectors, transposed in registers by log2(n) rounds, each of which
shuffles pairs of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.chunks import long_axis_in_chunks, moved_along
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED, Index
from treadle.jit.codegen.llvm_types import I32, memory_type
from treadle.jit.codegen.parallel import parallel_indices, parallel_range
from treadle.jit.kernel.ir import Node, View, op_of
from treadle.jit.schedule.parallelism import Parallelism
from treadle.jit.schedule.steps.copies import Copy, CopyForm

Indices = tuple[Index, ...]
_LANE_BYTES = 16
"""The part of a vector within which processors interleave elements by one instruction."""


def copy_by_index(
    context: CodegenContext,
    node: Node,
    target: Buffer,
    copy: Copy,
    read: Callable[[Node, Indices], Any],
) -> None:
    """Copy every element of the node to memory, one by one, index by index or in tiles.

    `read` reads an element.
    """
    shape, found, axes, lanes = context.access.shape(node), copy.loops, copy.axes, copy.lanes
    if copy.form is CopyForm.SCALAR:
        with ExitStack() as loops:
            ranges = (context.builder.range(extent, hints=NOT_VECTORIZED) for extent in shape)
            own = tuple(map(loops.enter_context, ranges))
            loops.enter_context(context.access.scope())
            context.access.store(target, own, read(node, own))
        return
    if copy.form is not CopyForm.TILES:
        with (
            long_axis_in_chunks(context, shape, found.chunk) as (axis, start, extents),
            parallel_indices(context, extents, found) as index,
            context.access.scope(),
        ):
            own = moved_along(context, index, axis, start)
            context.access.store(target, own, read(node, own))
        return
    (rows, more_rows), (columns, more_columns) = (
        context.builder.split(shape[axis], lanes) for axis in axes
    )
    around = [1 if axis in axes else extent for axis, extent in enumerate(shape)]

    def single(first: tuple[Index, Index], extents: tuple[Index, Index], others: Indices) -> None:
        with (
            context.builder.nest(extents, NOT_VECTORIZED) as inner,
            context.access.scope(),
        ):
            index = list(others)
            for axis, start, each in zip(axes, first, inner, strict=True):
                index[axis] = context.builder.add(start, each)
            context.access.store(target, tuple(index), read(node, tuple(index)))

    with (
        long_axis_in_chunks(context, (rows,), found.chunk) as (_, start, (count,)),
        _some(context, count, found) as row,
        context.builder.nest(around) as others,
        context.access.scope(),
    ):
        first = context.builder.multiply(context.builder.add(start, row), lanes)
        with context.builder.range(columns, hints=NOT_VECTORIZED) as column, context.access.scope():
            place = first, context.builder.multiply(column, lanes)
            _tile(context, node, target, copy, place, others)
        if more_columns != 0:
            single((first, context.builder.multiply(columns, lanes)), (lanes, more_columns), others)
    if more_rows != 0:
        with context.builder.nest(around) as others:
            single((context.builder.multiply(rows, lanes), 0), (more_rows, shape[axes[1]]), others)


@contextmanager
def _some(context: CodegenContext, count: Index, found: Parallelism) -> Iterator[Index]:
    """A loop over the items, of which there may be none."""
    if isinstance(count, int) and not count:
        with context.builder.range(0) as number:
            yield number
        return
    with parallel_range(context, count, found) as number:
        yield number


def _tile(
    context: CodegenContext,
    node: Node,
    target: Buffer,
    copy: Copy,
    first: tuple[Index, Index],
    others: Indices,
) -> None:
    """Copy one full tile."""
    b, size = context.builder.builder, node.dtype.numpy.itemsize
    axes, lanes = copy.axes, copy.lanes
    source, op = context.access.dense_buffer(node.operands[0]), op_of(node, View)
    vector = llvm.VectorType(memory_type(node.dtype), lanes)

    start = list(others)
    for axis, each in zip(axes, first, strict=True):
        start[axis] = each
    position = tuple(context.access.along(axis, start) for axis in op.axes)
    steps = [
        context.builder.multiply(stride, step)
        for axis, stride in zip(op.axes, source.strides, strict=True)
        for number, step in axis.terms
        if number == axes[1]
    ]
    vectors = []
    step = reduce(context.builder.add, steps)
    for address in _from(context, source, position, step, lanes):
        vectors.append(b.load(address, typ=vector, align=size))
        context.access.aliases.mark(vectors[-1], source.scope)
    step = target.strides[axes[0] + bool(target.panel)]
    addresses = _from(context, target, tuple(start), step, lanes)
    for each, address in zip(transposed(context, vectors, size), addresses, strict=True):
        stored = b.store(each, address, align=size)
        context.access.aliases.mark(stored, target.scope)


def _from(
    context: CodegenContext, buffer: Buffer, start: Indices, step: Index, count: int
) -> Iterator[Any]:
    """The addresses of an element and of those that follow it, `step` elements apart."""
    b, type_ = context.builder.builder, memory_type(buffer.dtype)
    address = context.access.address(buffer, start)
    for number in range(count):
        if number:
            address = b.gep(
                address, [context.builder.index(step)], inbounds=True, source_etype=type_
            )
        yield address


def transposed(context: CodegenContext, vectors: Sequence[Any], size: int) -> list[Any]:
    """Transpose a square of as many vectors as each has elements, which are of `size` bytes.

    The first rounds interleave within lanes of 16 bytes, the others exchange lanes: processors
    have an instruction for either. Elements that change lanes would take LLVM twice the time.
    """
    count = len(vectors)
    lane = min(count, _LANE_BYTES // size)
    steps = [2**k for k in range(count.bit_length() - 1)]
    found = list(vectors)
    for step in steps:
        low, distance = _interleaved(count, step, lane)
        masks = [_mask(low), _mask([index + distance for index in low])]
        found = [
            context.builder.builder.shuffle_vector(
                found[k & ~step], found[k | step], masks[k & step > 0]
            )
            for k in range(count)
        ]
    within = [step for step in steps if step < lane]
    return [
        found[k - k % lane + sum(step for step in within if k & lane // 2 // step)]
        for k in range(count)
    ]


def _interleaved(count: int, step: int, lane: int) -> tuple[list[int], int]:
    """The first of two shuffles of a pair of vectors, and how much further the second one reads.

    Neighbours in the result are `step` elements of the one vector and `step` of the other.
    """
    if step >= lane:
        return [k if not k & step else count + k - step for k in range(count)], step
    places = [(k - k % lane, *divmod(k % lane, step)) for k in range(count)]
    return [first + count * (n % 2) + n // 2 * step + rest for first, n, rest in places], lane // 2


def _mask(indices: Sequence[int]) -> Any:
    return llvm.Constant(llvm.VectorType(I32, len(indices)), indices)

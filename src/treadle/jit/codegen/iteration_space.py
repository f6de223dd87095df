"""Loops over the elements of a tensor, which several threads share, and copies of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir as llvm

from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.chunks import long_axis_in_chunks, moved_along
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED, Index
from treadle.jit.codegen.llvm_types import memory_type
from treadle.jit.codegen.nest_function import is_swapped, outlined
from treadle.jit.codegen.ops.transpose import copy_by_index
from treadle.jit.codegen.parallel import (
    parallel_indices,
    parallel_positions,
)
from treadle.jit.kernel.ir import Block, Node, static_shape
from treadle.jit.schedule.layouts.memory_order import OWN_MEMORY, Destination
from treadle.jit.schedule.parallelism import Parallelism
from treadle.jit.schedule.steps.copies import Copy, CopyForm


@contextmanager
def each_position(context: CodegenContext, size: Index, found: Parallelism) -> Iterator[Index]:
    """Run the block for the flat position of every element."""
    with (
        long_axis_in_chunks(context, (size,), found.chunk) as (_, first, (count,)),
        parallel_positions(context, count, found) as position,
    ):
        yield context.builder.add(first, position)  # in a parallel part, another builder's


@contextmanager
def each_index(
    context: CodegenContext, shape: Sequence[Index], found: Parallelism
) -> Iterator[tuple[Index, ...]]:
    """Run the block for the index of every element."""
    with (
        long_axis_in_chunks(context, shape, found.chunk) as (axis, first, extents),
        parallel_indices(context, extents, found) as index,
    ):
        yield moved_along(context, index, axis, first)


def move(
    context: CodegenContext, node: Node, source: Buffer, target: Buffer, block: Block | None
) -> None:
    """Copy every element of a node from memory to memory, both in row-major order."""
    found = context.schedule.moved(node, block)
    if found.form is CopyForm.VECTORS:
        _copy_vectors(context, source, target, node.size, found)
        return
    if found.form is CopyForm.BYTES:
        _copy_bytes(context, source, target, node)
        return
    with each_position(context, context.access.size(node), found.loops) as position:
        context.access.store(target, Flat(position), context.access.load(source, Flat(position)))


def _copy_vectors(
    context: CodegenContext, source: Buffer, target: Buffer, size: int, found: Copy
) -> None:
    """Copy dense memory by vectors, without LLVM's vectorizer."""
    w, item, lanes = context.builder, source.dtype.numpy.itemsize, found.lanes
    whole, rest = divmod(size, lanes)

    def copy(position: Index, count: int) -> None:
        value = w.builder.load(
            context.access.address(source, Flat(position)),
            typ=llvm.VectorType(memory_type(source.dtype), count),
            align=item,
        )
        context.access.aliases.mark(value, source.scope)
        place = context.access.address(target, Flat(position))
        context.access.aliases.mark(w.builder.store(value, place, align=item), target.scope)

    if whole > found.written:
        with w.range(whole, hints=NOT_VECTORIZED) as number, context.access.scope():
            copy(w.multiply(number, lanes), lanes)
    else:
        for number in range(whole):
            copy(number * lanes, lanes)
    for bit in reversed(range(rest.bit_length())):
        if rest >> bit & 1:
            copy(size - rest % 2 ** (bit + 1), 2**bit)


def _copy_bytes(context: CodegenContext, source: Buffer, target: Buffer, node: Node) -> None:
    size = context.builder.multiply(context.access.size(node), node.dtype.numpy.itemsize)
    call = context.builder.copy(target.pointer, source.pointer, size)
    context.access.aliases.mark(call, source.scope, target.scope)


def copy_node(
    context: CodegenContext,
    source: Node,
    target: Buffer,
    block: Block | None,
    destination: Destination = OWN_MEMORY,
) -> None:
    """Copy every element of a node to memory, in a block; `destination`: of its own, or a part."""
    found = context.schedule.copied(source, block, destination)
    with outlined(context, when=is_swapped(context, target)):
        _copy(context, source, target, found)


def _copy(context: CodegenContext, source: Node, target: Buffer, found: Copy) -> None:
    access = context.access
    match found.form:
        case CopyForm.WRITTEN:
            for position, value in enumerate(access.registers[source]):
                access.store(target, access.unflat(position, static_shape(source)), value)
        case CopyForm.VECTORS:
            _copy_vectors(context, access.buffer(source), target, source.size, found)
        case CopyForm.BYTES:
            _copy_bytes(context, access.buffer(source), target, source)
        case CopyForm.FLAT:
            with (
                each_position(context, access.size(source), found.loops) as position,
                access.scope(),
            ):
                access.store(target, Flat(position), access.read(source, Flat(position)))
        case _:
            copy_by_index(context, source, target, found, access.read)

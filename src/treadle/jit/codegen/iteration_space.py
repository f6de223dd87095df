"""Loops over the elements of a tensor or of the current tile, and copies of nodes.

Outside of tiles, several threads share the elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.chunks import long_axis_in_chunks, moved_along
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.nest_function import is_swapped, outlined
from treadle.jit.codegen.ops.transpose import copy_view
from treadle.jit.codegen.parallel import (
    indices,
    parallel_indices,
    parallel_positions,
    positions,
)
from treadle.jit.kernel.ir import Block, Node, static_shape
from treadle.jit.schedule.cost_model import COPIED
from treadle.jit.schedule.parallelism import Parallelism
from treadle.jit.schedule.storage import Storage


@contextmanager
def each_position(context: CodegenContext, size: Index, found: Parallelism) -> Iterator[Index]:
    """Run the block for the flat position of every element."""
    tile = context.tile
    if tile is None:
        with (
            long_axis_in_chunks(context, (size,), found.chunk) as (_, first, (count,)),
            parallel_positions(context, count, found) as position,
        ):
            yield context.builder.add(first, position)  # in a parallel part, another builder's
        return
    builder = context.builder
    first = builder.multiply(tile.start, tile.inner)
    count = builder.multiply(tile.count, tile.inner)
    with positions(context, count, found) as position:
        yield builder.add(first, position)


@contextmanager
def each_index(
    context: CodegenContext, shape: Sequence[Index], found: Parallelism
) -> Iterator[tuple[Index, ...]]:
    """Run the block for the index of every element."""
    tile, own = context.tile, list[Index](shape)
    if tile is None:
        with (
            long_axis_in_chunks(context, shape, found.chunk) as (axis, first, extents),
            parallel_indices(context, extents, found) as index,
        ):
            yield moved_along(context, index, axis, first)
        return
    own[tile.axis] = tile.count
    with indices(context, own, found) as index:
        yield moved_along(context, index, tile.axis, tile.start)


def move(
    context: CodegenContext, node: Node, source: Buffer, target: Buffer, block: Block | None
) -> None:
    """Copy every element of a node from memory to memory, both in row-major order."""
    found = context.schedule.copied(node, block, COPIED)
    with each_position(context, context.access.size(node), found) as position:
        context.access.store(target, Flat(position), context.access.load(source, Flat(position)))


def copy_node(context: CodegenContext, source: Node, target: Buffer, block: Block | None) -> None:
    """Copy every element of a node to memory, in a block."""
    with outlined(context, when=is_swapped(context, target)):
        _copy(context, source, target, block)


def _copy(context: CodegenContext, source: Node, target: Buffer, block: Block | None) -> None:
    access, found = context.access, context.schedule.copied(source, block)
    if access.storage_of(source) is Storage.REGISTERS:
        for position, value in enumerate(access.registers[source]):
            access.store(target, access.unflat(position, static_shape(source)), value)
    elif target.is_dense and access.is_flat(source):
        with each_position(context, access.size(source), found) as position, access.scope():
            access.store(target, Flat(position), access.read(source, Flat(position)))
    elif context.tile is None and access.storage_of(source) is Storage.INLINE:
        copy_view(context, source, target, found, access.read)
    else:
        by_index = found.by_index or found
        with each_index(context, access.shape(source), by_index) as index, access.scope():
            access.store(target, index, access.read(source, index))

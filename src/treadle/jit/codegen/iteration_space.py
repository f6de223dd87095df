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
from treadle.jit.codegen.nest_function import is_swapped, nest_hints, outlined
from treadle.jit.codegen.ops.transpose import copy_view
from treadle.jit.codegen.parallel import parallel_for, parallel_range
from treadle.jit.kernel.ir import Node, static_shape
from treadle.jit.schedule.cost_model import COPIED, per_read
from treadle.jit.schedule.storage import Storage

_CACHE_LINE_ELEMENTS = 64
"""The number of elements one thread writes, so that no two threads write to one cache line."""


@contextmanager
def each_position(context: CodegenContext, size: Index, cost: float = 0.0) -> Iterator[Index]:
    """Run the block for the flat position of every element; `cost` nanoseconds each."""
    tile = context.tile
    if tile is None:
        with (
            long_axis_in_chunks(context, (size,), cost) as (_, first, (count,)),
            parallel_range(context, count, cost, _CACHE_LINE_ELEMENTS) as position,
        ):
            yield context.builder.add(first, position)
        return
    builder = context.builder
    first = builder.multiply(tile.start, tile.inner)
    hints = nest_hints(context, cost, size)
    with builder.range(builder.multiply(tile.count, tile.inner), hints=hints) as position:
        yield builder.add(first, position)


@contextmanager
def each_index(
    context: CodegenContext, shape: Sequence[Index], cost: float = 0.0
) -> Iterator[tuple[Index, ...]]:
    """Run the block for the index of every element; `cost` nanoseconds each."""
    tile, own = context.tile, list[Index](shape)
    if tile is None:
        with (
            long_axis_in_chunks(context, shape, cost) as (axis, first, extents),
            parallel_for(context, extents, cost) as index,
        ):
            yield moved_along(context, index, axis, first)
        return
    own[tile.axis] = tile.count
    with context.builder.nest(own, nest_hints(context, cost, shape[-1])) as index:
        yield moved_along(context, index, tile.axis, tile.start)


def copy_node(context: CodegenContext, source: Node, target: Buffer) -> None:
    """Copy every element of a node to memory."""
    with outlined(context, when=is_swapped(context, target)):
        _copy(context, source, target)


def _copy(context: CodegenContext, source: Node, target: Buffer) -> None:
    access = context.access
    cost = per_read(access.places, access.buffers, source) + COPIED
    if access.storage_of(source) is Storage.REGISTERS:
        for position, value in enumerate(access.registers[source]):
            access.store(target, access.unflat(position, static_shape(source)), value)
    elif target.is_dense and access.is_flat(source):
        with each_position(context, access.size(source), cost) as position, access.scope():
            access.store(target, Flat(position), access.read(source, Flat(position)))
    elif context.tile is None and access.storage_of(source) is Storage.INLINE:
        copy_view(context, source, target, cost, access.read)
    else:
        with each_index(context, access.shape(source), cost) as index, access.scope():
            access.store(target, index, access.read(source, index))

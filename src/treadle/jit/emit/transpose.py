"""Transposed copies, a tile at a time, so that every line of the cache is read and written once.

A full tile of n x n elements is n vectors, transposed in registers by log2(n) rounds, each of which
interleaves vector i with vector i + n/2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

from llvmlite import ir as llvm

from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.place import transposed_axes
from treadle.jit.emit.shared import items, spread
from treadle.jit.emit.types import I32, in_memory
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Node, View
from treadle.jit.machine import vector_bytes

if TYPE_CHECKING:
    from treadle.jit.emit.emitter import Emitter

Indices = tuple[Index, ...]
_EXTENT = 64
"""About what an extent may be that only the run tells."""


def copy_view(
    e: Emitter, node: Node, target: Buffer, cost: float, read: Callable[[Node, Indices], Any]
) -> None:
    """Every element of the node into memory, in the order that suits where they are read.

    Several threads write them where an element takes `cost` nanoseconds. `read` gives an element.
    """
    shape, axes = e.t.shape(node), _axes(e, node, target)
    if axes is None:
        with spread(e, shape, cost) as index, e.t.scope():
            e.t.store(target, index, read(node, index))
        return
    lanes = tile_width(node)
    (rows, more_rows), (columns, more_columns) = (e.w.split(shape[axis], lanes) for axis in axes)
    about = [each if isinstance(each, int) else _EXTENT for each in shape]
    size = cost * lanes * prod(about) / about[axes[0]]
    around = [1 if axis in axes else extent for axis, extent in enumerate(shape)]

    def single(first: tuple[Index, Index], extents: tuple[Index, Index], others: Indices) -> None:
        with e.w.nest(extents) as inner, e.t.scope():
            index = list(others)
            for axis, start, each in zip(axes, first, inner, strict=True):
                index[axis] = e.w.add(start, each)
            e.t.store(target, tuple(index), read(node, tuple(index)))

    with _some(e, rows, size) as row, e.w.nest(around) as others, e.t.scope():
        first = e.w.multiply(row, lanes)
        with e.w.range(columns) as column, e.t.scope():
            _tile(e, node, target, axes, (first, e.w.multiply(column, lanes)), others)
        if more_columns != 0:
            single((first, e.w.multiply(columns, lanes)), (lanes, more_columns), others)
    if more_rows != 0:
        with e.w.nest(around) as others:
            single((e.w.multiply(rows, lanes), 0), (more_rows, shape[axes[1]]), others)


@contextmanager
def _some(e: Emitter, count: Index, cost: float) -> Iterator[Index]:
    """What is written inside, for every item, of which there may be none."""
    if isinstance(count, int) and not count:
        with e.w.range(0) as number:
            yield number
        return
    with items(e, count, cost) as number:
        yield number


def _axes(e: Emitter, node: Node, target: Buffer) -> tuple[int, int] | None:
    """The axes of tiles, where both memories have elements side by side along one of them."""
    axes = transposed_axes(node)
    if axes is None or not e.t.is_in_memory(node.operands[0]):
        return None
    source = e.t.buffer(node.operands[0])
    return axes if source.is_dense and target.strides[axes[1]] == 1 else None


def tile_width(node: Node) -> int:
    """How many elements of the node a vector has, and how many vectors a tile."""
    return min(max(vector_bytes() // node.dtype.numpy.itemsize, 4), 16)


def _tile(
    e: Emitter,
    node: Node,
    target: Buffer,
    axes: tuple[int, int],
    first: tuple[Index, Index],
    others: Indices,
) -> None:
    """One full tile: the elements themselves, whatever they stand for."""
    b, size, lanes = e.w.builder, node.dtype.numpy.itemsize, tile_width(node)
    source, op = e.t.buffer(node.operands[0]), node.op
    assert isinstance(op, View)
    vector = llvm.VectorType(in_memory(node.dtype), lanes)

    def at(row: int, column: int) -> Indices:
        index = list(others)
        for axis, start, each in zip(axes, first, (row, column), strict=True):
            index[axis] = e.w.add(start, each)
        return tuple(index)

    vectors = []
    for column in range(lanes):
        place = tuple(e.t.along(axis, at(0, column)) for axis in op.axes)
        vectors.append(b.load(e.t.address(source, place), typ=vector, align=size))
        e.t.aliases.mark(vectors[-1], source.scope)
    for row, each in enumerate(transposed(e, vectors)):
        stored = b.store(each, e.t.address(target, at(row, 0)), align=size)
        e.t.aliases.mark(stored, target.scope)


def transposed(e: Emitter, vectors: Sequence[Any]) -> list[Any]:
    """As many vectors as each has elements, rows for columns."""
    count = len(vectors)
    half = count // 2
    low = [k // 2 + count * (k % 2) for k in range(count)]
    masks = [
        llvm.Constant(llvm.VectorType(I32, count), [start + place for place in low])
        for start in (0, half)
    ]
    found = list(vectors)
    for _ in range(count.bit_length() - 1):
        found = [
            e.w.builder.shuffle_vector(found[k], found[k + half], mask)
            for k in range(half)
            for mask in masks
        ]
    return found

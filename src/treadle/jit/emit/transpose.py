"""Transposed copies, a tile at a time, so that every line of the cache is read and written once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.shared import items
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Node, View, extents

_TILE, _FEWEST = 16, 4096


def transposed_axis(node: Node) -> int | None:
    """The axis of a view along which the elements of its source are side by side.

    None where that is the last one, where nothing is, or where tiles would gain little.
    """
    if not isinstance(node.op, View) or not node.is_static or not node.op.axes:
        return None
    terms, shape = node.op.axes[-1].terms, extents(node)
    if len(terms) != 1 or node.size < _FEWEST:
        return None
    ((axis, _),) = terms
    is_last = axis == len(shape) - 1
    return None if is_last or min(shape[axis], shape[-1]) < _TILE else axis


@contextmanager
def tiles(
    e: Emitter, shape: tuple[int, ...], axis: int, cost: float
) -> Iterator[tuple[Index, ...]]:
    """What is written inside, for every index, tile by tile of `axis` and the last axis.

    Several threads write it where an element takes `cost` nanoseconds. Tiles at the end of an axis
    lie over the ones before, and their elements are written twice.
    """
    last = len(shape) - 1
    others = [1 if k in (axis, last) else extent for k, extent in enumerate(shape)]
    rows, columns = -(-shape[axis] // _TILE), -(-shape[last] // _TILE)
    each = cost * _TILE * shape[last]
    for one in others:
        each *= one
    with items(e, rows, each) as row, e.w.nest((columns, *others)) as (column, *around):
        first, second = _start(e, row, shape[axis]), _start(e, column, shape[last])
        with e.w.nest((_TILE, _TILE)) as (own, inner):
            index = list(around)
            index[axis] = e.w.add(first, own)
            index[last] = e.w.add(second, inner)
            yield tuple(index)


def _start(e: Emitter, tile: Index, extent: int) -> Index:
    """Where a tile begins: the last one so that it ends with the axis."""
    start = e.w.multiply(tile, _TILE)
    if extent % _TILE == 0:
        return start
    least = e.w.index(extent - _TILE)
    if isinstance(start, int):
        return min(start, extent - _TILE)
    return e.w.builder.select(e.w.builder.icmp_signed("<", start, least), start, least)

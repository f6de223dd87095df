"""Elements put into a tensor by index: in place where nobody reads the old value any more.

A carried value that is only put into is written where it is, so that an iteration costs what it
puts in (see inplace). Other tensors are copied once, at the first of several Puts.
"""

from __future__ import annotations

from typing import Any

from treadle.jit.emit import scalars
from treadle.jit.emit.buffer import Buffer, Flat, Indices, dense_strides
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.index import depth_of, found_at, placed
from treadle.jit.emit.inplace import is_in
from treadle.jit.emit.nest import Nests
from treadle.jit.emit.place import Place
from treadle.jit.emit.types import in_memory
from treadle.jit.kernel_ir import Fetch, Join, Node, Part, Pick, Put, extents

_OWN = (Put, Join, Fetch, Pick, Part)


def emit_put(e: Emitter, node: Node, nests: Nests) -> None:
    """The tensor with the elements put in, into registers or memory."""
    t = e.t
    nests.flush_all()
    buffer = _target(e, node, nests)
    _write(e, node, buffer)
    if t.place(node) is Place.REGISTERS:
        t.keep(node, [t.load(buffer, Flat(position)) for position in range(node.size)])
        return
    t.buffers[node] = buffer


def _target(e: Emitter, node: Node, nests: Nests) -> Buffer:
    """The memory of the old value, where it can be had, or a copy of it."""
    data = node.operands[0]
    if e.t.place(node) is Place.REGISTERS:
        shape = extents(node)
        pointer = e.w.variable(in_memory(node.dtype), count=max(node.size, 2))
        buffer = Buffer(pointer, node.dtype, dense_strides(shape), e.t.aliases.fresh())
    elif _may_take(e, node, nests):
        return e.t.buffers[data]
    else:
        buffer = e.allocate(node)
    e.copy(data, buffer)
    return buffer


def _may_take(e: Emitter, node: Node, nests: Nests) -> bool:
    data, *others = node.operands
    if data not in e.t.buffers or data in others or node in e.bound or data in e.kernel.results:
        return False
    state = nests.ending.into.get(node)
    is_state = state is not None and is_in(e, data, state)
    is_own = isinstance(data.op, _OWN) and data.home is node.home and e.t.buffers[data].is_dense
    if not (is_state or is_own):
        return False
    readers = e.t.places.readers.get(data, ())
    return all(reader is node or nests.is_over(reader, data, []) for reader in readers)


def _write(e: Emitter, node: Node, buffer: Buffer) -> None:
    op, t = node.op, e.t
    assert isinstance(op, Put)
    data, updates, *indices = node.operands
    shape, depth = t.shape(updates), depth_of(indices)
    with e.w.nest(shape[:depth]) as at, t.scope():
        found = found_at(e, data, op.axes, indices, at)
        with e.w.nest(shape[depth:]) as rest, t.scope():
            index = (*at, *rest)
            place = placed(e, op.axes, found, index)
            t.store(buffer, place, _combined(e, node, buffer, place, t.read(updates, index)))


def _combined(e: Emitter, node: Node, buffer: Buffer, place: Indices, update: Any) -> Any:
    op, dtype = node.op, node.dtype
    assert isinstance(op, Put)
    if not op.function:
        return update
    old = e.t.load(buffer, place)
    return scalars.apply(e.w, op.function, (dtype, dtype), dtype, old, update)

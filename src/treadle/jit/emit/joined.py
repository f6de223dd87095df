"""Operands of a Join that are computed right where they belong in it.

A tensor that only a Join reads takes its part of the Join's memory, through Joins of Joins, so that
what stands between borders is written once.
"""

from __future__ import annotations

from collections.abc import Collection

from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.place import Place
from treadle.jit.emit.tensors import Buffer
from treadle.jit.kernel_ir import Join, Node, State, extents


def memory(e: Emitter, node: Node, nest: Collection[Node] = ()) -> Buffer | None:
    """The part of a Join's memory for an operand; None unless that Join alone reads it.

    `nest` are the nodes that read it while it is in a register.
    """
    readers = [each for each in e.t.places.readers.get(node, ()) if each not in nest]
    if len(readers) != 1 or node in e.kernel.results or not _takes(e, readers[0], node):
        return None
    return _part(e, readers[0], node)


def whole(e: Emitter, join: Node) -> Buffer:
    """The memory of a Join: that its operands were put into, or a part of another's, or its own."""
    return e.joined.pop(join, None) or memory(e, join) or e.allocate(join)


def is_there(e: Emitter, join: Node, node: Node) -> bool:
    """Whether the operand is where it belongs already."""
    return e.t.buffers.get(node) is e.placed.get((join, node), 0)


def _takes(e: Emitter, join: Node, node: Node) -> bool:
    if not isinstance(join.op, Join) or join.home is not node.home or not join.is_static:
        return False
    is_plain = all(o.is_static and not isinstance(o.op, State) for o in join.operands)
    is_lone = join.operands.count(node) == 1
    return is_plain and is_lone and e.t.place(join) is Place.BUFFER


def _part(e: Emitter, join: Node, node: Node) -> Buffer:
    op = join.op
    assert isinstance(op, Join)
    if join not in e.joined:
        e.joined[join] = memory(e, join) or e.allocate(join)
    buffer, first = e.joined[join], 0
    for operand in join.operands:
        if operand is node:
            break
        first += extents(operand)[op.axis]
    place = tuple(first if k == op.axis else 0 for k in range(len(join.shape)))
    is_whole = buffer.is_dense and all(extent == 1 for extent in node.shape[: op.axis])
    start = e.t.address(buffer, place)
    part = Buffer(start, node.dtype, buffer.strides, buffer.scope, is_dense=is_whole)
    e.placed[join, node] = part
    return part

"""Operands of a Join that are computed right where they belong in it.

A tensor that only a Join reads takes its part of the Join's memory, through Joins of Joins, so that
what stands between borders is written once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.place import Place
from treadle.jit.kernel_ir import Join, Node, Put, State, extents


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
    return e.joined.pop(join, None) or memory(e, join) or _own(e, join)


def is_there(e: Emitter, join: Node, node: Node) -> bool:
    """Whether the operand is where it belongs already."""
    return e.t.buffers.get(node) is e.placed.get((join, node), 0)


@contextmanager
def once(e: Emitter, join: Node | None, operand: Node) -> Iterator[None]:
    """What is written inside, in every iteration, or in the first where the operand stays there."""
    if join is None or not _stays(e, join, operand):
        yield
        return
    w = e.w
    is_first = w.builder.icmp_signed("==", w.index(e.t.counters[join.home]), w.index(0))
    with w.builder.if_then(is_first), e.t.scope():
        yield


def _own(e: Emitter, join: Node) -> Buffer:
    found = e.swaps.get(join)
    return e.allocate(join) if found is None else found.target


def _stays(e: Emitter, join: Node, operand: Node) -> bool:
    """Whether the loop neither changes the operand nor writes anything else where it is put."""
    is_known = join.home.is_loop and operand.home.depth < join.home.depth
    while is_known and join.is_static and join not in e.swaps and _is_left_alone(e, join):
        (reader, *others) = e.t.places.readers.get(join, (join,))
        if others or not _takes(e, reader, join):
            return True
        join = reader
    return False


def _is_left_alone(e: Emitter, join: Node) -> bool:
    readers = e.t.places.readers.get(join, ())
    return not any(isinstance(reader.op, Put) for reader in readers)


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
        e.joined[join] = memory(e, join) or _own(e, join)
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

"""Running sums and products along an axis: each element from the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from treadle.jit.emit import scalars
from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.place import Place
from treadle.jit.emit.reduce import neutral
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Node, Running, extents


def emit_running(e: Emitter, node: Node) -> None:
    """The sums, into registers or memory; rows before and after the axis are independent."""
    op, t = node.op, e.t
    assert isinstance(op, Running)
    if t.place(node) is Place.REGISTERS:
        _unrolled(e, node, op)
        return
    buffer = e.allocate(node)
    count = t.shape(node)[op.axis]
    if not isinstance(count, int):
        with e.w.builder.if_then(e.w.builder.icmp_signed(">", count, e.w.index(0))):
            _walk(e, node, op, buffer)
    elif count:
        _walk(e, node, op, buffer)
    t.buffers[node] = buffer


def _walk(e: Emitter, node: Node, op: Running, buffer: Buffer) -> None:
    t, shape = e.t, e.t.shape(node)
    with e.w.nest(shape[: op.axis]) as before:
        with e.w.nest(shape[op.axis + 1 :]) as after, t.scope():
            t.store(buffer, (*before, 0, *after), _first(e, node, op, (*before, 0, *after)))
        left = e.w.add(shape[op.axis], -1)
        with e.w.range(left) as k, e.w.nest(shape[op.axis + 1 :]) as after:
            _next(e, node, op, buffer, (before, k, after))


def _first(e: Emitter, node: Node, op: Running, index: Sequence[Index]) -> Any:
    if op.exclusive:
        return neutral(op.function, node.dtype)
    return e.t.read(node.operands[0], tuple(index))


def _next(
    e: Emitter,
    node: Node,
    op: Running,
    buffer: Buffer,
    at: tuple[Sequence[Index], Index, Sequence[Index]],
) -> None:
    before, k, after = at
    here = e.w.add(k, 1)
    with e.t.scope():
        last = e.t.load(buffer, (*before, k, *after))
        taken = k if op.exclusive else here
        element = e.t.read(node.operands[0], (*before, taken, *after))
        e.t.store(buffer, (*before, here, *after), _sum(e, node, op, last, element))


def _sum(e: Emitter, node: Node, op: Running, last: Any, element: Any) -> Any:
    dtype = node.dtype
    return scalars.apply(e.w, op.function, (dtype, dtype), dtype, last, element)


def _unrolled(e: Emitter, node: Node, op: Running) -> None:
    made: dict[tuple[int, ...], Any] = {}
    for index in product(*map(range, extents(node))):
        k = index[op.axis]
        if k == 0:
            made[index] = _first(e, node, op, index)
            continue
        last = (*index[: op.axis], k - 1, *index[op.axis + 1 :])
        element = e.t.read(node.operands[0], last if op.exclusive else index)
        made[index] = _sum(e, node, op, made[last], element)
    e.t.keep(node, list(made.values()))

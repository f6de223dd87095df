"""Reading by index: every index is checked, a negative one counts from the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from treadle.ir import DType
from treadle.jit.emit import scalars
from treadle.jit.emit.emitter import OUT_OF_RANGE, Emitter
from treadle.jit.emit.place import Place
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Node, Pick, extents


def emit_pick(e: Emitter, node: Node) -> None:
    """The items, into registers or memory."""
    op, t = node.op, e.t
    assert isinstance(op, Pick)
    data, indices = node.operands
    axis, rank = op.axis, len(indices.shape)
    given = t.shape(data)
    if t.place(node) is Place.REGISTERS:
        checked = {
            at: _checked(e, indices, at, given[axis])
            for at in product(*map(range, extents(indices)))
        }
        values = []
        for index in product(*map(range, extents(node))):
            item = checked[index[axis : axis + rank]]
            values.append(t.read(data, (*index[:axis], item, *index[axis + rank :])))
        t.keep(node, values)
        return
    buffer = e.allocate(node)
    with e.w.nest(t.shape(indices)) as at, t.scope():
        item = _checked(e, indices, at, given[axis])
        with e.w.nest((*given[:axis], *given[axis + 1 :])) as rest, t.scope():
            value = t.read(data, (*rest[:axis], item, *rest[axis:]))
            t.store(buffer, (*rest[:axis], *at, *rest[axis:]), value)
    t.buffers[node] = buffer


def _checked(e: Emitter, indices: Node, at: Sequence[Index], extent: Index) -> Any:
    b = e.w.builder
    found = scalars.cast(e.w, e.t.read(indices, tuple(at)), indices.dtype, DType.INT64)
    limit = e.w.index(extent)
    wrapped = b.select(b.icmp_signed("<", found, e.w.index(0)), b.add(found, limit), found)
    e.fail_if(b.icmp_unsigned(">=", wrapped, limit), OUT_OF_RANGE)
    return wrapped

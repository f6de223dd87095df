"""Reading by index: every index is checked, a negative one counts from the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from treadle.ir import DType
from treadle.jit.emit import scalars
from treadle.jit.emit.emitter import OUT_OF_RANGE, Emitter
from treadle.jit.emit.place import Place
from treadle.jit.emit.types import I64
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Axis, Fetch, Node, Pick, Places, extents


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


def emit_positions(e: Emitter, node: Node) -> None:
    """Where the mask holds, one after the other."""
    (mask,), t, b = node.operands, e.t, e.w.builder
    buffer = e.allocate(node)
    most = e.w.index(t.extent(node.shape[0]))
    found = e.w.variable(I64, e.w.index(0))
    with e.w.nest(t.shape(mask)) as at, t.scope():
        count = b.load(found, typ=I64)
        is_wanted = b.and_(t.read(mask, at), b.icmp_signed("<", count, most))
        with b.if_then(is_wanted), t.scope():
            t.store(buffer, (count,), e.w.index(at[0]))
            b.store(b.add(count, e.w.index(1)), found)
    t.buffers[node] = buffer


def emit_fetch(e: Emitter, node: Node) -> None:
    """The elements, into registers or memory."""
    op, t = node.op, e.t
    assert isinstance(op, Fetch)
    data, *indices = node.operands
    shape = t.shape(node)
    if t.place(node) is Place.REGISTERS:
        every = product(*map(range, shape))
        t.keep(node, [t.read(data, place_of(e, data, op.axes, indices, at)) for at in every])
        return
    buffer, depth = e.allocate(node), depth_of(indices)
    with e.w.nest(shape[:depth]) as at, t.scope():
        found = found_at(e, data, op.axes, indices, at)
        with e.w.nest(shape[depth:]) as rest, t.scope():
            t.store(buffer, (*at, *rest), t.read(data, placed(e, op.axes, found, (*at, *rest))))
    t.buffers[node] = buffer


def depth_of(indices: Sequence[Node]) -> int:
    """How many of the first axes change what the indices say."""
    each = [k + 1 for index in indices for k, extent in enumerate(index.shape) if extent != 1]
    return max(each, default=0)


def found_at(
    e: Emitter, data: Node, axes: Places, indices: Sequence[Node], at: Sequence[Index]
) -> dict[int, Any]:
    """What the indices say at a place, checked, by operand."""
    given = e.t.shape(data)
    found: dict[int, Any] = {}
    for axis, place in enumerate(axes):
        if isinstance(place, int):
            index = indices[place]
            own = [0 if extent == 1 else at[k] for k, extent in enumerate(index.shape)]
            found[place] = _checked(e, index, own, given[axis])
    return found


def placed(
    e: Emitter, axes: Places, found: dict[int, Any], index: Sequence[Index]
) -> tuple[Index, ...]:
    """The place in a tensor, by axis."""
    return tuple(
        e.t.along(place, index) if isinstance(place, Axis) else found[place] for place in axes
    )


def place_of(
    e: Emitter, data: Node, axes: Places, indices: Sequence[Node], index: Sequence[Index]
) -> tuple[Index, ...]:
    """The place an index of the result, or of the update, stands for."""
    return placed(e, axes, found_at(e, data, axes, indices, index), index)


def _checked(e: Emitter, indices: Node, at: Sequence[Index], extent: Index) -> Any:
    b = e.w.builder
    found = scalars.cast(e.w, e.t.read(indices, tuple(at)), indices.dtype, DType.INT64)
    limit = e.w.index(extent)
    wrapped = b.select(b.icmp_signed("<", found, e.w.index(0)), b.add(found, limit), found)
    e.fail_if(b.icmp_unsigned(">=", wrapped, limit), OUT_OF_RANGE)
    return wrapped

"""Carried values whose extents change from one iteration to the next.

    scratch = initial; dims = its extents
    in each iteration: what comes next is written to other memory, then the two change places

Where the next value is the old one with something behind it, only that is written: the memory has
room for more rows than there are, and gets twice as many when they are full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.joined import is_there, once
from treadle.jit.emit.scratch import Scratch, larger
from treadle.jit.emit.types import I64
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Dim, Extent, Join, Loop, Node

_FIRST_ROWS = 16


@dataclass(eq=False, slots=True)
class Moving:
    """One carried value; `rows` holds how many rows there is room for where it only grows."""

    number: int
    state: Node
    after: Node
    scratch: Scratch
    spare: Scratch
    scope: str
    dims: Mapping[int, Any]
    axis: int = 0
    rows: Any = None
    pending: Scratch | None = None
    new: Mapping[int, Any] | None = None

    def shape(self, e: Emitter) -> tuple[Index, ...]:
        """The extents it has now."""
        b = e.w.builder
        return tuple(
            b.load(self.dims[k], typ=I64) if k in self.dims else e.t.extent(extent)
            for k, extent in enumerate(self.state.shape)
        )

    def room(self, e: Emitter, shape: Sequence[Index], rows: Index) -> tuple[Index, ...]:
        """The shape with so many rows."""
        return (*shape[: self.axis], rows, *shape[self.axis + 1 :])

    @property
    def is_dense(self) -> bool:
        """Whether its elements are in row-major order without gaps."""
        return self.rows is None or all(e == 1 for e in self.state.shape[: self.axis])

    def buffer(self, e: Emitter) -> Buffer:
        """Its memory now."""
        shape = self.shape(e)
        if not self.is_dense:
            shape = self.room(e, shape, e.w.builder.load(self.rows, typ=I64))
        owner = self.scratch if self.is_dense else None
        return Buffer(
            self.scratch.at(e.w), self.state.dtype, e.w.strides(shape), self.scope,
            is_dense=self.is_dense, owner=owner,
        )  # fmt: skip


def changing(state: Node, number: int) -> list[int]:
    """The axes of a carried value whose extent changes."""
    sources = [each.source if isinstance(each, Extent) else None for each in state.shape]
    return [
        axis
        for axis, source in enumerate(sources)
        if source is not None and source.home is state.home and source.op == Dim(number, axis)
    ]


def begin(e: Emitter, op: Loop, number: int, initial: Node, part: Node | None) -> Moving:
    """The value at the start of the loop."""
    state, after = op.states[number], op.nexts[number]
    shape = e.t.shape(initial)
    dims = {k: e.w.variable(I64, e.w.index(shape[k])) for k in changing(state, number)}
    scope = e.scopes.get(part) if part is not None else None
    made = Moving(number, state, after, e.scratch(), e.scratch(),
                  scope or e.t.aliases.fresh(), dims)  # fmt: skip
    axis = _appends(op, state, after, dims)
    if axis is not None:
        made.axis = axis
        made.rows = e.w.variable(I64, e.w.index(shape[axis]))
        e.counts["growing"] += 1
    elif after.home is op.body and op.nexts.count(after) == 1:
        e.scopes[after] = made.scope
    buffer = e.fill(made.scratch, initial, made.scope)
    e.copy(initial, buffer)
    e.moving[state] = made
    return made


def _appends(op: Loop, state: Node, after: Node, dims: Mapping[int, Any]) -> int | None:
    """The axis along which the next value is the old one and something behind it."""
    if not isinstance(after.op, Join) or after.home is not op.body:
        return None
    is_apart = op.nexts.count(after) == 1 and after.operands.count(state) == 1
    is_append = after.operands[0] is state and set(dims) == {after.op.axis}
    return after.op.axis if is_apart and is_append else None


def load(e: Emitter, op: Loop, made: Moving) -> None:
    """The extents of this iteration."""
    for axis, variable in made.dims.items():
        e.dims[op.body, made.number, axis] = e.w.builder.load(variable, typ=I64)


def appended(e: Emitter, node: Node) -> bool:
    """Write a Join behind the carried value it begins with; whether it is such a Join."""
    made = e.moving.get(node.operands[0])
    if made is None or made.after is not node or made.rows is None:
        return False
    old = made.shape(e)
    rows = e.w.index(e.t.extent(node.shape[made.axis]))
    e.foresee(node, made.room(e, old, rows))
    _grow(e, made, old, rows)
    e.t.buffers[made.state] = made.buffer(e)
    whole = e.t.buffers[made.state]
    join_into(e, whole, made.axis, old[made.axis], node.operands[1:])
    e.t.buffers[node] = whole
    return True


def _grow(e: Emitter, made: Moving, old: Sequence[Index], rows: Any) -> None:
    """Room for so many rows."""
    w, b = e.w, e.w.builder
    with w.rarely(b.icmp_signed(">", rows, b.load(made.rows, typ=I64))):
        room = b.load(made.rows, typ=I64)
        more = larger(w, larger(w, b.shl(room, w.index(1)), rows), w.index(_FIRST_ROWS))
        shape = made.room(e, old, more)
        if made.is_dense:
            e.reserve(made.scratch, shape, made.state.dtype, keep=True)
        else:
            e.reserve(made.spare, shape, made.state.dtype)
            before = made.buffer(e)
            after = Buffer(made.spare.at(w), made.state.dtype, w.strides(shape), made.scope)
            with w.nest(old) as index:
                e.t.store(after, index, e.t.load(before, index))
            made.scratch.swap(w, made.spare)
        b.store(more, made.rows)


def join_into(
    e: Emitter,
    buffer: Buffer,
    axis: int,
    first: Index,
    operands: Sequence[Node],
    join: Node | None = None,
) -> None:
    """The operands one after the other along the axis, from `first` on, but those there already."""
    for operand in operands:
        place = tuple(first if k == axis else 0 for k in range(len(buffer.strides)))
        start = e.t.address(buffer, place)
        is_whole = buffer.is_dense and all(extent == 1 for extent in operand.shape[:axis])
        part = Buffer(start, buffer.dtype, buffer.strides, buffer.scope, is_dense=is_whole)
        if join is None or not is_there(e, join, operand):
            with once(e, join, operand):
                e.copy(operand, part)
        first = e.w.add(first, e.t.extent(operand.shape[axis]))


def make_next(e: Emitter, op: Loop, made: Moving) -> None:
    """The next value in memory of its own; that of the old one stays as it is."""
    made.pending, made.new = None, None
    if made.after is made.state:
        return
    made.new = {axis: e.w.index(e.t.extent(made.after.shape[axis])) for axis in made.dims}
    if made.rows is not None:
        return
    e.counts["remade"] += 1
    found = e.t.buffers.get(made.after)
    if found is not None and e.scopes.get(made.after) == found.scope == made.scope:
        made.pending = found.owner if found.is_dense else None
    if made.pending is None:
        e.copy(made.after, e.fill(made.spare, made.after, made.scope))
        made.pending = made.spare


def take_next(e: Emitter, made: Moving) -> None:
    """The next value is the carried one from here on."""
    if made.pending is not None:
        made.scratch.swap(e.w, made.pending)
    for axis, value in (made.new or {}).items():
        e.w.builder.store(value, made.dims[axis])


def end(e: Emitter, node: Node, made: Moving) -> None:
    """The last value and its extents."""
    for axis, variable in made.dims.items():
        e.dims[node, made.number, axis] = e.w.builder.load(variable, typ=I64)
    e.parts[node, made.number] = made.buffer(e)

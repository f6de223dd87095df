"""Carried values that only move on: a delay line is a window over what it was and what comes.

    next = Join(state[1:], x[i])      state = line[i : i + n]     of  line = initial, x
    next = Join(x[i], state[:-1])     state = line[m - i :][:n]   of  line = reversed(x), initial

The line is put into memory before the loop: nothing is moved in it, and no iteration waits for the
one before. For FIR filters, causal convolutions and windows of the last tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.place import Place, keeps_order
from treadle.jit.emit.types import in_memory
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Axis, Item, Join, Loop, Node, Reshape, View, extents


@dataclass(frozen=True, eq=False, slots=True)
class Delay:
    """One delay line: its memory, how many rows come, and from which end."""

    state: Node
    line: Buffer
    length: Any
    is_forward: bool

    def first(self, e: Emitter, i: Index) -> Index:
        """The row of the line that the window begins with, before iteration i."""
        return i if self.is_forward else e.w.builder.sub(self.length, e.w.index(i))

    def place(self, e: Emitter, node: Node, i: Index) -> None:
        """Let the node be the window before iteration i."""
        if e.t.place(node) is Place.REGISTERS:
            e.t.keep(node, self.elements(e, i))
        else:
            e.t.buffers[node] = self.window(e, i)

    def elements(self, e: Emitter, i: Index) -> list[Any]:
        """Those of the window, loaded."""
        first, size = self.first(e, i), self.state.size
        places = (e.t.unflat(position, extents(self.state)) for position in range(size))
        return [e.t.load(self.line, (e.w.add(first, row), *rest)) for row, *rest in places]

    def window(self, e: Emitter, i: Index) -> Buffer:
        """The memory of the window."""
        return self.rows(e, self.first(e, i))

    def rows(self, e: Emitter, first: Index) -> Buffer:
        """The line from a row on."""
        offset = e.w.index(e.w.multiply(first, prod(extents(self.state)[1:])))
        type_ = in_memory(self.state.dtype)
        pointer = e.w.builder.gep(self.line.pointer, [offset], source_etype=type_, inbounds=True)
        return replace(self.line, pointer=pointer, owner=None)

    def end(self, e: Emitter, loop: Node, number: int, count: Any) -> None:
        """The window that is left is the last value of the loop."""
        part = e.part(loop, number)
        if e.t.place(self.state) is Place.REGISTERS:
            e.parts[loop, number] = self.elements(e, count)
        elif part is not None:
            left, buffer = self.window(e, count), e.allocate(part)
            with e.w.nest(extents(part)) as index, e.t.scope():
                e.t.store(buffer, index, e.t.load(left, index))
            e.parts[loop, number] = buffer


def begin(e: Emitter, op: Loop, number: int, initial: Node) -> bool:
    """Put the line of a carried value into memory, if it is one."""
    found = _coming(op, number)
    if found is None:
        return False
    source, is_forward = found
    state, w = op.states[number], e.w
    count, *row = extents(state)
    length = w.index(e.t.extent(source.shape[0]))
    scratch, shape = e.scratch(), (w.add(length, count), *row)
    e.reserve(scratch, shape, state.dtype)
    line = Buffer(scratch.at(w), state.dtype, w.strides(shape), e.t.aliases.fresh(), owner=scratch)
    delay = Delay(state, line, length, is_forward)
    e.copy(initial, delay.window(e, 0))
    e.copy(source, _coming_rows(e, delay, count))
    e.delays[state], e.delays[op.nexts[number]] = delay, delay
    e.counts["delay_lines"] += 1
    return True


def _coming_rows(e: Emitter, delay: Delay, count: int) -> Buffer:
    """Where the rows go that come: behind the first window, or before it and backwards."""
    if delay.is_forward:
        return delay.rows(e, count)
    last = delay.rows(e, e.w.builder.sub(delay.length, e.w.index(1)))
    row, *rest = last.strides
    return replace(last, strides=(e.w.multiply(-1, row), *rest), is_dense=False)


def _coming(op: Loop, number: int) -> tuple[Node, bool] | None:
    """What comes into a delay line row by row, and whether at its end."""
    state, after = op.states[number], op.nexts[number]
    is_counted = not op.has_condition and op.next_condition is None
    if not (is_counted and state.is_static and state.shape and isinstance(after.op, Join)):
        return None
    if after.op.axis or len(after.operands) != 2 or op.nexts.count(after) > 1:
        return None
    for is_forward in (True, False):
        kept, new = after.operands if is_forward else after.operands[::-1]
        source = _rows(new, op)
        if source is not None and _is_kept(kept, state, int(is_forward)):
            return source, is_forward
    return None


def _is_kept(kept: Node, state: Node, offset: int) -> bool:
    """Whether it is the state without its first row, or without its last one."""
    axes = (Axis(offset, ((0, 1),)), *(Axis(0, ((k, 1),)) for k in range(1, len(state.shape))))
    shape = (extents(state)[0] - 1, *state.shape[1:])
    is_view = kept.op == View(axes) and kept.operands == (state,)
    return is_view and kept.shape == shape and kept.dtype == state.dtype


def _rows(new: Node, op: Loop) -> Node | None:
    """What the loop goes through of which this is the row of the iteration."""
    shape: Sequence[Index] = new.shape
    while isinstance(new.op, Reshape) or (isinstance(new.op, View) and keeps_order(new)):
        new = new.operands[0]
    if not (isinstance(new.op, Item) and new.home is op.body):
        return None
    is_row = not new.op.axis and not new.op.reverse and tuple(shape) == (1, *new.shape)
    return new.operands[0] if is_row else None

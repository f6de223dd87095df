"""Delay lines: a carried shift register is a window over its history in memory.

    next = Concat(state[1:], x[i])      state = line[i : i + n]     of  line = initial, x
    next = Concat(x[i], state[:-1])     state = line[m - i :][:n]   of  line = reversed(x), initial

The line is written to memory before the loop: the loop moves nothing, and no iteration depends on
the previous one. Used for FIR filters, causal convolutions and windows of the last tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from treadle.jit.codegen.allocation import allocate, new_heap_buffer, reserve, result_node
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.iteration_space import copy_node
from treadle.jit.codegen.llvm_types import memory_type
from treadle.jit.kernel.ir import Axis, Concat, Loop, Node, Reshape, ScanSlice, View, static_shape
from treadle.jit.schedule.storage import Storage, keeps_order


@dataclass(frozen=True, eq=False, slots=True)
class DelayLine:
    """One delay line: its memory, the number of incoming rows, and the end they enter at."""

    state: Node
    line: Buffer
    length: Any
    is_forward: bool

    def first(self, context: CodegenContext, index: Index) -> Index:
        """The row of the line at which the window starts before iteration i."""
        return (
            index
            if self.is_forward
            else context.builder.builder.sub(self.length, context.builder.index(index))
        )

    def storage_of(self, context: CodegenContext, node: Node, index: Index) -> None:
        """Let the node be the window before iteration i."""
        if context.access.storage_of(node) is Storage.REGISTERS:
            context.access.keep(node, self.elements(context, index))
        else:
            context.access.buffers[node] = self.window(context, index)

    def elements(self, context: CodegenContext, index: Index) -> list[Any]:
        """The elements of the window, loaded."""
        first, size = self.first(context, index), self.state.size
        places = (
            context.access.unflat(position, static_shape(self.state)) for position in range(size)
        )
        return [
            context.access.load(self.line, (context.builder.add(first, row), *rest))
            for row, *rest in places
        ]

    def window(self, context: CodegenContext, index: Index) -> Buffer:
        """The memory of the window."""
        return self.rows(context, self.first(context, index))

    def rows(self, context: CodegenContext, first: Index) -> Buffer:
        """The line from a row on."""
        offset = context.builder.index(
            context.builder.multiply(first, prod(static_shape(self.state)[1:]))
        )
        type_ = memory_type(self.state.dtype)
        pointer = context.builder.builder.gep(
            self.line.pointer, [offset], source_etype=type_, inbounds=True
        )
        return replace(self.line, pointer=pointer, owner=None)

    def end(self, context: CodegenContext, loop: Node, number: int, count: Any) -> None:
        """The window after the loop, which is the carried value's final value."""
        part = result_node(context, loop, number)
        if context.access.storage_of(self.state) is Storage.REGISTERS:
            context.results.values[loop, number] = self.elements(context, count)
        elif part is not None:
            left, buffer = self.window(context, count), allocate(context, part)
            with context.builder.nest(static_shape(part)) as index, context.access.scope():
                context.access.store(buffer, index, context.access.load(left, index))
            context.results.values[loop, number] = buffer


def begin(context: CodegenContext, op: Loop, number: int, initial: Node) -> bool:
    """Write the line of a carried value to memory, if it is a delay line."""
    found = _coming(op, number)
    if found is None:
        return False
    source, is_forward = found
    state, w = op.states[number], context.builder
    count, *row = static_shape(state)
    length = w.index(context.access.extent(source.shape[0]))
    scratch, shape = new_heap_buffer(context), (w.add(length, count), *row)
    reserve(context, scratch, shape, state.dtype)
    line = Buffer(
        scratch.at(w), state.dtype, w.strides(shape), context.access.aliases.fresh(), owner=scratch
    )
    delay = DelayLine(state, line, length, is_forward)
    copy_node(context, initial, delay.window(context, 0))
    copy_node(context, source, _coming_rows(context, delay, count))
    context.carried.delay_lines[state], context.carried.delay_lines[op.nexts[number]] = delay, delay
    context.counts["delay_lines"] += 1
    return True


def _coming_rows(context: CodegenContext, delay: DelayLine, count: int) -> Buffer:
    """The destination of the incoming rows: after the first window, or reversed before it."""
    if delay.is_forward:
        return delay.rows(context, count)
    last = delay.rows(context, context.builder.builder.sub(delay.length, context.builder.index(1)))
    row, *rest = last.strides
    return replace(last, strides=(context.builder.multiply(-1, row), *rest), is_dense=False)


def _coming(op: Loop, number: int) -> tuple[Node, bool] | None:
    """The rows that enter a delay line, and whether they enter at its end."""
    state, after = op.states[number], op.nexts[number]
    is_counted = not op.has_condition and op.next_condition is None
    if not (is_counted and state.is_static and state.shape and isinstance(after.op, Concat)):
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
    shape = (static_shape(state)[0] - 1, *state.shape[1:])
    is_view = kept.op == View(axes) and kept.operands == (state,)
    return is_view and kept.shape == shape and kept.dtype == state.dtype


def _rows(new: Node, op: Loop) -> Node | None:
    """The tensor whose item in this iteration is the row."""
    shape: Sequence[Index] = new.shape
    while isinstance(new.op, Reshape) or (isinstance(new.op, View) and keeps_order(new)):
        new = new.operands[0]
    if not (isinstance(new.op, ScanSlice) and new.home is op.body):
        return None
    is_row = not new.op.axis and not new.op.reverse and tuple(shape) == (1, *new.shape)
    return new.operands[0] if is_row else None

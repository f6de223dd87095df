"""Delay lines: a carried shift register is a window over its history in memory.

    next = Concat(state[1:], x[i])      state = line[i : i + n]     of  line = initial, x
    next = Concat(x[i], state[:-1])     state = line[m - i :][:n]   of  line = reversed(x), initial

The line is written to memory before the loop: the loop moves nothing, and no iteration depends on
the previous one. Used for FIR filters, causal convolutions and windows of the last tokens. A
register along another axis, as [channels, taps], is the same line, read with its rows as columns.
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
from treadle.jit.kernel.ir import Loop, Node, static_shape
from treadle.jit.schedule.layouts.windows import Window
from treadle.jit.schedule.storage import Storage


@dataclass(frozen=True, eq=False, slots=True)
class DelayLine:
    """One delay line: its memory, the number of incoming rows, the end they enter at, the axis."""

    state: Node
    line: Buffer
    length: Any
    is_forward: bool
    axis: int

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
        moved = ((place[self.axis], *_without(place, self.axis)) for place in places)
        return [
            context.access.load(self.line, (context.builder.add(first, row), *rest))
            for row, *rest in moved
        ]

    def window(self, context: CodegenContext, index: Index) -> Buffer:
        """The memory of the window."""
        rows = self.rows(context, self.first(context, index))
        if not self.axis:
            return rows
        row, *rest = rows.strides
        strides = (*rest[: self.axis], row, *rest[self.axis :])
        return replace(rows, strides=strides)

    def rows(self, context: CodegenContext, first: Index) -> Buffer:
        """The line from a row on."""
        offset = context.builder.index(
            context.builder.multiply(first, prod(_without(static_shape(self.state), self.axis)))
        )
        type_ = memory_type(self.state.dtype)
        pointer = context.builder.builder.gep(
            self.line.pointer, [offset], source_etype=type_, inbounds=True
        )
        return replace(self.line, pointer=pointer, owner=None)

    def end(self, context: CodegenContext, loop: Node, number: int, count: Any) -> None:
        """The window after the loop, which is the carried value's final value."""
        part = result_node(context, loop, number)
        if part is None:
            return
        if context.access.storage_of(self.state) is Storage.REGISTERS:
            context.results.values[loop, number] = self.elements(context, count)
        else:
            left, buffer = self.window(context, count), allocate(context, part)
            with context.builder.nest(static_shape(part)) as index, context.access.scope():
                context.access.store(buffer, index, context.access.load(left, index))
            context.results.values[loop, number] = buffer


def begin(context: CodegenContext, op: Loop, number: int, initial: Node, window: Window) -> None:
    """Write the line of a carried value to memory."""
    state, w, source = op.states[number], context.builder, window.source
    count, row = static_shape(state)[window.axis], _without(static_shape(state), window.axis)
    length = w.index(context.access.extent(source.shape[0]))
    scratch, shape = new_heap_buffer(context), (w.add(length, count), *row)
    reserve(context, scratch, shape, state.dtype)
    line = Buffer(
        scratch.at(w), state.dtype, w.strides(shape), context.access.aliases.fresh(), owner=scratch
    )
    delay = DelayLine(state, line, length, window.is_forward, window.axis)
    order, around = context.schedule.order, op.body.parent
    copy_node(context, initial, delay.window(context, 0), around, order.in_window(state))
    coming = _coming_rows(context, delay, count)
    copy_node(context, source, coming, around, order.entering(state))
    context.carried.delay_lines[state], context.carried.delay_lines[op.nexts[number]] = delay, delay
    context.counts["delay_lines"] += 1


def _coming_rows(context: CodegenContext, delay: DelayLine, count: int) -> Buffer:
    """The destination of the incoming rows: after the first window, or reversed before it."""
    if delay.is_forward:
        return delay.rows(context, count)
    last = delay.rows(context, context.builder.builder.sub(delay.length, context.builder.index(1)))
    row, *rest = last.strides
    return replace(last, strides=(context.builder.multiply(-1, row), *rest))


def _without(items: Sequence[Any], axis: int) -> tuple[Any, ...]:
    """The items of all other axes."""
    return (*items[:axis], *items[axis + 1 :])

"""Sliding windows: carried arrays that are a window into memory with spare rows.

    memory[first : first + extent] = initial
    in each iteration: the rows that enter are written beside the window; then first += rows
    once the spare rows are used up: the window is copied back, and first = 0

Windows into which rows enter at their start move to the start of the memory instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from treadle.jit.codegen.allocation import allocate, result_node
from treadle.jit.codegen.buffer import Buffer, dense_strides
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.iteration_space import copy_node
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.ops.concat_in_place import join_into, written_whole
from treadle.jit.kernel.ir import Loop, Node, static_shape
from treadle.jit.schedule.layouts.memory_order import Destination
from treadle.jit.schedule.layouts.sliding_windows import SlidingWindow, entering


@dataclass(eq=False, slots=True)
class SlidingState:
    """One such value: its memory, and the variable with the first row of the window.

    `target` is the memory of the next value in the iteration that is being emitted.
    """

    number: int
    state: Node
    window: SlidingWindow
    memory: Buffer
    first: Any
    target: Buffer

    @property
    def step(self) -> int:
        """The rows by which the window moves on."""
        return self.window.rows if self.window.is_forward else -self.window.rows

    @property
    def start(self) -> int:
        """The first row of the window before the first iteration."""
        return 0 if self.window.is_forward else self.window.spare

    @property
    def destination(self) -> Destination:
        """The window as a part of its memory."""
        shape = static_shape(self.state)
        return Destination(prod(shape[: self.window.axis]) == 1)

    def at(self, context: CodegenContext, row: Index) -> Buffer:
        """The memory from a row on."""
        index = tuple(row if k == self.window.axis else 0 for k in range(len(self.state.shape)))
        return replace(self.memory, pointer=context.access.address(self.memory, index))


def begin(
    context: CodegenContext, op: Loop, number: int, initial: Node, window: SlidingWindow
) -> None:
    """Allocate the memory of a carried value, and copy the initial one into it."""
    state = op.states[number]
    shape = list(static_shape(state))
    shape[window.axis] += window.spare
    spare = (prod(shape) - state.size) * state.dtype.numpy.itemsize
    memory = replace(context.access.allocate(state, spare=spare), strides=dense_strides(shape))
    made = SlidingState(number, state, window, memory, context.builder.variable(I64), memory)
    context.builder.builder.store(context.builder.index(made.start), made.first)
    copy_node(context, initial, made.at(context, made.start), op.body.parent, made.destination)
    context.carried.sliding[state] = context.carried.sliding[op.nexts[number]] = made
    context.counts["sliding"] += 1


def load(context: CodegenContext, made: SlidingState) -> None:
    """The window of this iteration."""
    first = context.builder.builder.load(made.first, typ=I64)
    context.access.buffers[made.state] = made.at(context, first)
    made.target = made.at(context, context.builder.add(first, made.step))


def enter(context: CodegenContext, join: Node) -> None:
    """Write the rows that enter; those that stay are in the memory of the next value already."""
    made = context.carried.sliding[join]
    kept = static_shape(made.state)[made.window.axis] - made.window.rows
    first = kept if made.window.is_forward else 0
    buffer = written_whole(context, join)
    join_into(context, buffer, join, first, entering(join, made.window))
    context.access.buffers[join] = buffer


def take_next(context: CodegenContext, op: Loop) -> None:
    """Move the windows on."""
    w = context.builder
    for made in _of(context, op):
        window = made.window
        first = w.builder.add(w.builder.load(made.first, typ=I64), w.index(made.step))
        w.builder.store(first, made.first)
        is_over = (
            w.builder.icmp_signed(">", first, w.index(window.spare - window.rows))
            if window.is_forward
            else w.builder.icmp_signed("<", first, w.index(window.rows))
        )
        with w.rarely(is_over), context.access.scope():
            context.access.buffers[made.state] = made.at(context, first)
            _copy(context, made, made.at(context, made.start), op)
            w.builder.store(w.index(made.start), made.first)


def end(context: CodegenContext, node: Node, made: SlidingState, op: Loop) -> None:
    """The final value, in memory of its own."""
    part = result_node(context, node, made.number)
    if part is None:
        return
    load(context, made)
    buffer = allocate(context, part)
    copy_node(context, made.state, buffer, op.body.parent)
    context.results.values[node, made.number] = buffer


def _copy(context: CodegenContext, made: SlidingState, target: Buffer, op: Loop) -> None:
    copy_node(context, made.state, target, op.body, made.destination)


def _of(context: CodegenContext, op: Loop) -> list[SlidingState]:
    sliding = context.carried.sliding
    return [sliding[state] for state in op.states if state in sliding]

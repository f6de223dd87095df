"""Emits a recurrence over a grid, a loop over rows around a Scan, by antidiagonals.

    lane r of a vector computes row i + r, r columns behind lane 0:

        column of step s     s     s-1    s-2   ...
        row                  i     i+1    i+2   ...

The cell above a lane was computed by the previous lane one step earlier. Rows are processed in
groups, as many as fit into the fastest memory; the row above a group is that which the loop
carries. If the outer loop stacks its rows, each lane stores its cell; those before the first
column, behind the last, and of absent rows go to memory that nobody reads.

`schedule/loops/wavefront.py` says which loops are such recurrences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from treadle.jit.codegen import iteration_limit, memory_limit
from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.carried.stacked import StackedOutput
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED
from treadle.jit.codegen.fused_nest import Stacked
from treadle.jit.codegen.llvm_types import I64, register_type
from treadle.jit.codegen.loops.wavefront_rows import WavefrontRows, clear, new_memory
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.kernel.ir import Block, Node, static_shape
from treadle.jit.schedule.loops.wavefront import Wavefront

EmitBlock = Callable[[CodegenContext, Block, Stacked], None]


def emit_wavefront(
    context: CodegenContext,
    grid: Wavefront,
    counter: Any,
    limit: Any,
    stacks: Sequence[StackedOutput],
    emit_block: EmitBlock,
) -> None:
    """Process groups of up to as many rows as there are lanes; `counter` is the next row."""
    b, w, most = context.builder.builder, context.builder, grid.group
    context.counts["antidiagonals"] += 1
    head, body, after = w.blocks("wave", "rows", "rest")
    w.enter(head)
    first = b.load(counter, typ=I64)
    left = b.sub(limit, first)
    b.cbranch(b.icmp_signed(">", left, w.index(0)), body, after)
    b.position_at_end(body)
    rows = b.select(b.icmp_signed("<", left, w.index(most)), left, w.index(most))
    iteration_limit.consume_iterations(context, grid.along, w.multiply(rows, grid.width))
    context.access.counters[grid.outer.body] = first
    memory_limit.end(context, memory_limit.begin(context, grid.along, grid.width))
    poll_after(context, context.schedule.iterations[grid.rows].group)
    with context.access.scope():
        tables = [_from_row(context, each, first) for each in stacks]
        room, lanes = grid.group + grid.lanes, grid.lanes
        numbers = {node: new_memory(context, node.dtype, room) for node in grid.numbers}
        for memory in numbers.values():
            clear(context, memory, 0, rows, lanes)
        _number_rows(context, grid, first, rows, numbers, tables, emit_block)
        wave = WavefrontRows(context, grid.inner.body, lanes, grid, rows, tables, numbers)
        wave.begin()
        steps = b.add(rows, w.index(grid.width - 1))
        with w.range(steps, hints=NOT_VECTORIZED) as step, context.access.scope():
            wave.emit_step(w.index(step))
    b.store(b.add(first, rows), counter)
    b.branch(head)
    b.position_at_end(after)


def _from_row(context: CodegenContext, stack: StackedOutput, first: Any) -> Buffer:
    """The memory of a stack from one row on; its length is known, since nothing ends the loop."""
    assert stack.memory is not None
    return replace(stack.memory, pointer=stack.room(context, first).pointer)


def _number_rows(
    context: CodegenContext,
    grid: Wavefront,
    first: Any,
    rows: Any,
    numbers: Mapping[Node, Buffer],
    tables: Sequence[Buffer],
    emit_block: EmitBlock,
) -> None:
    """Store the scalars of each row, and the borders of tables, to memory."""
    e, b, outer = context, context.builder.builder, grid.outer
    scalars = [k for k, state in enumerate(outer.states) if state not in grid.carried]
    with e.builder.range(rows, hints=NOT_VECTORIZED) as lane, e.access.scope():
        e.access.counters[outer.body] = e.builder.add(first, lane)
        for k in scalars:
            state, variables = outer.states[k], e.results.values[grid.rows, k]
            type_ = register_type(state.dtype)
            e.access.keep(state, [b.load(variable, typ=type_) for variable in variables])
        own = Block("rows", outer.body.parent, True, [n for n in grid.own if n not in grid.carried])
        emit_block(e, own, {})
        for node, memory in numbers.items():
            e.access.store(memory, Flat(lane), e.access.scalar(node))
        for memory, table in zip(tables, grid.tables, strict=True):
            for column, border in enumerate(table.border):
                value = e.access.read(border, (0,) * len(border.shape))
                place = e.builder.add(e.builder.multiply(lane, memory.strides[0]), column)
                e.access.store(memory, Flat(place), value)
        moved = [
            (
                e.access.read(outer.nexts[k], e.access.unflat(at, static_shape(outer.states[k]))),
                variable,
            )
            for k in scalars
            for at, variable in enumerate(e.results.values[grid.rows, k])
        ]
        for value, variable in moved:
            b.store(value, variable)

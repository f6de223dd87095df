"""Emits a recurrence over a grid, a loop over rows around a Scan, by antidiagonals.

    lane r of a vector computes row i + r, r columns behind lane 0:

        column of step s     s     s-1    s-2   ...
        row                  i     i+1    i+2   ...

The cell above a lane was computed by the previous lane one step earlier. Rows are processed in
groups of as many as there are lanes, or fewer at the end: the lanes of absent rows compute values
that are not stored. A loop in order for the last rows would take LLVM half the time of the rest. If
the outer loop stacks its rows, each lane stores its cell; those before the first column, behind the
last, and of absent rows go to memory that nobody reads.

`schedule/loops/wavefront.py` says which loops are such recurrences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen import iteration_limit, memory_limit
from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.carried.stacked import StackedOutput
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED, Index
from treadle.jit.codegen.fused_nest import Stacked
from treadle.jit.codegen.llvm_types import I64, memory_type, register_type
from treadle.jit.codegen.loops.lane_values import LaneValues, lane_numbers, shifted
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.kernel.ir import (
    Block,
    InductionVar,
    Node,
    ScanSlice,
    static_shape,
)
from treadle.jit.schedule.loops.wavefront import Wavefront

EmitBlock = Callable[[CodegenContext, Block, Stacked], None]


@dataclass(eq=False, slots=True)
class _Rows(LaneValues):
    """Some rows, a lane each, as many as `rows` says, while they are emitted.

    `tables` is the memory of these rows in what the outer loop stacks.
    """

    grid: Wavefront
    rows: Any
    tables: Sequence[Buffer]
    numbers: dict[Node, Any] = field(default_factory=dict)
    carried: dict[Node, Any] = field(default_factory=dict)
    shifted: dict[Node, Any] = field(default_factory=dict)
    step: Any = None

    def type_of(self, dtype: DType) -> Any:
        """The type of values of this type."""
        return self.vector(register_type(dtype))

    def index(self, node: Node, extent: Index) -> Any:
        """The index of each lane; in range, too, where the lane is outside its row."""
        w, found = self.context.builder, super(_Rows, self).index(node, extent)
        last = self.many(w.index(w.add(extent, -1)))
        return w.intrinsic("llvm.umin", found.type, found, last)

    def own(self, node: Node) -> Any:
        """The column of each row."""
        if not isinstance(node.op, InductionVar):
            return None
        w = self.context.builder
        return w.builder.sub(self.many(w.index(self.step)), lane_numbers(self.lanes))


def emit_wavefront(
    context: CodegenContext,
    grid: Wavefront,
    counter: Any,
    limit: Any,
    stacks: Sequence[StackedOutput],
    emit_block: EmitBlock,
) -> None:
    """Process groups of up to as many rows as there are lanes; `counter` is the next row."""
    b, w, most = context.builder.builder, context.builder, grid.lanes
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
        s = _Rows(context, grid.inner.body, grid.lanes, grid, rows, tables)
        _number_rows(s, first, emit_block)
        _begin(s)
        steps = b.add(rows, w.index(grid.width - 1))
        with w.range(steps, hints=NOT_VECTORIZED) as step, context.access.scope():
            _step(s, w.index(step))
    b.store(b.add(first, rows), counter)
    b.branch(head)
    b.position_at_end(after)


def _from_row(context: CodegenContext, stack: StackedOutput, first: Any) -> Buffer:
    """The memory of a stack from one row on; its length is known, since nothing ends the loop."""
    assert stack.memory is not None
    return replace(stack.memory, pointer=stack.room(context, first).pointer)


def _number_rows(sweep: _Rows, first: Any, emit_block: EmitBlock) -> None:
    """Store the scalars of each row to memory; then load them as vectors."""
    e, grid, b = sweep.context, sweep.grid, sweep.context.builder.builder
    rooms = {
        n: Buffer(e.builder.variable(register_type(n.dtype), count=grid.lanes), n.dtype, (1,), "")
        for n in grid.numbers
    }
    for node, room in rooms.items():
        lanes = sweep.type_of(node.dtype)
        b.store(llvm.Constant(lanes, None), b.bitcast(room.pointer, lanes.as_pointer()))
    outer = grid.outer
    scalars = [k for k, state in enumerate(outer.states) if state not in grid.carried]
    with e.builder.range(sweep.rows, hints=NOT_VECTORIZED) as lane, e.access.scope():
        e.access.counters[outer.body] = e.builder.add(first, lane)
        for k in scalars:
            state, variables = outer.states[k], e.results.values[grid.rows, k]
            type_ = register_type(state.dtype)
            e.access.keep(state, [b.load(variable, typ=type_) for variable in variables])
        own = Block("rows", outer.body.parent, True, [n for n in grid.own if n not in grid.carried])
        emit_block(e, own, {})
        for node, room in rooms.items():
            address = b.gep(
                room.pointer, [e.builder.index(lane)], source_etype=register_type(node.dtype)
            )
            b.store(e.access.scalar(node), address)
        for memory, table in zip(sweep.tables, grid.tables, strict=True):
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
    for node, room in rooms.items():
        sweep.numbers[node] = b.load(room.pointer, typ=sweep.type_of(node.dtype))


def _begin(sweep: _Rows) -> None:
    grid, inner, w = sweep.grid, sweep.grid.inner, sweep.context.builder
    for state in (*inner.states, *grid.carried):
        type_ = sweep.type_of(state.dtype)
        sweep.carried[state] = w.variable(type_, llvm.Constant(type_, None))
    for node in inner.body.nodes:
        if isinstance(node.op, ScanSlice) and node.operands[0] not in grid.carried:
            type_ = sweep.type_of(node.dtype)
            sweep.shifted[node] = w.variable(type_, llvm.Constant(type_, None))


def _step(sweep: _Rows, step: Any) -> None:
    """Advance all lanes by one column; each of the first steps starts a lane."""
    e, grid, inner, b = sweep.context, sweep.grid, sweep.grid.inner, sweep.context.builder.builder
    index, last = e.builder.index, e.builder.index(grid.width - 1)
    sweep.step, sweep.values = step, dict(sweep.numbers)
    _start_lane(sweep, step)
    for state in inner.states:
        sweep.values[state] = b.load(sweep.carried[state], typ=sweep.type_of(state.dtype))
    column = b.select(b.icmp_signed("<", step, last), step, last)
    for node in inner.body.nodes:
        if isinstance(node.op, ScanSlice):
            sweep.values[node] = _item(sweep, node, column)
    cells = {row: sweep.of(grid.element(row)) for row in grid.carried}
    afters = [sweep.of(after) for after in inner.nexts]
    for state, after in zip(inner.states, afters, strict=True):
        b.store(after, sweep.carried[state])
    last_lane = b.sub(sweep.rows, index(1))
    done = b.sub(step, last_lane)
    done = b.select(b.icmp_signed("<", done, index(0)), index(0), done)
    for row, cell in cells.items():
        b.store(cell, sweep.carried[row])
        e.access.store(e.access.buffers[row], Flat(done), b.extract_element(cell, last_lane))
    for memory, table in zip(sweep.tables, grid.tables, strict=True):
        _store_cells(sweep, memory, len(table.border), sweep.of(grid.element(table.row)))


def _start_lane(sweep: _Rows, step: Any) -> None:
    """Give the lane of this number the values with which its row begins."""
    grid, b, w = sweep.grid, sweep.context.builder.builder, sweep.context.builder
    initials = [sweep.of(initial) for initial in grid.initials]
    with w.rarely(b.icmp_signed("<", step, w.index(grid.lanes))):
        starts = b.icmp_signed("==", lane_numbers(grid.lanes), sweep.many(step))
        for state, initial in zip(grid.inner.states, initials, strict=True):
            before = b.load(sweep.carried[state], typ=initial.type)
            b.store(b.select(starts, initial, before), sweep.carried[state])


def _store_cells(sweep: _Rows, table: Buffer, border: int, element: Any) -> None:
    """Store the cell of each lane at its row and column, behind the border of the row."""
    w, b, grid = sweep.context.builder, sweep.context.builder.builder, sweep.grid
    nowhere = w.variable(memory_type(table.dtype))
    for lane in range(grid.lanes):
        column = b.sub(w.index(sweep.step), w.index(lane))
        is_cell = b.and_(
            b.icmp_unsigned("<", column, w.index(grid.width)),
            b.icmp_unsigned("<", w.index(lane), sweep.rows),
        )
        offset = w.add(w.multiply(lane, table.strides[0]), w.add(sweep.step, border - lane))
        place = b.gep(table.pointer, [w.index(offset)], source_etype=memory_type(table.dtype))
        cell = replace(table, pointer=b.select(is_cell, place, nowhere))
        value = b.extract_element(element, w.index(lane))
        sweep.context.access.store(cell, Flat(0), value)


def _item(sweep: _Rows, node: Node, column: Any) -> Any:
    """The items of all lanes: each lane gets the previous one's, lane 0 that of its column."""
    b, source = sweep.context.builder.builder, node.operands[0]
    is_row = source in sweep.grid.carried
    variable = sweep.carried[source] if is_row else sweep.shifted[node]
    before = b.load(variable, typ=sweep.type_of(node.dtype))
    first = sweep.context.access.read(source, (column,))
    value = shifted(sweep.context.builder, before, first)
    if not is_row:
        b.store(value, variable)
    return value

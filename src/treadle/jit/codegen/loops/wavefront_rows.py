"""The rows of a wavefront that are in work, while their cells are computed by antidiagonals.

The values that rows carry and read are in memory, an element for each row. A vector has a lane for
each of some rows; it reads the values of the rows above its own one element lower:

    cell of row r = now[r]     left = last[r]           item of the column = items[r]
                               above = last[r - 1]      above before = before[r - 1]

A step visits the vectors in which a row has a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED, FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I64, memory_type
from treadle.jit.codegen.loops.lane_values import LaneValues, lane_numbers
from treadle.jit.kernel.ir import InductionVar, Node, ScanSlice
from treadle.jit.schedule.loops.wavefront import Wavefront


class _Turns(NamedTuple):
    """A value for each of three steps: the step before the last, the last step, and this one."""

    before: Any
    last: Any
    now: Any


@dataclass(eq=False, slots=True)
class WavefrontRows(LaneValues):
    """As many rows as `rows` says, at most `grid.group`; `first` is the row of lane 0.

    `tables` is the memory of these rows in what the outer loop stacks, `numbers` that of scalars of
    the outer loop, a number for each row.

    `cells` has those of three steps: of the last one, of the one before it, and of this one; they
    change places. `items` has elements of arrays, those of the first row first, and moves down by
    an element in each step. `states` is the memory of what the inner loop carries besides; some of
    it is the last cell (`of_cells`), or that of the row above before (`of_rows_above`).

    A processor waits where a vector has an element that was stored just now. The elements for the
    first row are therefore stored a step ahead, and the row that begins is in the last vector.
    """

    grid: Wavefront
    rows: Any
    tables: Sequence[Buffer]
    numbers: Mapping[Node, Buffer]
    cells: dict[Node, Buffer] = field(default_factory=dict)
    items: dict[Node, Buffer] = field(default_factory=dict)
    states: dict[Node, Buffer] = field(default_factory=dict)
    of_cells: dict[Node, Node] = field(default_factory=dict)
    of_rows_above: dict[Node, Node] = field(default_factory=dict)
    variables: _Turns = field(init=False)
    places: _Turns = field(init=False)
    item: Any = None
    step: Any = None
    first: Index = 0

    @property
    def room(self) -> int:
        """The elements of a value of all rows, behind one of the row before and before others."""
        return self.grid.group + 2 * self.lanes

    def begin(self) -> None:
        """Give the rows memory, which is 0 at first, and the first row what it reads first."""
        w, access, inner = self.context.builder, self.context.access, self.grid.inner
        places = _Turns(*(turn * self.room for turn in range(3)))
        for row in self.grid.carried:
            self.cells[row] = self._memory(row.dtype, places)
            access.store(self.cells[row], Flat(places.last - 1), access.read(row, (0,)))
        for node in inner.body.nodes:
            if isinstance(node.op, ScanSlice) and node.operands[0] not in self.cells:
                self.items[node] = self._memory(node.dtype, [self.grid.steps])
                first = access.read(node.operands[0], (0,))
                access.store(self.items[node], Flat(self.grid.steps), first)
        self._find_states_in_cells()
        for state in inner.states:
            if state not in self.of_cells and state not in self.of_rows_above:
                self.states[state] = self._memory(state.dtype, [0])
        self.variables = _Turns(*(w.variable(I64, w.index(place)) for place in places))

    def _memory(self, dtype: DType, places: Sequence[int]) -> Buffer:
        """Memory with room for the rows at each of some places."""
        memory = new_memory(self.context, dtype, places[-1] + self.room)
        memory = replace(memory, pointer=self.context.access.address(memory, Flat(self.lanes)))
        for place in places:
            clear(self.context, memory, place, self.rows, self.lanes)
        return memory

    def _find_states_in_cells(self) -> None:
        """Find the carried values that are the last cell, or the last cell of the row above."""
        grid = self.grid
        cells = {grid.element(row): row for row in grid.carried}
        for state, after in zip(grid.inner.states, grid.inner.nexts, strict=True):
            above = after.operands[0] if isinstance(after.op, ScanSlice) else None
            if after in cells and cells[after] not in self.of_cells.values():
                self.of_cells[state] = cells[after]
            elif above in grid.carried and above not in self.of_rows_above.values():
                self.of_rows_above[state] = above

    def emit_step(self, step: Any) -> None:
        """Advance by one column all rows that have begun and have not ended."""
        w, b, access = self.context.builder, self.context.builder.builder, self.context.access
        self.step = step
        self.places = _Turns(*(b.load(each, typ=I64) for each in self.variables))
        self._move_items()
        self._start_row()
        self._store_next_items()
        lanes, last_row = w.index(self.lanes), b.sub(self.rows, w.index(1))
        ended = _at_least_0(w, b.sub(step, w.index(self.grid.width - 1)))
        low, top = b.udiv(ended, lanes), b.udiv(_least(w, step, last_row), lanes)
        count = b.add(b.sub(top, low), w.index(1))
        with w.range(count, hints=NOT_VECTORIZED) as number, access.scope():
            self.first = b.mul(b.add(low, w.index(number)), lanes)
            self._emit_vector()
        done = Flat(_at_least_0(w, b.sub(step, last_row)))
        for row, memory in self.cells.items():
            cell = access.load(memory, Flat(b.add(self.places.now, last_row)))
            access.store(access.buffers[row], done, cell)
        before, *later = self.places
        for variable, place in zip(self.variables, (*later, before), strict=True):
            b.store(place, variable)

    def _move_items(self) -> None:
        """Move the items that are still needed up, when they arrive at the start of the memory."""
        w, b = self.context.builder, self.context.builder.builder
        past = b.and_(self.step, w.index(self.grid.steps - 1))
        self.item = b.sub(w.index(self.grid.steps), past)
        if not self.items:
            return
        is_again = b.icmp_signed(">", self.step, past)
        is_start = b.and_(is_again, b.icmp_signed("==", past, w.index(0)))
        vectors = b.add(b.udiv(self.rows, w.index(self.lanes)), w.index(1))
        with w.rarely(is_start), w.range(vectors, hints=NOT_VECTORIZED) as number:
            place = w.multiply(number, self.lanes)
            for memory in self.items.values():
                moved = self.loaded(memory, Flat(place))
                self.store(memory, moved, Flat(w.add(place, self.grid.steps)))

    def _start_row(self) -> None:
        """Give the row of the step's number the values with which it begins."""
        w, access = self.context.builder, self.context.access
        row = _least(w, self.step, self.grid.group)
        for state, initial in zip(self.grid.inner.states, self.grid.initials, strict=True):
            memory = self.numbers.get(initial)
            value = access.scalar(initial) if memory is None else access.load(memory, Flat(row))
            access.store(*self._kept(state, row), value)

    def _store_next_items(self) -> None:
        """Store the elements that the first row reads in the next step."""
        w, access = self.context.builder, self.context.access
        column = _least(w, w.add(self.step, 1), self.grid.width - 1)
        above = Flat(w.add(self.places.now, -1))
        for row, memory in self.cells.items():
            access.store(memory, above, access.read(row, (column,)))
        for item, memory in self.items.items():
            value = access.read(item.operands[0], (column,))
            access.store(memory, Flat(w.add(self.item, -1)), value)

    def _kept(self, state: Node, row: Any) -> tuple[Buffer, Flat]:
        """Where a value is that is carried along a row."""
        w = self.context.builder
        if state in self.of_cells:
            return self.cells[self.of_cells[state]], Flat(w.add(self.places.last, row))
        if state in self.of_rows_above:
            above = w.add(w.add(self.places.before, row), -1)
            return self.cells[self.of_rows_above[state]], Flat(above)
        return self.states[state], Flat(row)

    def _emit_vector(self) -> None:
        """Compute the cells of as many rows as there are lanes."""
        grid, inner, w = self.grid, self.grid.inner, self.context.builder
        above, item = w.add(w.add(self.places.last, self.first), -1), w.add(self.item, self.first)
        self.values = {s: self.loaded(*self._kept(s, self.first)) for s in inner.states}
        for node in inner.body.nodes:
            if node in self.items:
                self.values[node] = self.loaded(self.items[node], Flat(item))
            elif isinstance(node.op, ScanSlice):
                self.values[node] = self.loaded(self.cells[node.operands[0]], Flat(above))
        afters = dict(zip(inner.states, inner.nexts, strict=True))
        kept = [(*self._kept(s, self.first), self.of(afters[s])) for s in self.states]
        now = Flat(w.add(self.places.now, self.first))
        kept += [(memory, now, self.of(grid.element(row))) for row, memory in self.cells.items()]
        for memory, place, value in kept:
            self.store(memory, value, place)
        for memory, table in zip(self.tables, grid.tables, strict=True):
            self._store_in_table(memory, len(table.border), self.of(grid.element(table.row)))

    def _store_in_table(self, table: Buffer, border: int, cells: Any) -> None:
        """Store the cell of each lane at its row and column, behind the border of the row."""
        w, b = self.context.builder, self.context.builder.builder
        nowhere = w.variable(memory_type(table.dtype))
        for lane in range(self.lanes):
            row = w.index(w.add(self.first, lane))
            column = b.sub(w.index(self.step), row)
            is_cell = b.and_(
                b.icmp_unsigned("<", column, w.index(self.grid.width)),
                b.icmp_unsigned("<", row, self.rows),
            )
            offset = w.add(w.multiply(row, table.strides[0]), w.add(column, border))
            place = b.gep(table.pointer, [w.index(offset)], source_etype=memory_type(table.dtype))
            cell = replace(table, pointer=b.select(is_cell, place, nowhere))
            value = b.extract_element(cells, w.index(lane))
            self.context.access.store(cell, Flat(0), value)

    def invariant(self, node: Node) -> Any:
        """A number of the outer loop in each lane; one of outside both in all."""
        memory = self.numbers.get(node)
        if memory is None:
            return super(WavefrontRows, self).invariant(node)
        return self.loaded(memory, Flat(self.first))

    def own(self, node: Node) -> Any:
        """The column of each row."""
        if not isinstance(node.op, InductionVar):
            return None
        w = self.context.builder
        column = w.builder.sub(w.index(self.step), w.index(self.first))
        return w.builder.sub(self.many(column), lane_numbers(self.lanes))

    def index(self, node: Node, extent: Index) -> Any:
        """The index of each lane; in range, too, where the lane is outside its row."""
        w, found = self.context.builder, super(WavefrontRows, self).index(node, extent)
        last = self.many(w.index(w.add(extent, -1)))
        return w.intrinsic("llvm.umin", found.type, found, last)


def new_memory(context: CodegenContext, dtype: DType, count: int) -> Buffer:
    """Memory for elements."""
    variable = context.builder.variable(memory_type(dtype), count=count)
    return Buffer(variable, dtype, (1,), "")


def clear(context: CodegenContext, memory: Buffer, place: int, rows: Any, lanes: int) -> None:
    """Store 0 in all vectors that begin at one of the rows."""
    w = context.builder
    zeros = llvm.Constant(llvm.VectorType(memory_type(memory.dtype), lanes), None)
    vectors = w.builder.add(w.builder.udiv(rows, w.index(lanes)), w.index(1))
    with w.range(vectors, hints=NOT_VECTORIZED) as number:
        address = context.access.address(memory, Flat(w.add(w.multiply(number, lanes), place)))
        w.builder.store(zeros, address, align=memory.dtype.numpy.itemsize)


def _least(builder: FunctionBuilder, one: Index, other: Index) -> Any:
    return builder.intrinsic("llvm.smin", I64, builder.index(one), builder.index(other))


def _at_least_0(builder: FunctionBuilder, number: Any) -> Any:
    return builder.intrinsic("llvm.smax", I64, number, builder.index(0))

"""Recurrences over a grid, by antidiagonals: a loop over rows around a loop along the row.

    lane r of a vector works on row i + r, r columns behind lane 0:

        column of step s     s     s-1    s-2   ...
        row                  i     i+1    i+2   ...

A lane finds the cell above it where the lane before left it one step earlier. Rows are taken as
many at a time as there are lanes; the plain loop does those that are left over.

Needs: the row is a state of the outer loop and the stack of the inner one; everything else an inner
iteration reads is a number of its row, an item of what neither loop changes, or carried along the
row; its functions have a form for vectors. Declines otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.emit import bound, lanes, weigh
from treadle.jit.emit.buffer import Buffer, Flat
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.nest import Ending
from treadle.jit.emit.place import Place
from treadle.jit.emit.poll import cost, tick
from treadle.jit.emit.types import I64, NARROW, in_register
from treadle.jit.kernel_ir import (
    Block,
    Branch,
    Counter,
    Item,
    Loop,
    Map,
    Node,
    Part,
    Reshape,
    State,
    View,
    extents,
)
from treadle.jit.machine import vector_bytes

EmitBlock = Callable[[Emitter, Block, Ending], None]
_VECTORS, _MOST = 2, 16
_OWN = (Counter, Item, Map, Reshape, State, View)


@dataclass(frozen=True, eq=False, slots=True)
class Grid:
    """A loop over rows and the loop along them; `row` is the state of the outer one."""

    rows: Node
    along: Node
    row: Node
    width: int
    lanes: int
    numbers: tuple[Node, ...]

    @property
    def outer(self) -> Loop:
        """The loop over rows."""
        assert isinstance(self.rows.op, Loop)
        return self.rows.op

    @property
    def inner(self) -> Loop:
        """The loop along a row."""
        assert isinstance(self.along.op, Loop)
        return self.along.op

    @property
    def own(self) -> list[Node]:
        """The nodes of the outer body that do not hang on the loop along the row."""
        return [n for n in self.outer.body.nodes if n is not self.along and n.operands[:1] !=
                (self.along,)]  # fmt: skip


def grid_of(e: Emitter, rows: Node) -> Grid | None:
    """The grid of a loop over rows, if it is one."""
    outer = rows.op
    assert isinstance(outer, Loop)
    around = [n for n in outer.body.nodes if isinstance(n.op, Loop | Branch)]
    if outer.stacks or outer.next_condition is not None or len(around) != 1:
        return None
    along = around[0]
    inner = along.op
    if not isinstance(inner, Loop) or not _is_plain(inner) or not isinstance(inner.length, int):
        return None
    pairs = [pair for pair in zip(outer.states, outer.nexts, strict=True) if _is_row(pair, along)]
    if len(pairs) != 1:
        return None
    row, count = pairs[0][0], _lanes(inner)
    numbers = tuple({n: None for n in _numbers(e, inner, along, outer.body)})
    grid = Grid(rows, along, row, inner.length, count, numbers)
    return grid if inner.length >= 2 * count and _is_ready(e, grid) else None


def _is_plain(inner: Loop) -> bool:
    """A Scan of one stack of scalars, which carries scalars."""
    if inner.has_trip or inner.has_condition or inner.next_condition is not None:
        return False
    is_one = len(inner.stacks) == 1 and not inner.stacks[0].reverse
    values = (*inner.states, *(stack.element for stack in inner.stacks))
    return is_one and all(v.is_static and v.size == 1 and v.dtype not in NARROW for v in values)


def _is_row(pair: tuple[Node, Node], along: Node) -> bool:
    state, after = pair
    is_part = isinstance(after.op, Part) and after.operands[0] is along
    return is_part and len(state.shape) == 1 and len(after.shape) == 1


def _lanes(inner: Loop) -> int:
    size = inner.stacks[0].element.dtype.numpy.itemsize
    return min(_VECTORS * vector_bytes() // size, _MOST)


def _numbers(e: Emitter, inner: Loop, along: Node, body: Block) -> Iterator[Node]:
    """What the loop along the row reads of the outer body, once a row."""
    yield from (initial for initial in along.operands if initial.home is body)
    for node in inner.body.nodes:
        if not isinstance(node.op, Item):
            yield from (o for o in node.operands if o.home is body)


def _is_ready(e: Emitter, grid: Grid) -> bool:
    outer, inner = grid.outer, grid.inner
    others = [after for state, after in zip(outer.states, outer.nexts, strict=True)
              if state is not grid.row]  # fmt: skip
    if any(e.t.place(n) is not Place.REGISTERS for n in (*others, *grid.numbers)):
        return False
    if any(not n.is_single or n.dtype is DType.BOOL for n in grid.numbers):
        return False
    if any(_hangs(n, grid) for n in others):
        return False
    own = [node for node in grid.own if node is not grid.row]
    if any(_hangs(n, grid) or not isinstance(n.op, _OWN) for n in own):
        return False
    if any(e.t.place(n) is not Place.REGISTERS for n in own):
        return False
    return all(_has_lanes(node, grid) for node in inner.body.nodes)


def _hangs(node: Node, grid: Grid) -> bool:
    """Whether a node of the outer body hangs on the row."""
    return any(
        each is grid.row or (isinstance(each.op, Part) and each.operands[0] is grid.along)
        for each in (node, *node.operands)
    )


def _has_lanes(node: Node, grid: Grid) -> bool:
    if not node.is_single:
        return False
    match node.op:
        case State() | Counter() | View() | Reshape():
            return all(operand.is_single for operand in node.operands)
        case Item(0, False):
            source = node.operands[0]
            is_outside = source.home.depth < grid.outer.body.depth
            return len(source.shape) == 1 and (source is grid.row or is_outside)
        case Map(function):
            return lanes.has_form(function, [o.dtype for o in node.operands], node.dtype)
    return False


@dataclass(eq=False, slots=True)
class _Sweep:
    """Some rows while they are written: where the values of lanes are, by node."""

    e: Emitter
    grid: Grid
    numbers: dict[Node, Any] = field(default_factory=dict)
    carried: dict[Node, Any] = field(default_factory=dict)
    shifted: dict[Node, Any] = field(default_factory=dict)
    values: dict[Node, Any] = field(default_factory=dict)
    step: Any = None

    def type_of(self, dtype: DType) -> Any:
        return llvm.VectorType(in_register(dtype), self.grid.lanes)


def sweep(e: Emitter, grid: Grid, counter: Any, limit: Any, emit_block: EmitBlock) -> None:
    """As many rows as there are lanes, again and again; `counter` says which come next."""
    b, w, most = e.w.builder, e.w, grid.lanes
    head, body, after = (w.function.append_basic_block(n) for n in ("wave", "rows", "rest"))
    b.branch(head)
    b.position_at_end(head)
    first = b.load(counter, typ=I64)
    behind = b.add(first, w.index(most))
    b.cbranch(b.icmp_signed("<=", behind, limit), body, after)
    b.position_at_end(body)
    bound.spend(e, grid.along, most * grid.width)
    e.t.counters[grid.outer.body] = first
    weigh.end(e, weigh.begin(e, grid.along, grid.width))
    tick(e, grid.outer.body, most * (grid.width * cost(grid.inner.body) // 8 + 4))
    with e.t.scope():
        s = _Sweep(e, grid)
        _number_rows(s, first, emit_block)
        _begin(s)
        with w.range(most) as step, e.t.scope():
            _step(s, step, step, is_first=True)
        with w.range(grid.width - most) as number, e.t.scope():
            step = w.add(number, most)
            _step(s, step, step)
        with w.range(most - 1) as number, e.t.scope():
            _step(s, w.add(number, grid.width), grid.width - 1)
    b.store(behind, counter)
    b.branch(head)
    b.position_at_end(after)


def _number_rows(s: _Sweep, first: Any, emit_block: EmitBlock) -> None:
    """What each row is told, in memory, one after the other; then as vectors."""
    e, grid, b = s.e, s.grid, s.e.w.builder
    rooms = {
        n: Buffer(e.w.variable(in_register(n.dtype), count=grid.lanes), n.dtype, (1,), "")
        for n in grid.numbers
    }
    outer = grid.outer
    scalars = [k for k, state in enumerate(outer.states) if state is not grid.row]
    with e.w.range(grid.lanes) as lane, e.t.scope():
        e.t.counters[outer.body] = e.w.add(first, lane)
        for k in scalars:
            state, variables = outer.states[k], e.parts[grid.rows, k]
            type_ = in_register(state.dtype)
            e.t.keep(state, [b.load(variable, typ=type_) for variable in variables])
        own = Block("rows", outer.body.parent, True, [n for n in grid.own if n is not grid.row])
        emit_block(e, own, Ending())
        for node, room in rooms.items():
            place = b.gep(room.pointer, [e.w.index(lane)], source_etype=in_register(node.dtype))
            b.store(e.t.scalar(node), place)
        moved = [
            (e.t.read(outer.nexts[k], e.t.unflat(at, extents(outer.states[k]))), variable)
            for k in scalars
            for at, variable in enumerate(e.parts[grid.rows, k])
        ]
        for value, variable in moved:
            b.store(value, variable)
    for node, room in rooms.items():
        s.numbers[node] = b.load(room.pointer, typ=s.type_of(node.dtype))


def _begin(s: _Sweep) -> None:
    grid, inner, w = s.grid, s.grid.inner, s.e.w
    for state in (*inner.states, grid.row):
        type_ = s.type_of(state.dtype)
        s.carried[state] = w.variable(type_, llvm.Constant(type_, None))
    for node in inner.body.nodes:
        if isinstance(node.op, Item) and node.operands[0] is not grid.row:
            type_ = s.type_of(node.dtype)
            s.shifted[node] = w.variable(type_, llvm.Constant(type_, None))


def _step(s: _Sweep, step: Any, column: Any, *, is_first: bool = False) -> None:
    """All lanes, one column on; lane 0 is at `column`. In the first steps a lane begins each."""
    e, grid, inner, b = s.e, s.grid, s.grid.inner, s.e.w.builder
    s.step, s.values = step, {}
    for state, initial in zip(inner.states, grid.along.operands, strict=True):
        value = b.load(s.carried[state], typ=s.type_of(state.dtype))
        if is_first:
            begins = b.icmp_signed("==", lanes.numbers(e.w, grid.lanes), _many(s, e.w.index(step)))
            value = b.select(begins, _value(s, initial), value)
        s.values[state] = value
    for node in inner.body.nodes:
        if isinstance(node.op, Item):
            s.values[node] = _item(s, node, column)
    element = _value(s, inner.stacks[0].element)
    afters = [_value(s, after) for after in inner.nexts]
    for state, after in zip(inner.states, afters, strict=True):
        b.store(after, s.carried[state])
    b.store(element, s.carried[grid.row])
    done = b.sub(e.w.index(step), e.w.index(grid.lanes - 1))
    if is_first:
        done = b.select(b.icmp_signed("<", done, e.w.index(0)), e.w.index(0), done)
    last = b.extract_element(element, llvm.Constant(I64, grid.lanes - 1))
    e.t.store(e.t.buffers[grid.row], Flat(done), last)


def _item(s: _Sweep, node: Node, column: Any) -> Any:
    """The items of all lanes: each has what the one before had, lane 0 the one of its column."""
    b, source = s.e.w.builder, node.operands[0]
    is_row = source is s.grid.row
    variable = s.carried[source] if is_row else s.shifted[node]
    before = b.load(variable, typ=s.type_of(node.dtype))
    first = s.e.t.read(source, (column,))
    value = lanes.shifted(s.e.w, before, first)
    if not is_row:
        b.store(value, variable)
    return value


def _many(s: _Sweep, value: Any) -> Any:
    return lanes.splat(s.e.w, value, s.grid.lanes)


def _value(s: _Sweep, node: Node) -> Any:
    """The values of a node in all lanes."""
    if node not in s.values:
        s.values[node] = _computed(s, node)
    return s.values[node]


def _computed(s: _Sweep, node: Node) -> Any:
    e = s.e
    if node in s.numbers:
        return s.numbers[node]
    if node.home is not s.grid.inner.body:
        return _many(s, e.t.scalar(node))
    match node.op:
        case Counter():
            return e.w.builder.sub(_many(s, e.w.index(s.step)), lanes.numbers(e.w, s.grid.lanes))
        case View() | Reshape():
            return _value(s, node.operands[0])
    return lanes.mapped(e.w, node, e.t.chains.get(node), partial(_value, s))

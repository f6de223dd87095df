"""A loop in LLVM.

    variables = initial                               few elements: registers; else memory
    for i = 0; i < limit and condition; ++i:
        tick                                          now and then the poll
        block, which reads the variables
        elements of this iteration into the stacks
        variables = next                              all at once

A next value that was written in place, over a state nobody reads any more, is not moved; nor is one
whose state has two memories that take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.emit import bound, columns, delay, doubling, linear, moving, scalars, swap, weigh
from treadle.jit.emit.buffer import Buffer, Flat
from treadle.jit.emit.emitter import UNEQUAL_LENGTHS, Emitter
from treadle.jit.emit.inplace import chains
from treadle.jit.emit.moving import Moving
from treadle.jit.emit.nest import Ending
from treadle.jit.emit.pace import COPIED
from treadle.jit.emit.pack import pack
from treadle.jit.emit.place import Place
from treadle.jit.emit.poll import tick
from treadle.jit.emit.stack import Stacking, stackings
from treadle.jit.emit.tile import parts
from treadle.jit.emit.types import I64, in_register
from treadle.jit.emit.wavefront import grid_of, sweep
from treadle.jit.kernel_ir import Block, Constant, Loop, Node, State, extents

EmitBlock = Callable[[Emitter, Block, Ending], None]
_NO_LIMIT = 2**63 - 1


def emit_loop(e: Emitter, node: Node, emit_block: EmitBlock, taken: Mapping[int, Buffer]) -> None:
    """The loop; its parts are left in `e.parts`. States start in the memory that is `taken`."""
    pack(e, node)
    _spend(e, node)
    weight = weigh.begin(e, node, _told(e, node))
    with parts(e, node):
        _run(e, node, emit_block, taken, weight)
    weigh.end(e, weight)


def _run(
    e: Emitter,
    node: Node,
    emit_block: EmitBlock,
    taken: Mapping[int, Buffer],
    weight: weigh.Weight | None,
) -> None:
    op, b, w = node.op, e.w.builder, e.w
    assert isinstance(op, Loop)
    operands = list(node.operands)
    limit = e.w.index(_limit(e, op, operands.pop(0) if op.has_trip else None))
    go = e.t.scalar(operands.pop(0)) if op.has_condition else None
    _begin(e, node, op, operands, taken)
    stacks = stackings(e, node, op, limit)
    counter = w.variable(I64, llvm.Constant(I64, 0))
    grid = grid_of(e, node) if go is None else None
    if grid is not None:
        e.counts["antidiagonals"] += 1
        sweep(e, grid, counter, limit, emit_block)
    recurrences = linear.linear_of(e, node, stacks) if go is None and grid is None else None
    swap.begin(e, node)
    stop, again = w.variable(I64, limit), None
    if recurrences is not None:
        again = doubling.sweep(e, recurrences, counter, limit, stop, stacks)
    items = columns.begin(e, op)
    head, body, after = (
        w.function.append_basic_block(name) for name in ("head", "body", "after_loop")
    )
    if go is None:
        b.branch(head)
    else:
        b.cbranch(go, head, after)
    b.position_at_end(head)
    i = b.load(counter, typ=I64)
    b.cbranch(b.icmp_signed("<", i, b.load(stop, typ=I64)), body, after)
    b.position_at_end(body)
    if not _is_counted(op):
        bound.spend(e, node, 1, i)
    with e.t.scope():
        goes_on = _iteration(e, node, op, i, stacks, items, emit_block)
        weigh.after(e, weight, i)
    b.store(b.add(i, llvm.Constant(I64, 1), flags=("nsw", "nuw")), counter)
    if goes_on is None:
        b.branch(head)
    else:
        b.cbranch(goes_on, head, after)
    b.position_at_end(after)
    if again is not None:
        done = w.function.append_basic_block("done")
        b.cbranch(b.icmp_signed("<", b.load(counter, typ=I64), limit), again, done)
        b.position_at_end(done)
    _end(e, node, op, b.load(counter, typ=I64), stacks)


def _spend(e: Emitter, node: Node) -> None:
    """Count the iterations of a loop beforehand where nothing but their number ends it."""
    limit = _told(e, node) if e.kernel.counts else None
    if limit is not None:
        bound.spend(e, node, e.w.intrinsic("llvm.smax", I64, limit, e.w.index(0)))


def _told(e: Emitter, node: Node) -> Any:
    """How often a loop of the program runs, below zero for never; None where only it can tell."""
    op = node.op
    assert isinstance(op, Loop)
    if not (op.path and _is_counted(op) and (e.kernel.counts or e.kernel.weighs)):
        return None
    return e.w.index(_limit(e, op, node.operands[0] if op.has_trip else None))


def _is_counted(op: Loop) -> bool:
    return not op.has_condition and op.next_condition is None


def _limit(e: Emitter, op: Loop, trip: Node | None) -> Any:
    w, b = e.w, e.w.builder
    length = None if op.length is None else w.index(e.t.extent(op.length))
    if trip is None:
        return w.index(_NO_LIMIT) if length is None else length
    if op.extent is not None:
        limit = w.index(e.t.extent(op.extent))
    else:
        limit = scalars.cast(w, e.t.scalar(trip), trip.dtype, DType.INT64)
    if length is not None:
        e.fail_if(b.icmp_signed(">", limit, length), UNEQUAL_LENGTHS)
    return limit


def _begin(
    e: Emitter, node: Node, op: Loop, initials: list[Node], taken: Mapping[int, Buffer]
) -> None:
    """The carried values begin with the initial ones, in variables or memory of the loop's own."""
    for number, (state, initial) in enumerate(zip(op.states, initials, strict=True)):
        if delay.begin(e, op, number, initial):
            continue
        part = e.part(node, number)
        if moving.changing(state, number):
            e.parts[node, number] = moving.begin(e, op, number, initial, part)
            continue
        if e.t.place(state) is Place.REGISTERS:
            values = [
                e.t.read(initial, e.t.unflat(position, extents(state)))
                for position in range(state.size)
            ]
            e.t.buffers.pop(state, None)
            e.parts[node, number] = [_variable(e, state, value) for value in values]
            continue
        buffer = taken.get(number)
        if buffer is None:
            buffer = e.allocate(part if part is not None else state)
            e.copy(initial, buffer)
        e.t.buffers[state] = buffer
        e.parts[node, number] = buffer


def _variable(e: Emitter, state: Node, value: Any) -> Any:
    """A variable for one element of a state."""
    return e.w.variable(in_register(state.dtype), value)


def _iteration(
    e: Emitter,
    node: Node,
    op: Loop,
    i: Any,
    stacks: list[Stacking],
    items: list[columns.Items],
    emit_block: EmitBlock,
) -> Any:
    """One iteration; whether it goes on, None for always."""
    tick(e, op.body)
    e.t.counters[op.body] = i
    swap.load(e, op)
    columns.load(e, items)
    for number, state in enumerate(op.states):
        if state in e.delays:
            e.delays[state].place(e, state, i)
        elif isinstance(e.parts[node, number], Moving):
            moving.load(e, op, e.parts[node, number])
        elif e.t.place(state) is Place.REGISTERS:
            type_ = in_register(state.dtype)
            variables = e.parts[node, number]
            e.t.keep(state, [e.w.builder.load(variable, typ=type_) for variable in variables])
    kept = frozenset(_moving_nexts(e, node, op))
    ending = Ending(node, _moved(e, op), into=chains(op), kept=kept)
    rooms = [(stack, stack.room(e, i)) for stack in stacks if not stack.inner]
    for stack, room in rooms:
        if e.t.place(stack.element) is Place.NEST and stack.element.home is op.body:
            ending.stacked.setdefault(stack.element, []).append(room)
    emit_block(e, op.body, ending)
    goes_on = None if op.next_condition is None else e.t.scalar(op.next_condition)
    rooms += [(stack, stack.room(e, i)) for stack in stacks if stack.inner]
    for stack, room in rooms:
        if stack.element not in ending.stored:
            e.copy(stack.element, room)
    for stack in stacks:
        stack.put(e, i)
    _carry(e, node, op, ending)
    return goes_on


def _moving_nexts(e: Emitter, node: Node, op: Loop) -> list[Node]:
    return [
        after
        for number, after in enumerate(op.nexts)
        if isinstance(e.parts.get((node, number)), Moving)
    ]


def _moved(e: Emitter, op: Loop) -> dict[Node, Node]:
    """Next values that are computed in a nest of the body, for one state each."""
    return {
        after: state
        for state, after in zip(op.states, op.nexts, strict=True)
        if e.t.place(after) is Place.NEST
        and e.t.place(state) is not Place.REGISTERS
        and after.home is op.body
        and op.nexts.count(after) == 1
        and state not in e.moving
    }


def _carry(e: Emitter, node: Node, op: Loop, ending: Ending) -> None:
    """The next values take the places of the carried ones, all at once."""
    pairs = [
        (number, state, after)
        for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True))
        if state is not after
        and state not in ending.written
        and state not in e.moving
        and state not in e.delays
        and state not in e.swaps
    ]
    changed = [e.moving[state] for state in op.states if state in e.moving]
    for made in changed:
        moving.make_next(e, op, made)
    values: list[tuple[Any, Any]] = []
    moves: list[tuple[Node, Node | Buffer, Buffer]] = []
    for number, state, after in pairs:
        if e.t.place(state) is Place.REGISTERS:
            for position, variable in enumerate(e.parts[node, number]):
                index = e.t.unflat(position, extents(after))
                values.append((e.t.read(after, index), variable))
            continue
        moves.append((after, _safe(e, op, after), e.parts[node, number]))
    e.counts.update({"in place": len(ending.written), "copied": len(moves)})
    e.counts["taking turns"] += sum(state in e.swaps for state in op.states)
    for value, variable in values:
        e.w.builder.store(value, variable)
    for after, source, target in moves:
        if isinstance(source, Node):
            e.copy(source, target)
        else:
            with e.positions(e.t.size(after), COPIED) as position:
                e.t.store(target, Flat(position), e.t.load(source, Flat(position)))
    for made in changed:
        moving.take_next(e, made)
    swap.take_next(e, op)


def _safe(e: Emitter, op: Loop, after: Node) -> Node | Buffer:
    """The node, or a copy of it where another state's new value would be read instead."""
    if not _reads_state(e, op, after):
        return after
    buffer = e.t.allocate(after) if after.is_static else e.fill(e.scratch(), after, e.scope(after))
    e.copy(after, buffer)
    return buffer


def _reads_state(e: Emitter, op: Loop, node: Node) -> bool:
    """Whether it is read out of memory a carried value is in, and the next one will be."""
    found = e.t.buffers.get(node)
    changed = [state for state in op.states if state not in e.swaps]
    if found is not None and any(found is e.t.buffers.get(state) for state in changed):
        return True
    if isinstance(node.op, State):
        return e.t.place(node) is not Place.REGISTERS and node not in e.swaps
    if isinstance(node.op, Constant) or e.t.place(node) is not Place.INLINE:
        return False
    return any(_reads_state(e, op, operand) for operand in node.operands)


def _end(e: Emitter, node: Node, op: Loop, count: Any, stacks: list[Stacking]) -> None:
    swap.end(e, op)
    for number, state in enumerate(op.states):
        if state in e.delays:
            e.delays[state].end(e, node, number, count)
        elif state in e.moving:
            moving.end(e, node, e.moving[state])
        elif e.t.place(state) is Place.REGISTERS:
            type_ = in_register(state.dtype)
            variables = e.parts[node, number]
            e.parts[node, number] = [e.w.builder.load(v, typ=type_) for v in variables]
    for number, each in enumerate(op.stacks, start=len(op.states)):
        e.dims[node, number, each.axis] = count
    for stack in stacks:
        stack.put_rest(e, count)
        e.parts[node, stack.number] = stack.whole(e, node)

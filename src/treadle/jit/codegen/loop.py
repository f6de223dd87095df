"""Emits a loop.

    variables = initial                               few elements: registers; else memory
    for i = 0; i < limit and condition; ++i:
        safepoint                                     polls occasionally
        block, which reads the variables
        elements of this iteration into the stacks
        variables = next                              all at once

A next value that was written in place, over a state that is not read any more, is not copied, nor
is one whose state has a double buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen import clock, iteration_limit, memory_limit
from treadle.jit.codegen.allocation import (
    alias_scope,
    allocate,
    allocate_in,
    new_heap_buffer,
    result_node,
    reused_buffers,
)
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.carried import delay_line, double_buffer, growable, sliding_window
from treadle.jit.codegen.carried.stacked import StackedOutput, recorded_results, stacked_outputs
from treadle.jit.codegen.clock import timed_loop
from treadle.jit.codegen.context import UNEQUAL_LENGTHS, CodegenContext
from treadle.jit.codegen.failure import fail_if
from treadle.jit.codegen.function_builder import NOT_VECTORIZED
from treadle.jit.codegen.fused_nest import Stacked
from treadle.jit.codegen.iteration_space import copy_node, move
from treadle.jit.codegen.llvm_types import I1, I64, register_type
from treadle.jit.codegen.loops.parallel_prefix import emit_prefix_scan
from treadle.jit.codegen.loops.register_tile import emit_register_tiles
from treadle.jit.codegen.loops.strip_mining import poll_before_strip, strip_mined
from treadle.jit.codegen.loops.wavefront import emit_wavefront
from treadle.jit.codegen.ops.matmul_packing import pack_matrices
from treadle.jit.codegen.safepoint import counted_at_once, safepoint
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import Block, Loop, Node, op_of, static_shape
from treadle.jit.schedule.carried_storage import DoubleBuffer, Registers, Resizable
from treadle.jit.schedule.layouts.sliding_windows import SlidingWindow
from treadle.jit.schedule.layouts.windows import Window
from treadle.jit.schedule.loops.in_order import InOrder
from treadle.jit.schedule.loops.linear_recurrence import ParallelPrefix
from treadle.jit.schedule.loops.register_tiling import RegisterTiling
from treadle.jit.schedule.loops.strategies import WITHOUT_ORDER
from treadle.jit.schedule.loops.wavefront import Wavefront
from treadle.jit.schedule.storage import Storage

EmitBlock = Callable[[CodegenContext, Block, Stacked], None]
_NO_LIMIT = 2**63 - 1
_UNROLLED = ("vectorize.enable=0", "unroll.full")


def emit_loop(context: CodegenContext, node: Node, emit_block: EmitBlock) -> None:
    """Emit the loop; its results go to `context.results`."""
    pack_matrices(context, node, most_trips)
    _spend(context, node)
    weight = memory_limit.begin(context, node, _told(context, node))
    with timed_loop(context, node), counted_at_once(context, node):
        _run(context, node, emit_block, weight)
    memory_limit.end(context, weight)


def _run(
    context: CodegenContext,
    node: Node,
    emit_block: EmitBlock,
    weight: memory_limit.MemoryAccount | None,
) -> None:
    op, b, w = op_of(node, Loop), context.builder.builder, context.builder
    operands = list(node.operands)
    limit = context.builder.index(trip_limit(context, op, operands.pop(0) if op.has_trip else None))
    go = context.access.scalar(operands.pop(0)) if op.has_condition else None
    begin_states(context, node, op, operands)
    stacks = stacked_outputs(context, node, op, limit)
    zero = llvm.Constant(I64, 0)
    numbers = recorded_results(context, node, stacks)
    counter = w.early(I64, zero) if numbers else w.variable(I64, zero)
    context.rows.update(dict.fromkeys(numbers, counter))
    strategy = context.schedule.loops[node].strategy
    if isinstance(strategy, Wavefront):
        emit_wavefront(context, strategy, counter, limit, stacks, emit_block)
    if isinstance(strategy, RegisterTiling):
        emit_register_tiles(context, strategy, counter, limit, stacks)
    if isinstance(strategy, WITHOUT_ORDER):
        clock.end_iterations(context, node, None, b.load(counter, typ=I64))
        end_loop(context, node, op, b.load(counter, typ=I64), stacks)
        return
    double_buffer.begin(context, node)
    stop, again = w.variable(I64, limit), None
    if isinstance(strategy, ParallelPrefix):
        again = emit_prefix_scan(context, strategy, counter, limit, stop, stacks)
    iterations = clock.begin_iterations(context, node, limit)
    head, body, after = w.blocks("head", "body", "after_loop")
    if go is None:
        b.branch(head)
    else:
        b.cbranch(go, head, after)
    b.position_at_end(head)
    poll_before_strip(context, node)
    last = b.load(stop, typ=I64)
    is_left = b.icmp_signed("<", b.load(counter, typ=I64), last)
    b.cbranch(llvm.Constant(I1, 1) if _is_endless(limit) else is_left, body, after)
    b.position_at_end(body)
    with strip_mined(context, node, counter, last, head) as (i, following):
        if not op.is_counted:
            iteration_limit.consume_iterations(context, node, 1, i)
        clock.begin_iteration(context, iterations, i)
        with context.access.scope():
            goes_on = emit_iteration(context, node, op, i, stacks, emit_block)
            memory_limit.after(context, weight, i)
        b.store(b.add(i, llvm.Constant(I64, 1), flags=("nsw", "nuw")), counter)
        if goes_on is None:
            b.branch(following)
        else:
            b.cbranch(goes_on, following, after)
        if following is head and context.safepoint.is_elsewhere:
            is_unrolled = isinstance(strategy, InOrder) and strategy.is_unrolled
            w.hint(b.block.terminator, _UNROLLED if is_unrolled else NOT_VECTORIZED)
    b.position_at_end(after)
    if again is not None:
        done = w.function.append_basic_block("done")
        b.cbranch(b.icmp_signed("<", b.load(counter, typ=I64), limit), again, done)
        b.position_at_end(done)
    clock.end_iterations(context, node, iterations, b.load(counter, typ=I64))
    end_loop(context, node, op, b.load(counter, typ=I64), stacks)


def _is_endless(limit: Any) -> bool:
    """Whether a limit of iterations is never reached: only its condition ends a loop."""
    return isinstance(limit, llvm.Constant) and limit.constant >= _NO_LIMIT // 2


def _spend(context: CodegenContext, node: Node) -> None:
    """Count all iterations of a loop in advance if only their number ends it."""
    limit = _told(context, node) if context.kernel.limits_iterations else None
    if limit is not None:
        iteration_limit.consume_iterations(
            context,
            node,
            context.builder.most(limit, 0),
        )


def _told(context: CodegenContext, node: Node) -> Any:
    """The number of iterations of a loop, negative for never; None if only the loop can tell."""
    op = op_of(node, Loop)
    if not (
        op.path
        and op.is_counted
        and (context.kernel.limits_iterations or context.kernel.limits_memory)
    ):
        return None
    return most_trips(context, node)


def most_trips(context: CodegenContext, node: Node) -> Any:
    """The number of iterations of a loop that nothing ends early, before its operands are taken."""
    op = op_of(node, Loop)
    return context.builder.index(trip_limit(context, op, node.operands[0] if op.has_trip else None))


def trip_limit(context: CodegenContext, op: Loop, trip: Node | None) -> Any:
    """The number of iterations of a loop that nothing ends early."""
    w, b = context.builder, context.builder.builder
    length = None if op.length is None else w.index(context.access.extent(op.length))
    if trip is None:
        return w.index(_NO_LIMIT) if length is None else length
    if op.extent is not None:
        limit = w.index(context.access.extent(op.extent))
    else:
        limit = functions.cast(w, context.access.scalar(trip), trip.dtype, DType.INT64)
    if length is not None:
        fail_if(context, b.icmp_signed(">", limit, length), UNEQUAL_LENGTHS)
    return limit


def begin_states(context: CodegenContext, node: Node, op: Loop, initials: list[Node]) -> None:
    """Initialise the carried values in variables or in memory of the loop."""
    taken = reused_buffers(context, node)
    for number, (state, initial) in enumerate(zip(op.states, initials, strict=True)):
        storage = context.schedule.loops[node].carried[number]
        if isinstance(storage, Window):
            delay_line.begin(context, op, number, initial, storage)
            continue
        if isinstance(storage, SlidingWindow):
            sliding_window.begin(context, op, number, initial, storage)
            continue
        part = result_node(context, node, number)
        if isinstance(storage, Resizable):
            context.results.values[node, number] = growable.begin(
                context, op, number, initial, part, storage
            )
            continue
        if isinstance(storage, Registers):
            values = [
                context.access.read(initial, context.access.unflat(position, static_shape(state)))
                for position in range(state.size)
            ]
            context.access.buffers.pop(state, None)
            context.results.values[node, number] = [
                _variable(context, state, value) for value in values
            ]
            continue
        buffer = taken.get(number)
        if buffer is None:
            buffer = allocate(context, part if part is not None else state)
            copy_node(context, initial, buffer, node.home)
        context.access.buffers[state] = buffer
        context.results.values[node, number] = buffer


def _variable(context: CodegenContext, state: Node, value: Any) -> Any:
    """A variable for one element of a state."""
    return context.builder.variable(register_type(state.dtype), value)


def emit_iteration(
    context: CodegenContext,
    node: Node,
    op: Loop,
    index: Any,
    stacks: list[StackedOutput],
    emit_block: EmitBlock,
) -> Any:
    """One iteration; returns whether the loop continues, None for always."""
    safepoint(context, node)
    context.access.counters[op.body] = index
    double_buffer.load(context, op)
    carried = context.schedule.loops[node].carried
    for number, (state, kept) in enumerate(zip(op.states, carried, strict=True)):
        if isinstance(kept, Window):
            context.carried.delay_lines[state].storage_of(context, state, index)
        elif isinstance(kept, SlidingWindow):
            sliding_window.load(context, context.carried.sliding[state])
        elif isinstance(kept, Resizable):
            growable.load(context, op, context.carried.growable[state])
        elif isinstance(kept, Registers):
            type_ = register_type(state.dtype)
            variables = context.results.values[node, number]
            context.access.keep(
                state, [context.builder.builder.load(variable, typ=type_) for variable in variables]
            )
    rooms = [(stack, stack.room(context, index)) for stack in stacks if not stack.inner]
    stacked: dict[Node, list[Buffer]] = {}
    for stack, room in rooms:
        element = stack.element
        if context.access.storage_of(element) is Storage.NEST and element.home is op.body:
            stacked.setdefault(element, []).append(room)
    emit_block(context, op.body, stacked)
    goes_on = None if op.next_condition is None else context.access.scalar(op.next_condition)
    rooms += [(stack, stack.room(context, index)) for stack in stacks if stack.inner]
    for stack, room in rooms:
        if stack.element not in stacked:
            destination = context.schedule.order.in_stack(stack.part)
            copy_node(context, stack.element, room, op.body, destination)
    _carry(context, node, op)
    return goes_on


def _carry(context: CodegenContext, node: Node, op: Loop) -> None:
    """Copy the next values to the carried ones, all at once."""
    carried = context.schedule.loops[node].carried
    kinds = Counter(map(type, carried))
    reused = context.schedule.reused
    registers = [
        (number, after)
        for number, (state, after, kept) in enumerate(
            zip(op.states, op.nexts, carried, strict=True)
        )
        if isinstance(kept, Registers) and state is not after
    ]
    changed = [
        context.carried.growable[state] for state in op.states if state in context.carried.growable
    ]
    for made in changed:
        growable.make_next(context, op, made)
    values: list[tuple[Any, Any]] = []
    for number, after in registers:
        for position, variable in enumerate(context.results.values[node, number]):
            index = context.access.unflat(position, static_shape(after))
            values.append((context.access.read(after, index), variable))
    moves: list[tuple[Node, Node | Buffer, Buffer]] = []
    for number in reused.copied[node]:
        after = op.nexts[number]
        moves.append((after, _safe(context, after, op.body), context.results.values[node, number]))
    context.counts.update(
        {
            "in place": sum(state in reused.updated for state in op.states),
            "copied": len(moves),
            "taking turns": kinds[DoubleBuffer],
        }
    )
    for value, variable in values:
        context.builder.builder.store(value, variable)
    for after, source, target in moves:
        if isinstance(source, Node):
            copy_node(context, source, target, op.body)
        else:
            move(context, after, source, target, op.body)
    for made in changed:
        growable.take_next(context, made)
    double_buffer.take_next(context, op)
    sliding_window.take_next(context, op)


def _safe(context: CodegenContext, after: Node, block: Block) -> Node | Buffer:
    """The node, or a copy of it if another state's new value would overwrite it."""
    if after not in context.schedule.reused.saved:
        return after
    buffer = (
        context.access.allocate(after)
        if after.is_static
        else allocate_in(context, new_heap_buffer(context), after, alias_scope(context, after))
    )
    copy_node(context, after, buffer, block)
    return buffer


def end_loop(
    context: CodegenContext, node: Node, op: Loop, count: Any, stacks: list[StackedOutput]
) -> None:
    """Make the carried values and stacked outputs the loop's results, after `count` iterations."""
    double_buffer.end(context, op)
    carried = context.schedule.loops[node].carried
    for number, (state, kept) in enumerate(zip(op.states, carried, strict=True)):
        if isinstance(kept, Window):
            context.carried.delay_lines[state].end(context, node, number, count)
        elif isinstance(kept, SlidingWindow):
            sliding_window.end(context, node, context.carried.sliding[state], op)
        elif isinstance(kept, Resizable):
            growable.end(context, node, context.carried.growable[state])
        elif isinstance(kept, Registers):
            type_ = register_type(state.dtype)
            variables = context.results.values[node, number]
            context.results.values[node, number] = [
                context.builder.builder.load(v, typ=type_) for v in variables
            ]
    for number, each in enumerate(op.stacks, start=len(op.states)):
        context.results.dims[node, number, each.axis] = count
    for stack in stacks:
        context.results.values[node, stack.number] = stack.whole(context, node)

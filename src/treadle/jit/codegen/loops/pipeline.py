"""Emits a pipeline: loops that slice each other's stacked outputs, each on its own thread.

    int stage.k(data, first, last):             iterations first ... last - 1 of loop k
    bool turn.k(data):                          if loop k is free and the items of its next
        stage.k(next, next + steps)             iterations are there: runs these, tells how far
    void pipeline(data, number, threads):
        until the last loop is done or one has failed:
            take turns with one loop; where its items are late, look for another one

Nobody waits for a thread that has not begun a turn, so one thread runs the loops one after the
other, and a thread that comes late or is preempted between turns delays none. The first thread
also polls, since it holds the kernel's thread state. A loop that fails keeps its claim and its
progress, so no thread reads the items that it has not made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.carried import double_buffer
from treadle.jit.codegen.carried.stacked import StackedOutput, stacked_outputs
from treadle.jit.codegen.context import INTERRUPTED, CodegenContext, Exit
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I1, I64, POINTER, VOID, internal_function
from treadle.jit.codegen.loop import (
    EmitBlock,
    begin_states,
    emit_iteration,
    end_loop,
    most_trips,
    trip_limit,
)
from treadle.jit.codegen.ops.matmul_packing import pack_matrices
from treadle.jit.codegen.parallel import handed, run_parts
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.codegen.threads.processor import MAX_PAUSES, clock, spin
from treadle.jit.codegen.threads.records import Record
from treadle.jit.kernel.ir import Loop, op_of
from treadle.jit.schedule.pipelines import Pipeline, Stage
from treadle.jit.threads.words import PoolWord

_LINE = 16
"""Words of 64 bits of a stage, and of the pipeline before them: two cache lines."""
_STATUS, _LIMIT = 0, 1
_PROGRESS, _CLAIMED = 0, 1
_PATIENCE = 200
"""Pauses for which a thread waits for the items of its loop: some 5 microseconds."""
_PAUSE_NS, _YIELD_NS = 25, 20_000
"""What a pause, and giving the processor to others, count towards the next safepoint."""
_STALLED_TICKS = 1_000_000
"""Ticks of the processor's counter, a third of a millisecond, beside those of some turns."""


@dataclass(frozen=True, eq=False, slots=True)
class _Begun:
    """A loop whose carried values are in place, and the function of its iterations."""

    stage: Stage
    limit: Any
    stacks: list[StackedOutput]
    function: Any
    data: Any

    @property
    def op(self) -> Loop:
        """The loop's operation."""
        return op_of(self.stage.loop, Loop)


def emit_pipeline(context: CodegenContext, pipeline: Pipeline, emit_block: EmitBlock) -> None:
    """Emit all loops of the pipeline; their results go to `context.results`."""
    w, b = context.builder, context.builder.builder
    words = w.variable(I64, count=_LINE * (len(pipeline.stages) + 1))
    b.store(w.index(0), _word(w, words, w.index(0), _STATUS))
    begun = []
    for stage in pipeline.stages:
        pack_matrices(context, stage.loop, most_trips)
        begun.append(_begin(context, stage, emit_block))
    limit = w.most(begun[0].limit, 0)
    b.store(limit, _word(w, words, w.index(0), _LIMIT))
    for number in range(len(begun)):
        for word in (_PROGRESS, _CLAIMED):
            b.store(w.index(0), _word(w, words, w.index(number + 1), word))
    function, data = _runner(context, words, begun)
    run_parts(context, function, data, _cost(context, pipeline, limit))
    context.counts.update({"shared": 1, "stages": len(begun)})
    status = b.load(_word(w, words, w.index(0), _STATUS), typ=I64)
    with w.rarely(b.icmp_signed("!=", status, w.index(0))):
        b.store(status, context.exit.status)
        b.branch(context.exit.block)
    for each in begun:
        end_loop(context, each.stage.loop, each.op, limit, each.stacks)


def _cost(context: CodegenContext, pipeline: Pipeline, limit: Any) -> Any:
    """The estimated nanoseconds of all iterations."""
    total = round(sum(stage.nanoseconds for stage in pipeline.stages))
    return context.builder.multiply(max(total, 1), limit)


def _begin(context: CodegenContext, stage: Stage, emit_block: EmitBlock) -> _Begun:
    """Initialise a loop, and emit the function of its iterations."""
    node, op = stage.loop, op_of(stage.loop, Loop)
    operands = list(node.operands)
    limit = context.builder.index(trip_limit(context, op, operands.pop(0) if op.has_trip else None))
    begin_states(context, node, op, operands)
    stacks = stacked_outputs(context, node, op, limit)
    for stack in stacks:
        if stack.memory is not None:
            context.access.buffers[stack.part] = stack.memory
    double_buffer.begin(context, node)
    with _function(context, "stage", I64, [POINTER, I64, I64]) as (own, outer):
        leave = Exit(own.variable(I64, own.index(0)), own.function.append_basic_block("leave"))
        _, first, last = own.function.args
        with _inside(context, leave), own.range(own.builder.sub(last, first)) as number:
            index = own.add(first, number)
            with context.access.scope():
                emit_iteration(context, node, op, index, stacks, emit_block)
        own.builder.branch(leave.block)
        own.builder.position_at_end(leave.block)
        own.builder.ret(own.builder.load(leave.status, typ=I64))
    return _Begun(stage, limit, stacks, own.function, handed(outer, own))


@contextmanager
def _inside(context: CodegenContext, leave: Exit) -> Iterator[None]:
    """Code of a stage: it ends at an exit of its own, and does not poll."""
    before = context.exit, context.safepoint
    context.exit, context.safepoint = leave, replace(before[1], is_elsewhere=True)
    yield
    context.exit, context.safepoint = before


@contextmanager
def _function(
    context: CodegenContext, name: str, result: Any, types: list[Any]
) -> Iterator[tuple[FunctionBuilder, FunctionBuilder]]:
    """The builders of a new function, which is the current one inside, and of the one around it."""
    outer = context.builder
    name = outer.module.get_unique_name(name)
    function = internal_function(outer.module, name, result, types, "noinline")
    own = FunctionBuilder(outer.module, function, outer.target)
    context.builder = context.access.builder = own
    with context.access.scope():
        yield own, outer
    context.builder = context.access.builder = outer


def _word(builder: FunctionBuilder, words: Any, line: Any, number: int) -> Any:
    """The address of a word of the pipeline (line 0), or of stage `line - 1`."""
    index = builder.add(builder.multiply(_LINE, line), number)
    return builder.builder.gep(words, [builder.index(index)], source_etype=I64, inbounds=True)


def _turn(context: CodegenContext, words: Any, number: int, begun: _Begun) -> tuple[Any, Any]:
    """The function (data) -> whether it has begun some iterations of a loop, and its data."""
    with _function(context, "turn", I1, [POINTER]) as (w, outer):
        b, line = w.builder, w.index(number + 1)
        names = ("refuse", "give_back", "claim", "fail", "done")
        refuse, give_back, claim, fail, done = w.blocks(*names)
        _next_iterations(w, words, number, begun.stage, refuse)
        claimed, zero, one = _word(w, words, line, _CLAIMED), w.index(0), w.index(1)
        pair = b.cmpxchg(claimed, zero, one, "acquire", "monotonic")
        b.cbranch(b.extract_value(pair, 1), claim, refuse)
        b.position_at_end(claim)
        first, last = _next_iterations(w, words, number, begun.stage, give_back)
        status = b.call(begun.function, [begun.data, first, last])
        b.cbranch(b.icmp_signed("==", status, zero), done, fail)
        b.position_at_end(fail)
        b.cmpxchg(_word(w, words, zero, _STATUS), zero, status, "acq_rel", "monotonic")
        b.ret(llvm.Constant(I1, 1))
        b.position_at_end(done)
        b.store_atomic(last, _word(w, words, line, _PROGRESS), "release", 8)
        b.store_atomic(zero, claimed, "release", 8)
        b.ret(llvm.Constant(I1, 1))
        b.position_at_end(give_back)
        b.store_atomic(zero, claimed, "release", 8)
        w.enter(refuse)
        b.ret(llvm.Constant(I1, 0))
    return w.function, handed(outer, w)


def _next_iterations(
    builder: FunctionBuilder, words: Any, number: int, stage: Stage, otherwise: Any
) -> tuple[Any, Any]:
    """The next iterations of a stage, (first, last); leaves if they cannot run yet, or are over."""
    b = builder.builder
    limit = b.load(_word(builder, words, builder.index(0), _LIMIT), typ=I64)
    first = _progress(builder, words, number)
    last = builder.least(builder.add(first, stage.steps), limit)
    is_ready = b.icmp_signed("<", first, limit)
    if number:
        whole, ahead = builder.add(last, stage.ahead - 1), builder.index(stage.ahead)
        needed = builder.least(b.mul(b.udiv(whole, ahead), ahead), limit)
        is_there = b.icmp_signed(">=", _progress(builder, words, number - 1), needed)
        is_ready = b.and_(is_ready, is_there)
    after = builder.function.append_basic_block("ready")
    b.cbranch(is_ready, after, otherwise)
    b.position_at_end(after)
    return first, last


def _progress(builder: FunctionBuilder, words: Any, number: Any) -> Any:
    """The iterations that a stage has run."""
    word = _word(builder, words, builder.add(number, 1), _PROGRESS)
    return builder.builder.load_atomic(word, "acquire", 8, typ=I64)


def _runner(context: CodegenContext, words: Any, begun: list[_Begun]) -> tuple[Any, Any]:
    """The function (data, number, threads) that takes turns until all loops are done."""
    turns = [_turn(context, words, number, each) for number, each in enumerate(begun)]
    pool = context.access.slots.thread_pool()
    with _function(context, "pipeline", VOID, [POINTER, I64, I64]) as (w, outer):
        b, thread = w.builder, w.function.args[1]
        head, idle, ran, out = w.blocks("head", "idle", "ran", "out")
        own = w.variable(I64, b.urem(thread, w.index(len(begun))))
        spins, since = (w.variable(I64, w.index(0)) for _ in range(2))
        is_first = b.icmp_signed("==", thread, w.index(0))
        w.enter(head)
        _leave_if_over(w, words, len(begun), out)
        _dispatch(w, turns, b.load(own, typ=I64), ran, idle)
        b.position_at_end(ran)
        b.store(w.index(0), spins)
        with b.if_then(is_first):
            _poll(context, words, max(round(_turn_ns(each.stage)) for each in begun), out)
        b.branch(head)
        b.position_at_end(idle)
        waited = _wait(w, words, len(begun), own, spins, since)
        with b.if_then(is_first):
            _poll(context, words, waited, out)
        with b.if_then(b.and_(is_first, _has_stalled(w, pool, spins, since, begun))):
            Record(w, pool).store(PoolWord.STALLED, 1)
        b.branch(head)
        b.position_at_end(out)
        b.ret_void()
    return w.function, handed(outer, w)


def _leave_if_over(builder: FunctionBuilder, words: Any, count: int, out: Any) -> None:
    """Go to `out` if the last loop is done, or one has failed."""
    b, none = builder.builder, builder.index(0)
    status = b.load_atomic(_word(builder, words, none, _STATUS), "acquire", 8, typ=I64)
    limit = b.load(_word(builder, words, none, _LIMIT), typ=I64)
    is_done = b.icmp_signed(">=", _progress(builder, words, count - 1), limit)
    after = builder.function.append_basic_block("go_on")
    b.cbranch(b.or_(is_done, b.icmp_signed("!=", status, none)), out, after)
    b.position_at_end(after)


def _dispatch(
    builder: FunctionBuilder, turns: list[tuple[Any, Any]], number: Any, ran: Any, idle: Any
) -> None:
    """Take a turn with the loop of this number; goes to `ran` or to `idle`."""
    b = builder.builder
    blocks = [builder.function.append_basic_block("take") for _ in turns]
    switch = b.switch(number, blocks[0])
    for case, (block, (turn, data)) in enumerate(zip(blocks, turns, strict=True)):
        if case:
            switch.add_case(builder.index(case), block)
        b.position_at_end(block)
        b.cbranch(b.call(turn, [data]), ran, idle)


def _poll(context: CodegenContext, words: Any, taken: Index, out: Any) -> None:
    """Count the nanoseconds of a turn or of waiting, and poll when due."""
    w, b = context.builder, context.builder.builder

    def stop() -> None:
        status = _word(w, words, w.index(0), _STATUS)
        b.store_atomic(w.index(INTERRUPTED), status, "release", 8)
        b.branch(out)

    poll_after(context, taken, stop)


def _turn_ns(stage: Stage) -> float:
    return stage.steps * stage.nanoseconds


def _wait(
    builder: FunctionBuilder, words: Any, count: int, own: Any, spins: Any, since: Any
) -> Any:
    """Pause, and take the next loop if this one is over, or has kept waiting.

    Returns the estimated nanoseconds.
    """
    b = builder.builder
    spin(builder, b.load(spins, typ=I64))
    spun, number = b.add(b.load(spins, typ=I64), builder.index(1)), b.load(own, typ=I64)
    b.store(spun, spins)
    with b.if_then(b.icmp_signed("==", spun, builder.index(1))):
        b.store(clock(builder), since)
    limit = b.load(_word(builder, words, builder.index(0), _LIMIT), typ=I64)
    is_over = b.icmp_signed(">=", _progress(builder, words, number), limit)
    goes_on = b.or_(is_over, b.icmp_signed(">", spun, builder.index(_PATIENCE)))
    following = b.urem(b.add(number, builder.index(1)), builder.index(count))
    b.store(b.select(goes_on, following, number), own)
    is_slow = b.icmp_signed(">", spun, builder.index(MAX_PAUSES))
    return b.select(is_slow, builder.index(_YIELD_NS), builder.index(_PAUSE_NS))


def _has_stalled(
    builder: FunctionBuilder, pool: Any, spins: Any, since: Any, begun: list[_Begun]
) -> Any:
    """Whether a thread has waited much longer than a turn takes: a worker is preempted in one.

    Giving the processor to another program may take longer than many turns, so the time counts.
    """
    b = builder.builder
    longest = max(round(_turn_ns(each.stage)) for each in begun)
    waited = b.sub(clock(builder), b.load(since, typ=I64))
    is_long = b.icmp_unsigned(">", waited, builder.index(_STALLED_TICKS + 8 * longest))
    is_slow = b.icmp_signed(">", b.load(spins, typ=I64), builder.index(MAX_PAUSES))
    return b.and_(
        b.and_(is_long, is_slow), b.icmp_unsigned("!=", pool, llvm.Constant(POINTER, None))
    )

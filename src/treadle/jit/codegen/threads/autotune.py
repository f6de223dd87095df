"""Online autotuning of parallelism while a kernel runs.

Each run measures whether workers pay off. It first runs single-threaded for `patience` nanoseconds,
then in parallel, and compares the least time between two calls of a nest, per nanosecond of
estimated cost, of both modes. The first nest that is called often enough decides for all. If
parallel calls are not faster, no worker has come for two periods, or one was preempted inside its
chunk, everything runs single-threaded for a while, longer each time; otherwise the single-threaded
time is measured again occasionally. A nest whose cost exceeds eight times the patience runs in
parallel at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.threads.processor import clock
from treadle.jit.codegen.threads.records import WORDS, Record
from treadle.jit.threads.words import NestWord, PoolWord

SERIAL, PARALLEL = 0, 1
_UNMEASURED = -1
_TIME_SCALE = 1024
_LARGE_PATIENCES = 8
"""A nest this many times as long as the patience runs in parallel at once."""
_PARALLEL_PERIOD = 4
"""A period in parallel is as many times as long as the single-threaded one."""
_LEAST_CALLS = 2
_MAX_OTHER_WORK = 1000
"""The patiences of other nests after which a decider that is not called is given up."""
_GAIN = 15, 16
"""Workers pay if a call takes less than this share of its single-threaded time."""
_PAID_PERIODS, _MAX_PERIODS = 8, 100
"""Periods in parallel until the next backoff is shortened, and until it is measured again."""
_FIRST_BACKOFF, _LONGER, _LONGEST_BACKOFF = 32, 4, 4096


@dataclass(frozen=True, eq=False, slots=True)
class Tuning:
    """The words of the pool and of the nest that is called, and the functions for rare events."""

    builder: FunctionBuilder
    pool: Record
    nest: Record
    wake_all: Any
    back_off: Any


def choose_mode(tuning: Tuning, cost: Any, serial: Any, parallel: Any) -> None:
    """Count a call of this cost and go to one of the blocks."""
    w, b, pool = tuning.builder, tuning.builder.builder, tuning.pool
    left = pool.load(PoolWord.PAUSE_LEFT)
    with b.if_then(b.icmp_signed(">", left, w.index(0))):
        pool.store(PoolWord.PAUSE_LEFT, b.sub(left, cost))
        b.branch(serial)
    patience = pool.load(PoolWord.PATIENCE)
    with b.if_then(b.icmp_unsigned(">", cost, b.mul(patience, w.index(_LARGE_PATIENCES)))):
        b.call(tuning.wake_all, [pool.address])
        b.branch(parallel)
    decider = pool.load(PoolWord.DECIDER)
    is_decider = b.or_(
        b.icmp_unsigned("==", decider, b.ptrtoint(tuning.nest.address, I64)),
        b.icmp_unsigned("==", decider, w.index(0)),
    )
    with b.if_else(is_decider) as (measures, follows):
        with measures:
            _measure_call(tuning, cost, patience)
        with follows:
            _count_other_work(tuning, cost, patience)
    mode = pool.load(PoolWord.MODE)
    b.cbranch(b.icmp_unsigned("==", mode, w.index(SERIAL)), serial, parallel)


def _count_other_work(tuning: Tuning, cost: Any, patience: Any) -> None:
    """Give up a decider that is called no more."""
    w, b, pool = tuning.builder, tuning.builder.builder, tuning.pool
    work = pool.add(PoolWord.OTHER_WORK, cost)
    most = b.mul(patience, w.index(_MAX_OTHER_WORK))
    with w.rarely(b.icmp_unsigned(">", work, most)):
        pool.store(PoolWord.DECIDER, 0)
        pool.store(PoolWord.MODE, SERIAL)
        tuning.nest.store(NestWord.TIME, 0)


def _measure_call(tuning: Tuning, cost: Any, patience: Any) -> None:
    """Record the time since the previous call, and end the period if it is over."""
    w, b, pool, nest = tuning.builder, tuning.builder.builder, tuning.pool, tuning.nest
    pool.store(PoolWord.OTHER_WORK, 0)
    now = clock(w)
    is_first = b.icmp_unsigned("==", nest.load(NestWord.TIME), w.index(0))
    with b.if_else(is_first) as (first, later):
        with first:
            nest.store(NestWord.SERIAL_TIME, _UNMEASURED)
            nest.store(NestWord.PERIOD, patience)
            nest.store(NestWord.CALLS, 0)
            nest.store(NestWord.WORK, 0)
        with later:
            _record_time(tuning, now)
            is_long = b.icmp_unsigned(">", nest.load(NestWord.WORK), nest.load(NestWord.PERIOD))
            calls = nest.load(NestWord.CALLS)
            is_often = b.icmp_unsigned(">", calls, w.index(_LEAST_CALLS))
            with w.rarely(b.and_(is_long, is_often)):
                pool.store_pointer(PoolWord.DECIDER, nest.address)
                _end_period(tuning, patience)
    nest.add(NestWord.CALLS, 1)
    nest.add(NestWord.WORK, cost)
    nest.store(NestWord.TIME, now)
    nest.store(NestWord.COST, cost)
    nest.store(NestWord.WAS_PARALLEL, pool.load(PoolWord.MODE))


def _record_time(tuning: Tuning, now: Any) -> None:
    """Record the time since the previous call, if that ran in the current mode."""
    w, b, nest = tuning.builder, tuning.builder.builder, tuning.nest
    mode = tuning.pool.load(PoolWord.MODE)
    with b.if_then(b.icmp_unsigned("==", mode, nest.load(NestWord.WAS_PARALLEL))):
        elapsed = b.sub(now, nest.load(NestWord.TIME))
        cost = b.or_(nest.load(NestWord.COST), w.index(1))
        scaled = b.udiv(b.mul(elapsed, w.index(_TIME_SCALE)), cost)
        best = b.add(mode, w.index(NestWord.SERIAL_TIME.value))
        nest.store(best, w.intrinsic("llvm.umin", I64, scaled, nest.load(best)))


def _end_period(tuning: Tuning, patience: Any) -> None:
    """Choose the next mode."""
    w, b, pool, nest = tuning.builder, tuning.builder.builder, tuning.pool, tuning.nest
    mode = pool.load(PoolWord.MODE)
    times = nest.load(NestWord.SERIAL_TIME), nest.load(NestWord.PARALLEL_TIME)
    nest.store(NestWord.CALLS, 0)
    nest.store(NestWord.WORK, 0)
    nest.store(NestWord.PARALLEL_TIME, _UNMEASURED)
    with b.if_else(b.icmp_unsigned("==", mode, w.index(SERIAL))) as (begins, goes_on):
        with begins:
            pool.store(PoolWord.MODE, PARALLEL)
            nest.store(NestWord.PERIOD, b.mul(patience, w.index(_PARALLEL_PERIOD)))
            b.call(tuning.wake_all, [pool.address])
        with goes_on, b.if_else(_is_no_gain(tuning, *times)) as (stops, continues):
            with stops:
                b.call(tuning.back_off, [pool.address])
            with continues:
                _continue_parallel(tuning, patience)


def _is_no_gain(tuning: Tuning, serial: Any, parallel: Any) -> Any:
    """Whether workers did not pay, or none has come since the period before."""
    w, b, (share, of) = tuning.builder, tuning.builder.builder, _GAIN
    is_measured = b.icmp_unsigned("!=", parallel, w.index(_UNMEASURED))
    scaled = b.mul(parallel, w.index(of)), b.mul(serial, w.index(share))
    is_second = b.icmp_unsigned("!=", tuning.nest.load(NestWord.AGE), w.index(0))
    return b.select(is_measured, b.icmp_unsigned(">", *scaled), is_second)


def _continue_parallel(tuning: Tuning, patience: Any) -> None:
    """Shorten the next backoff after some periods, and after many measure one thread again."""
    w, b, pool, nest = tuning.builder, tuning.builder.builder, tuning.pool, tuning.nest
    age = nest.add(NestWord.AGE, 1)
    b.call(tuning.wake_all, [pool.address])
    with b.if_then(b.icmp_unsigned("==", age, w.index(_PAID_PERIODS))):
        shorter = b.udiv(pool.load(PoolWord.BACKOFF), w.index(_LONGER))
        pool.store(PoolWord.BACKOFF, shorter)
    with b.if_then(b.icmp_unsigned(">", age, w.index(_MAX_PERIODS))):
        nest.store(NestWord.PERIOD, patience)
        pool.store(PoolWord.MODE, SERIAL)
        nest.store(NestWord.SERIAL_TIME, _UNMEASURED)
        nest.store(NestWord.AGE, 0)


def emit_back_off(builder: FunctionBuilder, pool: Record) -> None:
    """Run single-threaded for a while, four times as long as the previous time."""
    w, b = builder, builder.builder
    previous = pool.load(PoolWord.BACKOFF)
    backoff = w.intrinsic("llvm.umax", I64, previous, w.index(_FIRST_BACKOFF))
    longer = b.mul(backoff, w.index(_LONGER))
    pool.store(PoolWord.BACKOFF, w.intrinsic("llvm.umin", I64, longer, w.index(_LONGEST_BACKOFF)))
    pool.store(PoolWord.PAUSE_LEFT, b.mul(pool.load(PoolWord.PATIENCE), backoff))
    pool.store(PoolWord.MODE, SERIAL)
    pool.store(PoolWord.STALLED, 0)
    decider = pool.load(PoolWord.DECIDER, WORDS)
    pool.store(PoolWord.DECIDER, 0)
    with b.if_then(b.icmp_unsigned("!=", decider, WORDS(None))):
        Record(w, decider).store(NestWord.TIME, 0)

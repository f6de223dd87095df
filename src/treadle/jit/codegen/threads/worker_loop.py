"""What the workers of the thread pool run, and how they are woken.

A worker sleeps at its semaphore, polls once it is woken, runs the chunks that it is offered, and
sleeps again when a run has ended or nothing was offered for a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I32, I64, POINTER, VOID
from treadle.jit.codegen.threads.processor import spin
from treadle.jit.codegen.threads.records import Record, worker_of
from treadle.jit.threads.words import PoolWord, State, WorkerWord

PART = llvm.FunctionType(VOID, [POINTER, I64, I64])
"""What is shared: a function of its data, a chunk's number, and the number of chunks."""
_MAX_SPINS = 6000
"""The pauses after which a worker without work sleeps."""


def wake(builder: FunctionBuilder, worker: Record) -> None:
    """Have a worker poll for work."""
    worker.store_atomic(WorkerWord.ASLEEP, 0, "seq_cst")
    post = builder.external("sem_post", I32, POINTER)
    builder.builder.call(post, [worker.at(WorkerWord.SEMAPHORE)])


def wake_all(builder: FunctionBuilder, pool: Record, wake_one: Any) -> None:
    """Have all workers of the run poll for work."""
    b = builder.builder
    with each_worker(builder, pool.load(PoolWord.WORKERS)) as number:
        worker = worker_of(pool, number)
        worker.store_atomic(WorkerWord.STATE, State.DONE.value, "release")
        with b.if_then(is_asleep(worker)):
            b.call(wake_one, [worker.address])


def is_asleep(worker: Record) -> Any:
    """Whether a worker sleeps, or is about to."""
    asleep = worker.load_atomic(WorkerWord.ASLEEP, "seq_cst")
    return worker.builder.builder.icmp_unsigned("!=", asleep, worker.builder.index(0))


@contextmanager
def each_worker(builder: FunctionBuilder, workers: Any) -> Iterator[Any]:
    """A loop over the numbers of workers, from 1; there is at least one."""
    b, number = builder.builder, builder.variable(I64, builder.index(1))
    head, after = builder.blocks("worker", "workers")
    builder.enter(head)
    current = b.load(number, typ=I64)
    yield current
    b.store(b.add(current, builder.index(1)), number)
    b.cbranch(b.icmp_unsigned(">=", current, workers), after, head)
    b.position_at_end(after)


def serve(builder: FunctionBuilder, worker: Record) -> None:
    """The function of a worker's thread, which never returns."""
    w, b = builder, builder.builder
    names = ("sleep", "awake", "poll", "idle", "offered", "work")
    sleep, awake, poll, idle, offered, work = w.blocks(*names)
    index, spins = worker.load(WorkerWord.INDEX), w.variable(I64)
    w.enter(sleep)
    worker.store_atomic(WorkerWord.ASLEEP, 1, "seq_cst")
    b.call(w.external("sem_wait", I32, POINTER), [worker.at(WorkerWord.SEMAPHORE)])
    worker.store_atomic(WorkerWord.ASLEEP, 0, "seq_cst")
    w.enter(awake)
    b.store(w.index(0), spins)
    w.enter(poll)
    switch = b.switch(worker.load_atomic(WorkerWord.STATE, "acquire"), idle)
    switch.add_case(w.index(State.OFFERED.value), offered)
    switch.add_case(w.index(State.SLEEP.value), sleep)
    b.position_at_end(idle)
    spun_long = b.icmp_unsigned(">", spun(w, spins), w.index(_MAX_SPINS))
    b.cbranch(spun_long, sleep, poll)
    b.position_at_end(offered)
    b.cbranch(worker.replace(WorkerWord.STATE, State.OFFERED, State.TAKEN), work, poll)
    b.position_at_end(work)
    data, chunks = worker.load(WorkerWord.DATA, POINTER), worker.load(WorkerWord.CHUNKS)
    b.call(worker.load(WorkerWord.FUNCTION, PART.as_pointer()), [data, index, chunks])
    worker.store_atomic(WorkerWord.STATE, State.DONE.value, "release")
    b.branch(awake)


def spun(builder: FunctionBuilder, spins: Any) -> Any:
    """Pause once more; returns how often by now."""
    b, before = builder.builder, builder.builder.load(spins, typ=I64)
    spin(builder, before)
    now = b.add(before, builder.index(1))
    b.store(now, spins)
    return now

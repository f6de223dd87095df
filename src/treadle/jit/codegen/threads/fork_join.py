"""Fork and join of one call: the caller runs the first chunk, and those that no worker has begun.

One worker is used for every 2 microseconds of estimated work. Whether workers pay at all is
measured (autotune.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.threads.autotune import Tuning, choose_mode
from treadle.jit.codegen.threads.records import Record, worker_of
from treadle.jit.codegen.threads.worker_loop import each_worker, is_asleep, spun
from treadle.jit.threads.words import NestWord, PoolWord, State, WorkerWord

_PAID_NS = 2000
"""The estimated work for which one more worker is used."""
_STALLED_SPINS = 4300
"""The pauses after which the caller takes a worker for preempted."""
_BY_CALLER = 2
"""The mode of a call whose chunks the caller ran itself: its time counts for neither mode."""


@dataclass(frozen=True, eq=False, slots=True)
class _Call:
    """A call to share: `function(data, chunk, chunks)`."""

    function: Any
    data: Any
    chunks: Any

    def run(self, builder: FunctionBuilder, chunk: Any) -> None:
        """Run a chunk in this thread."""
        builder.builder.call(self.function, [self.data, builder.index(chunk), self.chunks])


def share(builder: FunctionBuilder, helpers: Mapping[str, Any]) -> None:
    """Run all chunks of a call, with workers if that pays; the body of `treadle_share`."""
    w, b = builder, builder.builder
    address, function, data, cost, nest_address = w.function.args
    pool, nest = Record(w, address), Record(w, nest_address)
    serial, parallel, choose = w.blocks("serial", "parallel", "choose")
    waits = b.icmp_unsigned("!=", pool.load(PoolWord.WAITS), w.index(0))
    workers = _workers(pool, cost, waits)
    b.cbranch(waits, parallel, choose)
    b.position_at_end(choose)
    tuning = Tuning(w, pool, nest, helpers["wake_all"], helpers["back_off"])
    choose_mode(tuning, cost, serial, parallel)
    b.position_at_end(serial)
    _Call(function, data, w.index(1)).run(w, 0)
    b.ret_void()
    b.position_at_end(parallel)
    shared = _Call(function, data, b.add(workers, w.index(1)))
    with each_worker(w, workers) as number:
        _offer(shared, worker_of(pool, number))
    shared.run(w, 0)
    with each_worker(w, workers) as number:
        _collect(shared, pool, nest, number, waits, helpers["wake"])
    with w.rarely(b.icmp_unsigned("!=", pool.load(PoolWord.STALLED), w.index(0))):
        b.call(helpers["back_off"], [pool.address])
    b.ret_void()


def _workers(pool: Record, cost: Any, waits: Any) -> Any:
    """How many workers share the call: those that pay, or all if the caller waits for them."""
    w, all_workers = pool.builder, pool.load(PoolWord.WORKERS)
    paid = w.builder.add(w.builder.udiv(cost, w.index(_PAID_NS)), w.index(1))
    return w.builder.select(waits, all_workers, w.intrinsic("llvm.umin", I64, paid, all_workers))


def _offer(shared: _Call, worker: Record) -> None:
    worker.store_pointer(WorkerWord.FUNCTION, shared.function)
    worker.store_pointer(WorkerWord.DATA, shared.data)
    worker.store(WorkerWord.CHUNKS, shared.chunks)
    worker.store_atomic(WorkerWord.STATE, State.OFFERED.value, "release")


def _collect(shared: _Call, pool: Record, nest: Record, number: Any, waits: Any, wake: Any) -> None:
    """Wait for a worker's chunk, or run it here if the worker has not begun it."""
    w, b = pool.builder, pool.builder.builder
    poll, idle, offered, own, done = w.blocks("poll", "idle", "offered", "own", "done")
    worker, spins = worker_of(pool, number), w.variable(I64, w.index(0))
    w.enter(poll)
    switch = b.switch(worker.load_atomic(WorkerWord.STATE, "acquire"), idle)
    switch.add_case(w.index(State.OFFERED.value), offered)
    switch.add_case(w.index(State.DONE.value), done)
    b.position_at_end(idle)
    with w.rarely(b.icmp_unsigned("==", spun(w, spins), w.index(_STALLED_SPINS))):
        pool.store(PoolWord.STALLED, 1)
    b.branch(poll)
    b.position_at_end(offered)
    with b.if_then(waits):
        with b.if_then(is_asleep(worker)):
            b.call(wake, [worker.address])
        b.branch(idle)
    b.cbranch(worker.replace(WorkerWord.STATE, State.OFFERED, State.DONE), own, poll)
    b.position_at_end(own)
    shared.run(w, number)
    nest.store(NestWord.WAS_PARALLEL, _BY_CALLER)
    w.enter(done)

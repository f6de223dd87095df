"""The thread pool for kernels: one per process, asleep between runs.

    with acquired(threads) as pool:     its address, for one run at a time; 0: another run has it
        share(pool, f, d, cost, nest)   f(d, chunk, chunks) of all chunks, which a kernel calls

The caller runs the first chunk, worker t chunk t, and the caller then runs the chunks that no
worker has started. So no run waits for a worker that sleeps or was preempted before it started. A
run wakes the workers after `patience` nanoseconds of parallel work of its own, uses them as long
as that pays, and all of them sleep when it has ended. `codegen/threads` writes the code of both
sides, whoever compiles or loads it hands it over (`use_code`).
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from struct import Struct
from typing import Any

from treadle.jit.threads.words import SERVE, WORKER_WORDS, PoolWord, State, WorkerWord

_MAX_WORKERS = 63
_FUNCTIONS = ("sem_init", "sem_wait", "sem_post", "sched_yield")
_WORKERS, _STATE, _SLEEP = PoolWord.WORKERS.value, WorkerWord.STATE.value, State.SLEEP.value
_BEGIN = Struct(f"{PoolWord.BACKOFF.value}q").pack_into
"""Writes the words of the pool that begin anew with each run."""
_serve_functions: list[Any] = []


@dataclass(slots=True)
class PoolSettings:
    """The conditions for parallel execution; tests change them.

    `minimum_work_ns` is the estimated nanoseconds a nest must take, `patience` the nanoseconds of
    parallel work before a run wakes workers; `waits`: always use the workers, and wait for them.
    """

    least: int = 1500
    patience: int = 50_000
    waits: bool = False


POOL_SETTINGS = PoolSettings()


def minimum_work_ns(threads: int) -> int:
    """The nanoseconds from which a nest runs on this many threads; 0: never."""
    return POOL_SETTINGS.least if threads > 1 and is_available() else 0


@cache
def is_available() -> bool:
    """Whether the C library has unnamed semaphores, as on Linux."""
    if not sys.platform.startswith("linux"):
        return False
    return all(hasattr(_library(), name) for name in _FUNCTIONS)


@cache
def _library() -> Any:
    return ctypes.CDLL(None)


def has_code() -> bool:
    """Whether kernels may call `share` already."""
    return bool(_serve_functions)


def use_code(addresses: Mapping[str, int]) -> None:
    """Let workers run the function `SERVE` at its address; it is never unloaded."""
    _serve_functions.append(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses[SERVE]))


def _worker_words() -> Any:
    """The words of all workers, the first aligned to a cache line."""
    count, size = WORKER_WORDS * (_MAX_WORKERS + 1), 8 * WORKER_WORDS
    memory = (ctypes.c_int64 * (count + WORKER_WORDS))()
    first = -ctypes.addressof(memory) % size
    return (ctypes.c_int64 * count).from_buffer(memory, first)


@dataclass(eq=False, slots=True)
class ThreadPool:
    """The workers, and the words by which they communicate: a line each, after a common one.

    The words live as long as a worker, which never ends.
    """

    words: Any = field(default_factory=_worker_words)
    workers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    address: int = field(init=False)

    def __post_init__(self) -> None:
        """Start without workers."""
        self.address = ctypes.addressof(self.words)

    def start_workers(self, threads: int) -> bool:
        """Start workers for this many threads; returns whether there are any."""
        wanted = min(threads - 1, _MAX_WORKERS)
        while self.workers < wanted:
            try:
                self._add(self.workers + 1)
            except RuntimeError:
                return False
            self.workers += 1
        settings = POOL_SETTINGS
        _BEGIN(self.words, 0, wanted, settings.patience, settings.waits, 0, 0, 0, 0)
        return True

    def sleep(self) -> None:
        """Let all workers sleep."""
        words = self.words
        for first in range(WORKER_WORDS, WORKER_WORDS * (words[_WORKERS] + 1), WORKER_WORDS):
            words[first + _STATE] = _SLEEP

    def _add(self, number: int) -> None:
        first = number * WORKER_WORDS
        self.words[first + _STATE] = _SLEEP
        self.words[first + WorkerWord.INDEX] = number
        line = ctypes.byref(self.words, 8 * first)
        semaphore = ctypes.byref(self.words, 8 * (first + WorkerWord.SEMAPHORE))
        _library().sem_init(semaphore, 0, 0)
        name = f"treadle-{number}"
        threading.Thread(target=_serve_functions[0], args=(line,), name=name, daemon=True).start()


_pools = [ThreadPool()]


class acquired:  # noqa: N801  (a context manager that takes 1 us, a generator takes 2)
    """The address of the pool for a run; 0 if another run has it, or there is none."""

    __slots__ = ("_pool", "_threads")

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool: ThreadPool | None = None

    def __enter__(self) -> int:
        pool = _pools[-1]
        if self._threads < 2 or not pool.lock.acquire(blocking=False):
            return 0
        self._pool = pool
        try:
            return pool.address if pool.start_workers(self._threads) else 0
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        pool = self._pool
        if pool is None:
            return
        try:
            pool.sleep()
        finally:
            pool.lock.release()


def _reset_after_fork() -> None:
    """Reset the pool in a forked process, which has no workers."""
    _pools[:] = [ThreadPool()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)

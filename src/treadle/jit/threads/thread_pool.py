"""The thread pool for kernels: one per process, asleep between runs.

    with taken(threads) as team:        its address, for one run at a time; 0: another run has it
        share(team, f, d, cost, nest)   f(d, part, parts) of all parts, which a kernel calls

The caller runs the first part, worker t part t, and the caller then runs the parts that no worker
has started. So no run waits for a worker that sleeps or was preempted before it started. A run
wakes the workers after it has run `patience` nanoseconds of parallel work itself, uses them as long
as that pays (autotune_ir.py), and all of them sleep when it has ended.

    word of a helper    OFFERED, TAKEN by it, DONE by either, REST: it should sleep
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from treadle.jit.threads import pool_ir
from treadle.jit.toolchain import llvm
from treadle.jit.toolchain.disk_cache import DiskCache
from treadle.jit.toolchain.symbols import Unlinkable

SERVE, SHARE = "treadle_serve", "treadle_share"
_LINE_WORDS = 16
_MAX_WORKERS = 63
_FUNCTIONS = ("sem_init", "sem_wait", "sem_post", "sched_yield")
_NUMBER, _SEMAPHORE = 5, 6
_REST = 4
_serving: list[Any] = []


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


def ready(store: DiskCache | None = None) -> Any:
    """Allow kernels to call `share`; returns the worker's function.

    Its code is kept in the disk cache, as that of kernels is.
    """
    if not _serving:
        places = _places(store)
        _serving.append(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(places[SERVE]))
    return _serving[0]


def _places(store: DiskCache | None) -> Mapping[str, int]:
    """The addresses of the functions of pool_ir, from the disk cache if it has them."""
    text = pool_ir.text(llvm.family())
    key = hashlib.sha256(f"{llvm.description()} {text}".encode()).hexdigest()
    data = store.read(key) if store is not None else None
    if data is not None:
        with suppress(Unlinkable):
            return llvm.library(data, (SERVE, SHARE), from_disk=True)
    data = llvm.quick_object_code(text)
    if store is not None:
        store.write(key, data)
    return llvm.library(data, (SERVE, SHARE))


def _lines() -> Any:
    """The words of all workers, the first aligned to a cache line."""
    count, size = _LINE_WORDS * (_MAX_WORKERS + 1), 8 * _LINE_WORDS
    memory = (ctypes.c_int64 * (count + _LINE_WORDS))()
    first = -ctypes.addressof(memory) % size
    return (ctypes.c_int64 * count).from_buffer(memory, first)


@dataclass(eq=False, slots=True)
class ThreadPool:
    """The workers, and the words by which they communicate: a line each, after a common one.

    The words live as long as a worker, which never ends.
    """

    words: Any = field(default_factory=_lines)
    helpers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    place: int = field(init=False)

    def __post_init__(self) -> None:
        """Start without workers."""
        self.place = ctypes.addressof(self.words)

    def gather(self, threads: int) -> bool:
        """Start workers for this many threads; returns whether there are any."""
        wanted = min(threads - 1, _MAX_WORKERS)
        while self.helpers < wanted:
            try:
                self._add(self.helpers + 1)
            except RuntimeError:
                return False
            self.helpers += 1
        self.words[:7] = wanted, POOL_SETTINGS.patience, POOL_SETTINGS.waits, 0, 0, 0, 0
        return True

    def rest(self) -> None:
        """Let all workers sleep."""
        words = self.words
        for number in range(1, words[0] + 1):
            words[number * _LINE_WORDS] = _REST

    def _add(self, number: int) -> None:
        first, serve = number * _LINE_WORDS, ready()
        self.words[first], self.words[first + _NUMBER] = _REST, number
        line = ctypes.byref(self.words, 8 * first)
        _library().sem_init(ctypes.byref(self.words, 8 * (first + _SEMAPHORE)), 0, 0)
        name = f"treadle-{number}"
        threading.Thread(target=serve, args=(line,), name=name, daemon=True).start()


_teams = [ThreadPool()]


@contextmanager
def acquired(threads: int) -> Iterator[int]:
    """The address of the pool for a run; 0 if another run has it, or there is none."""
    team = _teams[-1]
    if threads < 2 or not team.lock.acquire(blocking=False):
        yield 0
        return
    try:
        yield team.place if team.gather(threads) else 0
    finally:
        try:
            team.rest()
        finally:
            team.lock.release()


def _begin_anew() -> None:
    """Reset the pool in a forked process, which has no workers."""
    _teams[:] = [ThreadPool()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)

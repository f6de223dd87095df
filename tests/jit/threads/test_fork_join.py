"""The worker loop of the thread pool: which thread runs which part, and when none is woken."""

from __future__ import annotations

import ctypes
import gc
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from treadle.jit.codegen.threads.pool_module import emit_pool
from treadle.jit.runtime.compilation import load_thread_pool
from treadle.jit.threads import thread_pool
from treadle.jit.threads.words import SERVE, SHARE, PoolWord, State, WorkerWord
from treadle.jit.toolchain import llvm
from treadle.jit.toolchain.disk_cache import DiskCache

pytestmark = pytest.mark.skipif(
    not thread_pool.is_available(), reason="no semaphores without names"
)
LARGE = 10**7
WORKER = 16
PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
Share = Callable[[int], list[bool]]


@pytest.fixture(autouse=True)
def _code() -> None:
    load_thread_pool()


@pytest.fixture(name="words")
def _team(monkeypatch: pytest.MonkeyPatch) -> Iterator[ctypes.Array[ctypes.c_int64]]:
    """The words of a pool of one worker, which a run has."""
    fresh = thread_pool.ThreadPool()
    monkeypatch.setattr(thread_pool, "_pools", [fresh])
    with thread_pool.acquired(2):
        yield fresh.words


@pytest.fixture(name="share")
def _share(words: ctypes.Array[ctypes.c_int64]) -> Share:
    """Shares work of a cost, each part a millisecond; gives which parts the caller did itself."""
    return sharing(words)


def sharing(words: ctypes.Array[ctypes.c_int64]) -> Share:
    """The function that shares work in the pool of these words."""
    code = llvm.quick_object_code(emit_pool(llvm.host_target()))
    kinds = ctypes.c_void_p, PART, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    function = ctypes.CFUNCTYPE(None, *kinds)(llvm.library(code, (SHARE,))[SHARE])
    nest = (ctypes.c_int64 * 16)()

    def share(cost: int) -> list[bool]:
        mine = [False, False]

        def work(_: int, number: int, parts: int) -> None:
            assert parts in (1, 2)
            mine[number] = threading.current_thread() is threading.main_thread()
            time.sleep(0.001)

        function(ctypes.addressof(words), PART(work), None, cost, ctypes.addressof(nest))
        return mine

    return share


@pytest.mark.parametrize(
    ("triple", "pause", "clock"),
    [
        ("x86_64-unknown-linux-gnu", "llvm.x86.sse2.pause", "llvm.readcyclecounter"),
        ("aarch64-unknown-linux-gnu", "llvm.aarch64.hint", "llvm.readsteadycounter"),
        ("riscv64-unknown-linux-gnu", None, None),
    ],
)
def test_waiting_threads_pause_as_the_processor_wants(triple, pause, clock):
    text = emit_pool(replace(llvm.host_target(), triple=triple))
    known = set(re.findall(r'declare \w+ @"(llvm\.[a-z0-9.]+)"', text))
    assert known - {"llvm.umin.i64", "llvm.umax.i64"} == {pause, clock} - {None}
    with llvm.parsed(text) as module:
        defined = {each.name for each in module.functions if not each.is_declaration}
    assert defined == {"wake", "wake_all", "back_off", SERVE, SHARE}


def test_the_code_of_the_pool_is_kept_on_disk(monkeypatch, tmp_path):
    store = DiskCache(tmp_path)
    monkeypatch.setattr(thread_pool, "_serve_functions", [])
    load_thread_pool(store)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert file.stat().st_size > 1000
    monkeypatch.setattr(thread_pool, "_serve_functions", [])
    monkeypatch.setattr(llvm, "quick_object_code", None)
    load_thread_pool(store)
    assert thread_pool.has_code()


def is_helped(share: Share) -> bool:
    """Whether a worker does its part of what is large, soon."""
    return any(share(LARGE) == [True, False] for _ in range(20))


def test_large_nests_run_in_parallel_at_once(share):
    assert is_helped(share)


def test_sleeping_workers_are_woken_for_parallel_nests(share, words):
    words[PoolWord.MODE] = 1
    for _ in range(3):
        assert is_helped(share)
        until = time.monotonic() + 10
        while not words[WORKER + WorkerWord.ASLEEP]:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_each_stall_makes_the_backoff_four_times_as_long(share, words):
    pauses = []
    for _ in range(6):
        words[PoolWord.STALLED], words[PoolWord.PAUSE_LEFT] = 1, 0
        share(LARGE)
        pauses.append(words[PoolWord.PAUSE_LEFT] // thread_pool.POOL_SETTINGS.patience)
    assert pauses == [32, 128, 512, 2048, 4096, 4096]


def test_no_worker_is_woken_during_a_backoff(share, words):
    words[PoolWord.STALLED] = 1
    share(LARGE)
    before = words[PoolWord.PAUSE_LEFT]
    assert share(1000) == [True, False]
    assert words[PoolWord.PAUSE_LEFT] == before - 1000
    assert words[WORKER] != State.OFFERED


def test_workers_that_never_come_are_not_woken_again():
    words = (ctypes.c_int64 * (2 * WORKER))()
    words[PoolWord.WORKERS], words[PoolWord.PATIENCE] = 1, 1000
    share, calls = sharing(words), 0
    while words[PoolWord.PAUSE_LEFT] == 0:
        assert share(1000) == [True, words[PoolWord.MODE] == 1]
        calls += 1
        assert calls < 100
    assert words[PoolWord.MODE] == 0
    assert words[PoolWord.BACKOFF] == 128


def test_an_interrupt_at_the_end_of_a_run_releases_the_pool(monkeypatch):
    def interrupted(_: thread_pool.ThreadPool) -> None:
        raise KeyboardInterrupt

    fresh = thread_pool.ThreadPool()
    monkeypatch.setattr(thread_pool, "_pools", [fresh])
    monkeypatch.setattr(thread_pool.ThreadPool, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt), thread_pool.acquired(2):
        pass
    assert not fresh.lock.locked()


def test_workers_keep_the_memory_of_their_pool_alive():
    def begun() -> weakref.ref[object]:
        gone = thread_pool.ThreadPool()
        assert gone.start_workers(2)
        return weakref.ref(gone.words)

    words = begun()
    gc.collect()
    assert words() is not None

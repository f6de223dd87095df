"""The worker loop of the thread pool: which thread runs which part, and when none is woken."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import llvmlite.binding as llvm
import pytest

from treadle.jit.threads import pool_ir, thread_pool

pytestmark = pytest.mark.skipif(
    not thread_pool.is_available(), reason="no semaphores without names"
)
LARGE = 10**7
MODE, STALLED, PENALTY, LEFT = 3, 6, 7, 8
PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
Share = Callable[[int], list[bool]]


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
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(pool_ir.text(llvm.get_default_triple().partition("-")[0]))
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    kinds = ctypes.c_void_p, PART, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    function = ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(thread_pool.SHARE))
    nest = (ctypes.c_int64 * 16)()

    def share(cost: int) -> list[bool]:
        mine = [False, False]

        def work(_: int, number: int, parts: int) -> None:
            assert parts in (1, 2)
            mine[number] = threading.current_thread() is threading.main_thread()
            time.sleep(0.001)

        function(ctypes.addressof(words), PART(work), None, cost, ctypes.addressof(nest))
        assert engine
        return mine

    return share


def is_helped(share: Share) -> bool:
    """Whether a worker does its part of what is large, soon."""
    return any(share(LARGE) == [True, False] for _ in range(20))


def test_large_nests_run_in_parallel_at_once(share):
    assert is_helped(share)


def test_sleeping_workers_are_woken_for_parallel_nests(share, words):
    words[MODE] = 1
    for _ in range(3):
        assert is_helped(share)
        until = time.monotonic() + 10
        while not words[16 + 3]:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_each_stall_makes_the_backoff_four_times_as_long(share, words):
    pauses = []
    for _ in range(6):
        words[STALLED], words[LEFT] = 1, 0
        share(LARGE)
        pauses.append(words[LEFT] // thread_pool.POOL_SETTINGS.patience)
    assert pauses == [32, 128, 512, 2048, 4096, 4096]


def test_no_worker_is_woken_during_a_backoff(share, words):
    words[STALLED] = 1
    share(LARGE)
    before = words[LEFT]
    assert share(1000) == [True, False]
    assert words[LEFT] == before - 1000
    assert words[16] != 1


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

"""Parallel nests: the same bits and errors as on one thread, and no thread waits forever.

Here every nest is shared and workers are waited for, whatever they are expected to gain.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings

import benchmarks.models  # noqa: F401  registers them
import treadle
from benchmarks.registry import REGISTERED
from tests.jit.native import HEAD, outcomes
from tests.strategies import programs
from treadle.errors import RunError
from treadle.jit import Jit
from treadle.jit.runtime.compilation import load_thread_pool
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.threads import thread_pool
from treadle.machine import processor_count

SHARED = (
    "heat", "lstm_64_b1", "lstm_64_b16", "lstm_both", "gru_128_b4", "rnn",
    "selective", "selective_loop", "linear_attention", "cache", "table_rows",
    "suppression", "invariant", "greedy",
)  # fmt: skip
LONG = """g (int64 n, float[4096] p) => (float[4096] last, float[N] firsts) {
  last, firsts = Loop (n, , p) <body = f (int64 i, bool go, float[4096] x) => (bool on,
    float[4096] x1, float e) {
    zero = Constant <value = int64 {0}> ()
    far = Constant <value = int64 {4000000000}> ()
    on = Less (i, far)
    c = Cos (x)
    s = ReduceSum <keepdims = 0> (c)
    x1 = Add (c, s)
    e = Gather (x, zero)
  }>
}"""
P = np.linspace(0, 1, 4096, dtype=np.float32)


@pytest.fixture(autouse=True)
def _every_nest(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    load_thread_pool()
    monkeypatch.setattr(thread_pool.POOL_SETTINGS, "least", 1)
    monkeypatch.setattr(thread_pool.POOL_SETTINGS, "patience", 0)
    monkeypatch.setattr(thread_pool.POOL_SETTINGS, "waits", True)
    yield
    assert not thread_pool._pools[-1].lock.locked()


def session(text: str, threads: int) -> treadle.InferenceSession:
    options = treadle.SessionOptions(intra_op_num_threads=threads)
    return treadle.InferenceSession(text, options, engines=("jit", "interp"))


def shared(made: treadle.InferenceSession) -> int:
    """How many nests of a session are shared."""
    kernels = [each for each in outcomes(made) if isinstance(each, CompiledKernel)]
    return sum(dict(kernel.code.counts).get("shared", 0) for kernel in kernels)


def same_bits(found: list[np.ndarray], wanted: list[np.ndarray]) -> bool:
    pairs = zip(found, wanted, strict=True)
    return all(one.tobytes() == other.tobytes() for one, other in pairs)


@pytest.mark.parametrize("name", SHARED)
def test_any_number_of_threads_gives_the_same_bits(name):
    instance = REGISTERED[name].make(REGISTERED[name].small)
    alone = session(instance.model, 1)
    wanted = alone.run(None, instance.feed)
    assert shared(alone) == 0
    for threads in (2, 3, 5):
        together = session(instance.model, threads)
        assert same_bits(together.run(None, instance.feed), wanted), threads
        assert shared(together), together.explain()


@pytest.mark.parametrize("name", ["heat", "lstm_64_b16", "cache", "invariant"])
@pytest.mark.parametrize("patience", [0, 1000])
def test_autotuned_runs_give_the_same_bits(monkeypatch, name, patience):
    monkeypatch.setattr(thread_pool.POOL_SETTINGS, "waits", False)
    monkeypatch.setattr(thread_pool.POOL_SETTINGS, "patience", patience)
    instance = REGISTERED[name].make(10 * REGISTERED[name].small)
    wanted = session(instance.model, 1).run(None, instance.feed)
    for threads in (2, 3):
        together = session(instance.model, threads)
        for _ in range(10):
            assert same_bits(together.run(None, instance.feed), wanted), threads


def test_one_thread_starts_no_workers(monkeypatch):
    fresh = thread_pool.ThreadPool()
    monkeypatch.setattr(thread_pool, "_pools", [fresh])
    session(HEAD + LONG, 1).run(None, {"n": np.array(3), "p": P})
    assert fresh.workers == 0
    session(HEAD + LONG, 3).run(None, {"n": np.array(3), "p": P})
    assert fresh.workers == 2


def test_memory_of_a_dropped_pool_lives_as_long_as_its_workers():
    fresh = thread_pool.ThreadPool()
    words = weakref.ref(fresh.words)
    assert fresh.start_workers(3)
    del fresh
    gc.collect()
    assert words() is not None


def test_the_default_thread_count_is_the_processor_count():
    wanted = processor_count()
    assert Jit.of(treadle.SessionOptions()).threads == wanted
    assert Jit.of(treadle.SessionOptions(intra_op_num_threads=7)).threads == 7


def test_explain_says_how_many_threads(monkeypatch):
    made = session(HEAD + LONG, 3)
    made.run(None, {"n": np.array(3), "p": P})
    assert "threads: 3, which share" in made.explain()
    monkeypatch.setattr(thread_pool.POOL_SETTINGS, "least", 10**9)
    made = session(HEAD + LONG, 3)
    made.run(None, {"n": np.array(3), "p": P})
    assert "threads: 1, as none of its loop nests is shared" in made.explain()


def test_without_a_pool_explain_does_not_mention_threads(monkeypatch):
    monkeypatch.setattr(thread_pool, "is_available", lambda: False)
    made = session(HEAD + LONG, 3)
    made.run(None, {"n": np.array(3), "p": P})
    assert shared(made) == 0
    assert "threads" not in made.explain()


@settings(max_examples=20)
@given(programs())
def test_random_programs_give_the_same_bits(program):
    assert_alike(program)


@settings(max_examples=20)
@given(programs(grows=True))
def test_random_programs_of_dynamic_extents_give_the_same_bits(program):
    assert_alike(program)


def assert_alike(program) -> None:
    answers = [session(program.text, n).run(None, dict(program.feeds)) for n in (1, 3)]
    for found, wanted in zip(*answers, strict=True):
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


FAILING = LONG.replace("zero = Constant <value = int64 {0}> ()", "zero = Mul (i, i)")


def test_an_error_is_that_of_one_thread():
    feed = {"n": np.array(80), "p": P}
    said = []
    for threads in (1, 3):
        with pytest.raises(RunError) as raised:
            session(HEAD + FAILING, threads).run(None, feed)
        said.append(str(raised.value))
    assert said[0] == said[1]
    assert "iteration 64" in said[0]


@pytest.mark.parametrize("bound", [{"max_iterations": 50}, {"max_seconds": 0.05}])
def test_limits_hold_in_parallel_nests(bound):
    made = session(HEAD + LONG, 3)
    options = treadle.RunOptions(**bound)
    with pytest.raises(RunError):
        made.run(None, {"n": np.array(10**7), "p": P}, options)
    made.run(None, {"n": np.array(3), "p": P})


def begin_and_run(timer: threading.Timer, made: treadle.InferenceSession) -> None:
    timer.start()
    made.run(None, {"n": np.array(10**7), "p": P})


def test_an_interrupt_ends_a_parallel_run():
    made = session(HEAD + LONG, 3)
    wanted = made.run(None, {"n": np.array(3), "p": P})
    gc.collect()  # Python drops a KeyboardInterrupt that is raised in a finalizer
    for _ in range(3):
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            begin_and_run(timer, made)
        timer.join()
        assert same_bits(made.run(None, {"n": np.array(3), "p": P}), wanted)


def test_eight_threads_on_one_session():
    """One of them at a time has the pool; the others run alone."""
    made = session(HEAD + LONG, 3)
    wanted = made.run(None, {"n": np.array(5), "p": P})
    with ThreadPoolExecutor(8) as pool:
        works = [pool.submit(made.run, None, {"n": np.array(5), "p": P}) for _ in range(64)]
        assert all(same_bits(work.result(60), wanted) for work in works)


def test_thousands_of_parallel_runs(monkeypatch):
    """Helpers that come, go and are late are never waited for in vain."""
    monkeypatch.setattr(thread_pool.POOL_SETTINGS, "waits", False)
    made = session(HEAD + LONG, 3)
    wanted = made.run(None, {"n": np.array(2), "p": P})
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(lambda: all(
            same_bits(made.run(None, {"n": np.array(2), "p": P}), wanted) for _ in range(2000)
        ))  # fmt: skip
        assert work.result(120)


def test_a_pool_in_use_serves_one_kernel():
    with thread_pool.acquired(3) as first, thread_pool.acquired(3) as second:
        assert first
        assert not second
    with thread_pool.acquired(3) as again:
        assert again == first


SLEEPING = 4.0


def test_workers_sleep_between_runs():
    made = session(HEAD + LONG, 3)
    made.run(None, {"n": np.array(50), "p": P})
    ended = time.monotonic() + SLEEPING
    while time.monotonic() < ended:
        asleep = [thread_pool._pools[-1].words[16 * k + 3] for k in (1, 2)]
        if asleep == [1, 1]:
            return
        time.sleep(0.01)
    raise AssertionError(f"workers that are awake: {asleep}")


CHILD = """
import os, sys, threading, numpy as np, treadle
from treadle.jit.threads import thread_pool as pool
from tests.jit.threads.test_thread_pool import LONG, HEAD, P, session
pool.POOL_SETTINGS.least, pool.POOL_SETTINGS.patience, pool.POOL_SETTINGS.waits = 1, 0, True
made = session(HEAD + LONG, 3)
feed = {"n": np.array(3), "p": P}
wanted = made.run(None, feed)
child = os.fork()
if child == 0:
    os._exit(0 if (made.run(None, feed)[0] == wanted[0]).all() else 3)
assert os.waitpid(child, 0)[1] == 0
threading.Thread(
    target=made.run, args=(None, {"n": np.array(10**8), "p": P}), daemon=True
).start()
print("done", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that fork")
def test_a_forked_process_has_workers_of_its_own_and_exits():
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD], capture_output=True, text=True, timeout=100,
        check=False,
    )  # fmt: skip
    assert (made.stdout, made.returncode) == ("done\n", 0), made.stderr

"""Locks that a forked process inherits from a thread that it lacks."""

import itertools
import os
import signal
import threading

import numpy as np
import pytest

import treadle
from treadle.jit.runtime import compilation
from treadle.locks import ForkSafeLock
from treadle.plan.fallback import LazyFallback

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
TEXT = (
    '<ir_version: 9, opset_import: ["" : 17]> g (int64 M, float[N] x) => (float[N] y) {'
    " y = Loop <body = b (int64 i, bool c, float[N] s) => (bool co, float[N] so)"
    ' { co = Identity(c) so = Sin(s) }> (M, "", x) }'
)


def in_a_child(work):
    """The exit code of a forked process that does the work; -14 if it hangs."""
    child = os.fork()
    if not child:
        try:
            signal.alarm(20)
            work()
        except BaseException:  # noqa: BLE001  the exit code tells
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def made_elsewhere():
    """A function that holds what it is given in another thread, until the test ends."""
    ends: list[threading.Event] = []
    threads: list[threading.Thread] = []

    def hold(enter):
        """Have a thread call `enter(wait)`; returns once it waits."""
        inside, over = threading.Event(), threading.Event()
        ends.append(over)

        def wait():
            inside.set()
            over.wait(30)

        threads.append(threading.Thread(target=enter, args=(wait,)))
        threads[-1].start()
        assert inside.wait(10)

    yield hold
    for each in ends:
        each.set()
    for each in threads:
        each.join()


def test_a_lock_of_another_thread_is_open_in_a_child(made_elsewhere):
    lock = ForkSafeLock()

    def enter(wait):
        with lock:
            wait()

    def work():
        with lock:
            pass

    made_elsewhere(enter)
    assert in_a_child(work) == 0


def test_a_lock_admits_one_thread(made_elsewhere):
    lock, inside = ForkSafeLock(), []

    def enter(wait):
        with lock:
            wait()

    def second():
        with lock:
            inside.append(True)

    made_elsewhere(enter)
    other = threading.Thread(target=second, daemon=True)
    other.start()
    other.join(0.1)
    assert other.is_alive()
    assert not inside


def test_a_process_that_is_forked_inside_a_lock_leaves_it():
    lock = ForkSafeLock()

    def work():
        with lock:
            pass

    with lock:
        assert in_a_child(work) == 0
    with lock:
        pass


def test_a_child_makes_a_fallback_that_a_thread_was_making(made_elsewhere):
    plans = [object()]

    def make():
        if threading.current_thread() is not threading.main_thread():
            waits[0]()
        return plans[0]

    waits: list[object] = []
    fallback = LazyFallback(make)

    def enter(wait):
        waits.append(wait)
        fallback()

    def work():
        assert fallback() is plans[0]

    made_elsewhere(enter)
    assert in_a_child(work) == 0


@pytest.mark.parametrize("mode", ["first_run", "background"])
def test_sessions_answer_in_children_of_a_process_whose_threads_run_them(mode):
    options = treadle.SessionOptions()
    options.compile, options.cache_dir = mode, ""
    # a module that another thread imports at the fork stays locked in the child, by Python
    warm = treadle.InferenceSession(TEXT.replace("Sin", "Cos"), options, engines=("jit", "interp"))
    warm.run(None, {"M": 2, "x": np.ones(7, np.float32)})
    sessions = [treadle.InferenceSession(TEXT, options) for _ in range(4)]
    over = threading.Event()

    def ask(length):
        for session in sessions:
            (y,) = session.run(None, {"M": 2, "x": np.ones(length, np.float32)})
            np.testing.assert_allclose(y, np.sin(np.sin(1)), rtol=1e-6)

    def serve():
        while not over.is_set():
            ask(3)

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for each in threads:
        each.start()
    try:
        assert [in_a_child(lambda: ask(5)) for _ in range(6)] == [0] * 6
    finally:
        over.set()
        for each in threads:
            each.join()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_compiles_whatever_another_thread_compiles(monkeypatch):
    options = treadle.SessionOptions()
    options.cache_dir = ""
    over, lengths = threading.Event(), itertools.count(10)

    def compile_anew():
        session = treadle.InferenceSession(TEXT, options, engines=("jit", "interp"))
        session.run(None, {"M": 2, "x": np.ones(next(lengths), np.float32)})

    def serve():
        while not over.is_set():
            compile_anew()

    monkeypatch.setattr(compilation, "_recent", {})
    monkeypatch.setattr(compilation, "_MAX_RECENT_KERNELS", 0)
    compile_anew()
    threads = [threading.Thread(target=serve) for _ in range(2)]
    for each in threads:
        each.start()
    try:
        assert [in_a_child(compile_anew) for _ in range(8)] == [0] * 8
    finally:
        over.set()
        for each in threads:
            each.join()

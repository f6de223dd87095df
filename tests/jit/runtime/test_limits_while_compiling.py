"""max_seconds and terminate hold while a kernel is compiled, which continues."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import treadle
import treadle.plan.run as plan_run
from tests.jit.native import HEAD, natives, outcomes
from treadle.errors import LimitExceeded, Terminated
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.toolchain import llvm

TEXT = """g (int64 n, float x) => (float y) {
  y = Loop (n, , x) <body = f (int64 i, bool go, float u) => (bool on, float v) {
    on = Identity (go)
    s = Sin (u)
    v = Add (s, UNLIKE)
  }>
}"""
FEED = {"n": np.array(3), "x": np.float32(0.5)}
PATIENCE = 30.0
"""Seconds that LLVM waits for the test, which lets it go on when the run has been stopped."""
PROMPT = 10.0
"""Seconds within which a run stops, or a plan is explained, on a machine under load."""


class SlowLlvm:
    """LLVM that tells when it begins, and goes on when it is let."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()

    def clock(self) -> float:
        """The clock of limits of time, which stands still until LLVM begins."""
        return time.monotonic() if self.begun.is_set() else 0.0


@pytest.fixture
def slow(monkeypatch):
    llvm_at_work, made = SlowLlvm(), llvm.object_code

    def object_code(*given, **named):
        llvm_at_work.begun.set()
        llvm_at_work.released.wait(PATIENCE)
        return made(*given, **named)

    monkeypatch.setattr(llvm, "object_code", object_code)
    monkeypatch.setattr(plan_run, "time", SimpleNamespace(monotonic=llvm_at_work.clock))
    yield llvm_at_work
    llvm_at_work.released.set()


@pytest.fixture
def session(rng):
    unlike = rng.uniform(1, 2)
    text = TEXT.replace("s, UNLIKE", "s, c").replace(
        "s = Sin", f"c = Constant <value = float {{{unlike}}}> ()\n    s = Sin"
    )
    options = treadle.SessionOptions(cache_dir="")
    return treadle.InferenceSession(HEAD + text, options, engines=("jit", "interp"))


def stopped(session, options, error, slow):
    """The error of a run that stops while LLVM is at work."""
    started = time.monotonic()
    with pytest.raises(error) as raised:
        session.run(None, FEED, options)
    assert slow.begun.is_set()
    assert not slow.released.is_set()
    assert time.monotonic() - started < PROMPT
    return str(raised.value)


def test_max_seconds_ends_a_run_that_waits_for_llvm(session, slow):
    options = treadle.RunOptions()
    options.max_seconds = 0.05
    told = stopped(session, options, LimitExceeded, slow)
    assert "max_seconds=0.05 seconds; its native code is still being made" in told
    assert not outcomes(session)
    slow.released.set()
    session.run(None, FEED)
    assert [type(made) for made in outcomes(session)] == [CompiledKernel]


def test_a_kernel_compiled_in_the_background_is_used(session, slow):
    options = treadle.RunOptions()
    options.max_seconds = 0.05
    stopped(session, options, LimitExceeded, slow)
    slow.released.set()
    for _ in range(600):
        if outcomes(session):
            break
        time.sleep(0.05)
    slow.begun.clear()
    session.run(None, FEED, options)
    assert not slow.begun.is_set()


def test_terminate_ends_a_run_that_waits_for_llvm(session, slow):
    options = treadle.RunOptions()

    def end():
        assert slow.begun.wait(PATIENCE)
        options.terminate = True

    thread = threading.Thread(target=end)
    thread.start()
    stopped(session, options, Terminated, slow)
    thread.join()


def test_max_seconds_ends_a_run_that_waits_for_another_thread(session, slow):
    first = threading.Thread(target=session.run, args=(None, FEED))
    first.start()
    assert slow.begun.wait(PATIENCE)
    options = treadle.RunOptions()
    options.max_seconds = 0.05
    stopped(session, options, LimitExceeded, slow)
    slow.released.set()
    first.join()
    assert len(natives(session)[0].cache.compiled) == 1


def compiling():
    return [each for each in threading.enumerate() if each.name == "treadle compiles"]


def test_stopped_runs_share_one_compiling_thread(session, slow):
    options = treadle.RunOptions()
    options.max_seconds = 0.05
    for _ in range(4):
        stopped(session, options, LimitExceeded, slow)
        assert len(compiling()) == 1


def test_explain_does_not_wait_for_compiling(session, slow):
    options = treadle.RunOptions()
    options.max_seconds = 0.05
    stopped(session, options, LimitExceeded, slow)
    started = time.monotonic()
    assert "compiled in" not in session.explain()
    assert time.monotonic() - started < PROMPT
    slow.released.set()
    session.run(None, FEED)
    assert "compiled in" in session.explain()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_finishes_the_kernel(session, slow):
    options = treadle.RunOptions()
    options.max_seconds = 0.05
    stopped(session, options, LimitExceeded, slow)
    slow.released.set()
    child = os.fork()
    if not child:
        signal.alarm(20)
        session.run(None, FEED)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

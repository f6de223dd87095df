"""Ctrl-C at random moments, also while compiling: the run ends soon, the session still works."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time

import numpy as np

import treadle
from treadle.jit.runtime import compilation

_HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
_TEXT = """g (int64 n, float[64] p) => (float[64] last, float[N] firsts) {
  last, firsts = Loop (n, , p) <body = f (int64 i, bool go, float[64] x) => (bool on,
    float[64] x1, float e) {
    zero = Constant <value = int64 {0}> ()
    far = Constant <value = int64 {4000000000}> ()
    on = Less (i, far)
    x1 = Cos (x)
    e = Gather (x, zero)
  }>
}"""
_TRIPS = 3_000_000
_PATIENCE = 20.0
_FRESH = 5


def soak(chance: random.Random, times: int) -> str:
    """Runs that take seconds, each stopped within a moment of the signal."""
    # Python drops a KeyboardInterrupt that is raised in a finalizer or a callback of the collector
    gc.collect()
    gc.disable()
    try:
        return _soak(chance, times)
    finally:
        gc.enable()


def _soak(chance: random.Random, times: int) -> str:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs may ignore it
    session = _session()
    p = np.linspace(0, 1, 64, dtype=np.float32)
    wanted = session.run(None, {"n": np.array(3), "p": p})
    slowest = 0.0
    for number in range(times):
        if number % _FRESH == 0:
            session = _session()
        slowest = max(slowest, _stopped(session, p, 0.03 * chance.random(), number))
        found = session.run(None, {"n": np.array(3), "p": p})
        assert all(map(np.array_equal, found, wanted)), f"after stop {number}: {found}"
    return f"{times} runs stopped, the slowest {slowest * 1e3:.0f} ms after the signal"


def _session() -> treadle.InferenceSession:
    """One that has to compile."""
    compilation._recent.clear()
    options = treadle.SessionOptions(cache_dir="")
    return treadle.InferenceSession(_HEAD + _TEXT, options, engines=("jit", "interp"))


def _stopped(session: treadle.InferenceSession, p: np.ndarray, delay: float, number: int) -> float:
    """How long after the signal a run ended."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, send)
    try:
        timer.start()
        session.run(None, {"n": np.array(_TRIPS), "p": p})
        time.sleep(_PATIENCE)
    except KeyboardInterrupt:
        ended = time.monotonic()
        timer.join()
        assert ended - sent[0] < _PATIENCE, f"run {number} went on after the signal"
        return ended - sent[0]
    raise AssertionError(f"run {number} was never stopped")

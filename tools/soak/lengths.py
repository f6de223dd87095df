"""Runs one session with thousands of lengths: right results, constant memory."""

from __future__ import annotations

import gc
import random
import sys

import numpy as np

import treadle

_HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
_TEXT = """g (float[T,5] x, float[5] z, int64 limit) => (float[5] last, float[T,5] sums,
  float[N] halves) {
  last, sums = Scan <num_scan_inputs = 1, body = b (float[5] s, float[5] e) => (float[5] s1,
    float[5] y) {
    s1 = Add (s, e)
    y = Identity (s1)
  }> (z, x)
  one = Constant <value = float {1.0}> ()
  yes = Constant <value = bool {1}> ()
  rest, halves = Loop (, yes, limit) <body = h (int64 i, bool go, int64 left) => (bool on,
    int64 left1, float half) {
    two = Constant <value = int64 {2}> ()
    unit = Constant <value = int64 {1}> ()
    left1 = Sub (left, unit)
    nothing = Constant <value = int64 {0}> ()
    on = Greater (left1, nothing)
    f = Cast <to = 1> (left)
    t = Cast <to = 1> (two)
    half = Div (f, t)
  }>
}"""
_LONGEST = 2000
_MOST_GROWTH = 24 * 2**20


def soak(chance: random.Random, runs: int) -> str:
    """Runs of random lengths, answers checked, the process's size looked at before and after."""
    session = treadle.InferenceSession(_HEAD + _TEXT, engines=("jit", "interp"))
    for length in (_LONGEST, 1, 0):
        check(session, length)
    gc.collect()
    before = resident()
    for _ in range(runs):
        check(session, int(_LONGEST ** chance.random()))
    gc.collect()
    growth = resident() - before
    assert growth <= _MOST_GROWTH, f"{runs} runs took {growth / 2**20:.0f} MiB and kept them"
    return f"{runs} runs, {growth / 2**20:+.1f} MiB"


def check(session: treadle.InferenceSession, length: int) -> None:
    """One run; the lengths of both loops follow."""
    x = np.ones((length, 5), np.float32)
    feed = {"x": x, "z": np.zeros(5, np.float32), "limit": np.array(length)}
    last, sums, halves = session.run(None, feed)
    assert last.tolist() == [length] * 5, f"length {length}: the sum is {last}"
    assert sums.shape == (length, 5), f"length {length}: the sums are {sums.shape}"
    assert np.array_equal(sums[:, 0], np.arange(1, length + 1)), f"length {length}: {sums[:, 0]}"
    count = max(length, 1)
    wanted = np.arange(length, length - count, -1) / 2
    assert np.array_equal(halves, wanted), f"length {length}: halves {halves}"


def resident() -> int:
    """The memory of this process, in bytes; its peak where the system tells no more."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit

"""Many threads on one session: each gets its own outputs or its own error."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import treadle
from treadle.errors import RunError

_THREADS = 8
_HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
_TEXT = """g (int64 n, float[K] p, int64[M] picks) => (float[K] last, float[N] sums) {
  last, sums = Loop (n, , p) <body = f (int64 i, bool go, float[K] x) => (bool on, float[K] x1,
    float s) {
    on = Identity (go)
    which = Gather (picks, i)
    e = Gather (x, which)
    x1 = Add (x, e)
    s = Identity (e)
  }>
}"""


def soak(chance: random.Random, rounds: int) -> str:
    """Every thread runs its own lengths, widths and mistakes, all at once."""
    session = treadle.InferenceSession(_HEAD + _TEXT, engines=("jit", "interp"))
    with ThreadPoolExecutor(_THREADS) as pool:
        works = [
            pool.submit(_work, session, random.Random(chance.random()), rounds)
            for _ in range(_THREADS)
        ]
        mistakes = sum(work.result() for work in works)
    return f"{_THREADS} threads, {rounds} runs each, {mistakes} of them errors as they should be"


def _work(session: treadle.InferenceSession, chance: random.Random, rounds: int) -> int:
    mistakes = 0
    for _ in range(rounds):
        width, trips = chance.choice((3, 8, 40)), chance.randrange(1, 300)
        p = np.full(width, chance.randrange(1, 5), np.float32)
        picks = np.arange(300) % width
        is_mistaken = chance.random() < 0.1
        if is_mistaken:
            picks[trips - 1] = width
        feed = {"n": np.array(trips), "p": p, "picks": picks}
        if is_mistaken:
            with pytest.raises(RunError):
                session.run(None, feed)
            mistakes += 1
            continue
        last, sums = session.run(None, feed)
        assert len(sums) == trips, f"{len(sums)} sums of {trips}"
        with np.errstate(over="ignore"):
            doubled = p[0] * np.float32(2) ** np.arange(1, trips + 1, dtype=np.float32)
        assert np.array_equal(last, np.full(width, doubled[-1])), f"{last} of {doubled[-1]}"
    return mistakes

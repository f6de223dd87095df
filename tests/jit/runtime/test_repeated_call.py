"""Calls of a kernel with arrays like those of an earlier run, past the plan."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD
from tests.seeded import floats
from treadle.errors import InputError, RunError
from treadle.jit.runtime.repeated_call import RepeatedCall

SUMS = """g (float[N,4] xs, float[4] s) => (float[4] last, float[N,4] all) {
  last, all = Scan <num_scan_inputs = 1, body = b (float[4] a, float[4] x)
      => (float[4] t, float[4] y) {
    t = Add (a, x)
    y = Mul (t, x)
  }> (s, xs)
}"""
POWERS = """g (int64 n, bool go, float[3] x) => (float[3] y, float[K,3] all) {
  y, all = Loop <body = b (int64 i, bool c, float[3] a) => (bool on, float[3] t, float[3] o) {
    on = Identity (c)
    t = Mul (a, x)
    o = Identity (t)
  }> (n, go, x)
}"""
CHOSEN = """g (float[3] x, int64[4] k) => (float[4] y) {
  y = Scan <num_scan_inputs = 1, body = b (int64 i) => (float v) {
    v = Gather (x, i)
  }> (k)
}"""


@pytest.fixture
def repeated(monkeypatch):
    """The results of repeated calls."""
    made, call = [], RepeatedCall.__call__

    def noted(self, arrays):
        made.append(call(self, arrays))
        return made[-1]

    monkeypatch.setattr(RepeatedCall, "__call__", noted)
    return made


def session_of(text):
    return treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))


def expect_like_interp(session, text, feed):
    want = treadle.InferenceSession(HEAD + text, engines=("interp",)).run(None, feed)
    got = session.run(None, feed)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)
    return got


def test_runs_with_equal_shapes_are_repeated_calls(repeated, rng):
    session = session_of(SUMS)
    results = []
    for rows in (5, 5, 7, 7, 5, 0, 0):
        feed = {"xs": floats(rng, rows, 4), "s": floats(rng, 4)}
        results += expect_like_interp(session, SUMS, feed)
    assert len(repeated) == 4
    assert not any(np.shares_memory(a, b) for a in results for b in results if a is not b)


def test_feeds_of_other_kinds_are_left_to_a_run(repeated, rng):
    session = session_of(SUMS)
    xs, s = floats(rng, 5, 4), floats(rng, 4)
    for feed in (
        {"xs": xs, "s": s},
        {"xs": xs[::-1], "s": s},
        {"xs": np.asfortranarray(xs), "s": s},
        {"xs": xs.view(np.recarray), "s": s},
        {"xs": xs, "s": s.astype(">f4").astype("f4")[::-1]},
    ):
        expect_like_interp(session, SUMS, feed)
    for wrong in ({"xs": xs}, {"xs": xs, "s": s, "t": s}, {"xs": xs, "t": s}, {"xs": s, "s": s}):
        with pytest.raises(InputError):
            session.run(None, wrong)
    with pytest.raises(InputError):
        session.run(None, {"xs": xs.astype(np.int32), "s": s})
    assert not repeated
    assert session.run(["all"], {"s": s, "xs": xs})[0].shape == (5, 4)
    assert len(repeated) == 1


@pytest.mark.parametrize("n", [0, 1, 4, -2])
def test_trip_counts_are_read_in_each_call(n, repeated, rng):
    session = session_of(POWERS)
    feed = {"n": np.array(3), "go": np.array(True), "x": floats(rng, 3)}
    session.run(None, feed)
    expect_like_interp(session, POWERS, {**feed, "n": np.array(n)})
    expect_like_interp(session, POWERS, {**feed, "n": np.array(n), "go": np.array(False)})
    assert [each is None for each in repeated] == [False, True]


def test_many_trip_counts_one_after_the_other(repeated, rng):
    session = session_of(POWERS)
    feed = {"n": np.array(3), "go": np.array(True), "x": floats(rng, 3)}
    session.run(None, feed)
    for n in (*range(100), 3, -1, 99):
        assert session.run(None, {**feed, "n": np.array(n)})[1].shape == (max(n, 0), 3)
    assert len(repeated) == 103


def test_a_kernel_that_fails_is_explained_by_a_run(repeated, rng):
    session = session_of(CHOSEN)
    feed = {"x": floats(rng, 3), "k": np.array([0, 2, -1, 1])}
    for _ in range(2):
        expect_like_interp(session, CHOSEN, feed)
    with pytest.raises(RunError, match="iteration 2"):
        session.run(None, {**feed, "k": np.array([0, 2, 7, 1])})
    expect_like_interp(session, CHOSEN, feed)
    assert repeated[1] is None


def test_results_whose_extents_only_the_kernel_knows(repeated):
    text = """g (int64 n, int64 most) => (int64[K] all) {
      zero = Constant <value_int = 0> ()
      last, all = Loop <body = b (int64 i, bool c, int64 a) => (bool on, int64 t, int64 o) {
        on = Less (a, most)
        t = Add (a, i)
        o = Identity (t)
      }> (n, "", zero)
    }"""
    session = session_of(text)
    for most in (10, 0, 100, 10**9):
        expect_like_interp(session, text, {"n": np.array(50), "most": np.array(most)})
    assert len(repeated) == 3


def test_inputs_that_the_kernel_does_not_read_are_checked(repeated, rng):
    text = SUMS.replace("float[4] s)", "float[4] s, int64[2] spare)")
    session = session_of(text)
    feed = {"xs": floats(rng, 5, 4), "s": floats(rng, 4), "spare": np.array([1, 2])}
    for _ in range(2):
        expect_like_interp(session, text, feed)
    assert len(repeated) == 1
    for wrong in (np.array([1]), np.array([1.0, 2.0])):
        with pytest.raises(InputError):
            session.run(None, {**feed, "spare": wrong})


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="signals of Unix")
def test_an_interrupt_ends_a_repeated_call(repeated, rng):
    session = session_of(POWERS)
    feed = {"n": np.array(3), "go": np.array(True), "x": np.ones(3, np.float32)}
    session.run(None, feed)
    session.run(None, feed)
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()

    def run_long():
        for _ in range(100_000):
            session.run(None, {**feed, "n": np.array(2_000_000)})

    with pytest.raises(KeyboardInterrupt):
        run_long()
    timer.join()
    assert repeated
    session.run(None, feed)

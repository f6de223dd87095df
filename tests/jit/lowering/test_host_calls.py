"""Host calls: operators without native code in compiled loops."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, escapes, outcomes
from tests.values import assert_same
from treadle.errors import LimitExceeded, RunError

POOLED = """g (float[T,1,4,4] x, float h) => (float[T,1,2,2] y, float last) {
  last, y = Scan <num_scan_inputs = 1, body = b (float s, float[1,4,4] a)
    => (float s1, float[1,2,2] c) {
    zero = Constant <value = int64[1] {0}> ()
    u = Unsqueeze (a, zero)
    v, at = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (u)
    p = Squeeze (v, zero)
    c = Add (p, s)
    d = ReduceMax <keepdims = 0> (c)
    s1 = Tanh (d)
  }> (h, x)
}"""


@pytest.fixture
def feed(rng: np.random.Generator):
    return {"x": rng.uniform(-1, 1, (6, 1, 4, 4)).astype(np.float32), "h": np.float32(0.5)}


def test_a_call_between_native_operators(feed):
    check(POOLED, feed)
    session = treadle.InferenceSession(HEAD + POOLED, engines=("jit", "interp"))
    session.run(None, feed)
    assert escapes(session) == ["MaxPool"]


def test_threads_call_out_together(feed):
    session = treadle.InferenceSession(HEAD + POOLED, engines=("jit", "interp"))
    wanted = session.run(None, feed)
    found: list = []

    def run():
        found.extend(session.run(None, feed) for _ in range(50))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    for each in found:
        assert_same(each, wanted, ["last", "y"])


def test_random_operators_draw_in_every_iteration():
    text = """g (int64 n, bool yes, float[4] x) => (float[T,4] y) {
      y = Loop (n, yes) <body = f (int64 i, bool go) => (bool on, float[4] r) {
        on = Identity (go)
        r = RandomNormalLike (x)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"n": np.array(5), "yes": np.array(True), "x": np.zeros(4, np.float32)}
    (found,) = session.run(None, feed)
    assert escapes(session) == ["RandomNormalLike"]
    assert len(np.unique(found)) == 20


def test_a_call_that_fails_says_where(rng: np.random.Generator):
    text = """g (int64 n, bool yes, float[2,3] x) => (float[T] y) {
      y = Loop (n, yes) <body = f (int64 i, bool go) => (bool on, float r) {
        on = Identity (go)
        two = Constant <value = int64[1] {2}> ()
        k = Expand (i, two)
        r = NegativeLogLikelihoodLoss (x, k)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"yes": np.array(True), "x": rng.uniform(-1, 1, (2, 3)).astype(np.float32)}
    check(text, {**feed, "n": np.array(3)})
    with pytest.raises(RunError, match=r"main/loop_0\.body.*iteration 3"):
        session.run(None, {**feed, "n": np.array(5)})
    assert escapes(session) == ["NegativeLogLikelihoodLoss"]


def test_max_seconds_bounds_calls():
    text = """g (bool go0, float[1,1,64,64] x) => (float[1,1,64,64] y) {
      y = Loop (, go0, x) <body = f (int64 i, bool go, float[1,1,64,64] a)
        => (bool on, float[1,1,64,64] b) {
        b = LRN <size = 3> (a)
        big = Constant <value = int64 {100000000}> ()
        on = Less (i, big)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"go0": np.array(True), "x": np.ones((1, 1, 64, 64), np.float32)}
    session.run(None, {**feed, "go0": np.array(False)})  # compiles, which takes its own time
    options = treadle.RunOptions()
    options.max_seconds = 0.1
    with pytest.raises(LimitExceeded):
        session.run(None, feed, options)
    assert escapes(session) == ["LRN"]


def test_a_call_that_fails_on_shapes_of_the_run_says_where(rng: np.random.Generator):
    text = """g (int64 n, float[4,3,3] x) => (float[T] s) {
      s = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float s) {
        on = Identity (go)
        one = Constant <value = int64 {1}> ()
        five = Constant <value = int64 {5}> ()
        zero = Constant <value = int64[1] {0}> ()
        count = Add (i, one)
        ends = Unsqueeze (count, zero)
        part = Slice (x, zero, ends, zero)
        flat = Flatten (part)
        label = Mul (i, five)
        labels = Expand (label, ends)
        s = NegativeLogLikelihoodLoss (flat, labels)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"x": rng.uniform(-1, 1, (4, 3, 3)).astype(np.float32)}
    session.run(None, {**feed, "n": np.array(2)})
    assert escapes(session) == ["NegativeLogLikelihoodLoss"]
    with pytest.raises(RunError, match=r"main/loop_0\.body.*iteration 2"):
        session.run(None, {**feed, "n": np.array(3)})


def test_outcomes_of_a_call_are_kernels(feed):
    session = treadle.InferenceSession(HEAD + POOLED, engines=("jit", "interp"))
    session.run(None, feed)
    assert not [made for made in outcomes(session) if isinstance(made, str)]


def test_a_result_that_has_no_native_code_is_called_for():
    text = """g (int64 n, float[3] x) => (float[T,3] y, bool[T,3] m) {
      y, m = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float[3] d, bool[3] k) {
        on = Identity (go)
        d, k = Dropout (x)
      }>
    }"""
    check(text, {"n": np.array(3), "x": np.ones(3, np.float32)})

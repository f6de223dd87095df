"""Loops in native code: carried, sliced and stacked values, and conditions."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, outcomes
from tests.seeded import floats
from treadle.errors import LimitExceeded, RunError, Terminated

SIZES = (3, 40)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_states_that_swap_turn_and_are_passed_on(size, trips, rng):
    text = f"""g (int64 n, float[{size}] p, float[{size}] q, float[{size}] r)
      => (float[{size}] a, float[{size}] b, float[{size}] c, float[N,{size}] s) {{
      a, b, c, s = Loop (n, , p, q, r) <body = f (int64 i, bool go, float[{size}] x,
        float[{size}] y, float[{size}] z)
        => (bool on, float[{size}] x1, float[{size}] y1, float[{size}] z1, float[{size}] w) {{
        on = Identity (go)
        x1 = Identity (y)
        y1 = Identity (x)
        d = Sub (x, y)
        z1 = Add (z, d)
        w = Identity (z)
      }}>
    }}"""  # fmt: skip
    feed = {"n": np.array(trips), **{name: floats(rng, size) for name in "pqr"}}
    check(text, feed)


@pytest.mark.parametrize("size", SIZES)
def test_a_state_written_in_place_is_not_read_afterwards(size, rng):
    text = f"""g (int64 n, float[{size}] p) => (float[{size}] a, float[N,{size}] s, float[N] m) {{
      one = Constant <value = float {{1.0}}> ()
      a, s, m = Loop (n, , p) <body = f (int64 i, bool go, float[{size}] x) => (bool on,
        float[{size}] x1, float[{size}] w, float t) {{
        on = Identity (go)
        x1 = Add (x, one)
        st = Constant <value = int64[1] {{-1}}> ()
        en = Constant <value = int64[1] {{-100}}> ()
        ax = Constant <value = int64[1] {{0}}> ()
        turned = Slice (x, st, en, ax, st)
        w = Mul (turned, x1)
        t = ReduceMax <keepdims = 0> (x)
      }}>
    }}"""
    check(text, {"n": np.array(4), "p": floats(rng, size)})


@pytest.mark.parametrize("size", SIZES)
def test_one_value_is_carried_twice_and_stacked(size, rng):
    text = f"""g (int64 n, float[{size}] p)
      => (float[{size}] a, float[{size}] b, float[N,{size}] s) {{
      a, b, s = Loop (n, , p, p) <body = f (int64 i, bool go, float[{size}] x, float[{size}] y)
        => (bool on, float[{size}] x1, float[{size}] y1, float[{size}] w) {{
        on = Identity (go)
        t = Add (y, y)
        x1 = Cos (t)
        y1 = Cos (t)
        w = Cos (t)
      }}>
    }}"""
    check(text, {"n": np.array(3), "p": floats(rng, size)})


@pytest.mark.parametrize("size", SIZES)
def test_the_callers_arrays_stay_as_they_are(size, rng):
    text = f"""g (int64 n, float[{size}] p) => (float[{size}] a, float[{size}] b) {{
      one = Constant <value = float {{1.0}}> ()
      a, b = Loop (n, , p, p) <body = f (int64 i, bool go, float[{size}] x, float[{size}] y)
        => (bool on, float[{size}] x1, float[{size}] y1) {{
        on = Identity (go)
        x1 = Add (x, one)
        y1 = Identity (y)
      }}>
    }}"""
    p = floats(rng, size)
    before = p.copy()
    first, second = check(text, {"n": np.array(3), "p": p})
    assert np.array_equal(p, before)
    second += 1
    assert np.array_equal(p, before)
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("turned", [0, 1])
def test_slices_and_stacks_along_any_axis(axis, turned, size, rng):
    shape = [2, size]
    shape.insert(axis, 5)
    text = f"""g (float[A,B,C] x) => (float[D,E,F] y) {{
      y = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{turned}],
        scan_output_axes = [{2 - axis}], scan_output_directions = [{1 - turned}],
        body = b (float[2,{size}] a) => (float[2,{size}] c) {{ c = Exp (a) }}> (x)
    }}"""
    check(text, {"x": floats(rng, *shape)})


@pytest.mark.parametrize("limit", [1, 63, 64, 65, 1000])
def test_a_while_loop_stacks_as_many_as_there_are(limit):
    text = """g (int64 limit, int64 zero) => (int64 last, int64[N] s, float[N,2] t) {
      yes = Constant <value = bool {1}> ()
      pair = Constant <value = float[2] {0.5, 0.25}> ()
      last, s, t = Loop (, yes, zero) <body = f (int64 i, bool go, int64 x) => (bool on,
        int64 x1, int64 e, float[2] f) {
        one = Constant <value = int64 {1}> ()
        x1 = Add (x, one)
        on = Less (x1, limit)
        e = Identity (x)
        k = Cast <to = 1> (x)
        f = Mul (k, pair)
      }>
    }"""
    last, stacked, _ = check(text, {"limit": np.array(limit), "zero": np.array(0)})
    assert last == len(stacked) == limit


def test_lengths_and_trip_counts_share_one_kernel(rng: np.random.Generator):
    text = """g (float[T] x, float z) => (float s, float[T] ys) {
      s, ys = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float a1, float y) {
        a1 = Add (a, e)
        y = Identity (a1)
      }> (z, x)
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    for length in range(1, 30):
        x = floats(rng, length)
        _, found = session.run(None, {"x": x, "z": np.float32(0)})
        assert np.allclose(found, np.cumsum(x), atol=1e-5)
    assert len(outcomes(session)) == 1


def test_an_index_out_of_range_is_an_error_that_says_where(rng: np.random.Generator):
    text = """g (int64 n, float[8] table) => (float s) {
      zero = Constant <value = float {0.0}> ()
      s = Loop (n, , zero) <body = f (int64 i, bool go, float x) => (bool on, float x1) {
        on = Identity (go)
        e = Gather (table, i)
        x1 = Add (x, e)
      }>
    }"""
    table = floats(rng, 8)
    check(text, {"n": np.array(8), "table": table})
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(RunError, match="iteration 8"):
        session.run(None, {"n": np.array(9), "table": table})


def test_branches_and_loops_within_a_loop(rng: np.random.Generator):
    text = """g (int64 n, float[20] p) => (float[20] a, float[N] s) {
      a, s = Loop (n, , p) <body = f (int64 i, bool go, float[20] x) => (bool on, float[20] x1,
        float total) {
        on = Identity (go)
        two = Constant <value = int64 {2}> ()
        zero = Constant <value = int64 {0}> ()
        m = Mod (i, two)
        even = Equal (m, zero)
        x1 = If (even) <
          then_branch = t () => (float[20] u) { u = Tanh (x) },
          else_branch = e () => (float[20] v) {
            v = Loop (i, , x) <body = h (int64 j, bool g2, float[20] y) => (bool o2, float[20] y1) {
              o2 = Identity (g2)
              y1 = Sub (p, y)
            }>
          }>
        total = ReduceSum <keepdims = 0> (x1)
      }>
    }"""
    for trips in (1, 2, 5):
        check(text, {"n": np.array(trips), "p": floats(rng, 20)})


ENDLESS = """g (float x0) => (float x) {
  yes = Constant <value = bool {1}> ()
  x = Loop (, yes, x0) <body = f (int64 i, bool go, float a) => (bool on, float b) {
    big = Constant <value = float {1e30}> ()
    b = Cos (a)
    on = Less (b, big)
  }>
}"""


@pytest.fixture(scope="module")
def endless():
    return treadle.InferenceSession(HEAD + ENDLESS, engines=("jit", "interp"))


def test_seconds_are_bounded(endless):
    options = treadle.RunOptions()
    options.max_seconds = 0.05
    started = time.monotonic()
    with pytest.raises(LimitExceeded):
        endless.run(None, {"x0": np.float32(1)}, options)
    assert time.monotonic() - started < 5


def test_terminate_stops_a_native_loop(endless):
    options = treadle.RunOptions()
    timer = threading.Timer(0.05, setattr, (options, "terminate", True))
    timer.start()
    with pytest.raises(Terminated):
        endless.run(None, {"x0": np.float32(1)}, options)
    timer.join()


def test_ctrl_c_stops_a_native_loop(endless):
    timer = threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless.run(None, {"x0": np.float32(1)})
    timer.join()


SUMS_OF_LOOPS = """g (int64 n, int64 m, int64 zero) => (int64 s) {
  s = Loop (n, , zero) <body = f (int64 i, bool go, int64 a) => (bool on, int64 b) {
    on = Identity (go)
    b = Loop (m, , a) <body = h (int64 j, bool go1, int64 c) => (bool on1, int64 d) {
      on1 = Identity (go1)
      p = Mul (i, j)
      q = BitwiseXor (p, j)
      d = Add (c, q)
    }>
  }>
}"""


@pytest.mark.parametrize("inner", [0, 5, 10**13])
def test_ctrl_c_stops_a_loop_around_a_loop_in_strips(inner):
    """The inner loop polls for both, even without iterations."""
    session = treadle.InferenceSession(HEAD + SUMS_OF_LOOPS, engines=("jit",))
    feed = {"n": np.array(30), "m": np.array(5000), "zero": np.array(0)}
    wanted = sum((i * j) ^ j for i in range(30) for j in range(5000))
    assert session.run(None, feed)[0] == wanted
    assert "in strips" in session.explain("schedule")
    timer = threading.Timer(0.05, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.run(None, feed | {"n": np.array(10**14), "m": np.array(inner)})
    timer.join()


def test_threads_share_a_session(rng: np.random.Generator):
    text = """g (int64 n, float[40] p) => (float[40] a) {
      a = Loop (n, , p) <body = f (int64 i, bool go, float[40] x) => (bool on, float[40] x1) {
        on = Identity (go)
        x1 = Cos (x)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feeds = [{"n": np.array(2000), "p": floats(rng, 40)} for _ in range(8)]
    wanted = [session.run(None, feed)[0] for feed in feeds]
    found: list = [None] * len(feeds)

    def run(number):
        for _ in range(5):
            found[number] = session.run(None, feeds[number])[0]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(feeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(f, w) for f, w in zip(found, wanted, strict=True))


def test_declined_loops_have_a_reason():
    text = """g (int64 n, string[1] p) => (string[N,1] a) {
      a = Loop (n, "") <body = f (int64 i, bool go) => (bool on, string[1] x1) {
        on = Identity (go)
        x1 = Identity (p)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    options = treadle.RunOptions()
    options.max_bytes = 1000
    (found,) = session.run(None, {"n": np.array(2), "p": np.array(["x"], object)}, options)
    assert found.tolist() == [["x"], ["x"]]
    assert "values without a native form, whose bytes" in session.explain()

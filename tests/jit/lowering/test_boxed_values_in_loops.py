"""Boxed values that loops slice and stack, and that a Scan carries as state."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import treadle
from tests.jit.lowering.test_boxed_values import HEAD_20, TRIPS
from tests.jit.native import check
from tests.seeded import floats
from treadle.errors import RunError

WORDS = np.array([["a", "bb", ""], ["c", "d", "e"]], object)


@pytest.mark.parametrize(("axis", "reverse"), [(0, 0), (1, 0), (-1, 1), (0, 1)])
def test_text_that_is_sliced_carried_and_stacked(axis, reverse, rng):
    text = f"""g (string[2,3] x, string[N] h, float[T] v) => (string[N] last, string[A,B] y, float[T] z) {{
      last, y, z = Scan <num_scan_inputs = 2, scan_input_axes = [{axis}, 0],
          scan_input_directions = [{reverse}, 0], scan_output_axes = [{axis}, 0],
          scan_output_directions = [{1 - reverse}, 1], body = b (string[N] s, string[N] e, float u)
          => (string[N] t, string[N] o, float w) {{
        t = StringConcat (s, e)
        o = StringConcat (e, e)
        w = Add (u, u)
      }}> (h, x, v)
    }}"""  # noqa: E501
    steps = WORDS.shape[axis]
    h = np.array(["<"] * (6 // steps), object)
    check(text, {"x": WORDS, "h": h, "v": floats(rng, steps)}, head=HEAD_20)


def test_text_that_is_stacked_in_inner_loops():
    text = """g (int64 n, string p) => (string[T,U] y, string[T] z) {
      y, z = Loop (n, "") <body = f (int64 i, bool go) => (bool on, string[U] y, string z) {
        on = Identity (go)
        three = Constant <value = int64 {3}> ()
        z, y = Loop (three, "", p) <body = h (int64 j, bool go2, string s)
            => (bool on2, string t, string o) {
          on2 = Identity (go2)
          t = StringConcat (s, p)
          o = Identity (s)
        }>
      }>
    }"""
    feeds = [{"n": np.array(n), "p": np.array("ab", object)} for n in TRIPS]
    check(text, *feeds, head=HEAD_20)
    session = treadle.InferenceSession(HEAD_20 + text, engines=("jit", "interp"))
    (y, z) = session.run(None, {"n": np.array(0), "p": np.array("ab", object)})
    assert (y.shape, z.shape) == ((0, 3), (0,)) or y.shape == (0, 0)


def test_one_text_of_many_is_carried():
    text = """g (int64 n, string p, string[2] q) => (string a, string[2] b, string[T,2] c) {
      a, b, c = Loop (n, "", p, q) <body = f (int64 i, bool go, string x, string[2] y)
          => (bool on, string x2, string[2] y2, string[2] z) {
        on = Identity (go)
        zero = Constant <value = int64 {0}> ()
        x2 = Gather (y, zero)
        y2 = StringConcat (y, x)
        z = Identity (y)
      }>
    }"""
    feed = {"p": np.array("ab", object), "q": np.array(["x", "y"], object)}
    check(text, *({**feed, "n": np.array(n)} for n in TRIPS[:3]), head=HEAD_20)


def test_an_unread_stacked_result_of_boxed_values():
    text = """g (int64 n, string p) => (int64[T] c) {
      unread, c = Loop (n, "") <body = f (int64 i, bool go) => (bool on, string t, int64 c) {
        on = Identity (go)
        t = StringConcat (p, p)
        c = Identity (i)
      }>
    }"""
    check(text, {"n": np.array(4), "p": np.array("ab", object)}, head=HEAD_20)


def test_stacked_text_that_differs_is_the_interpreters_error():
    text = """g (int64 n, string[1] p) => (string[T,A] y) {
      l, y = Loop (n, "", p) <body = f (int64 i, bool go, string[A] s)
          => (bool on, string[B] t, string[A] y) {
        on = Identity (go)
        t = Concat <axis = 0> (s, p)
        y = Identity (s)
      }>
    }"""
    feed = {"p": np.array(["ab"], object)}
    check(text, {**feed, "n": np.array(1)}, head=HEAD_20)
    session = treadle.InferenceSession(HEAD_20 + text, engines=("jit", "interp"))
    with pytest.raises(RunError, match=r"loop_0, iteration 1.*elements must be alike"):
        session.run(None, {**feed, "n": np.array(3)})


def test_a_state_of_a_scan_that_changes_its_shape_is_the_interpreters_error():
    text = """g (string[T] x, string[2] h, bool[2] keep) => (string[2] last) {
      last = Scan <num_scan_inputs = 1, body = b (string[2] s, string e) => (t) {
        u = StringConcat (s, e)
        t = Compress <axis = 0> (u, keep)
      }> (h, x)
    }"""
    feed = {"x": np.array(["a", "b"], object), "h": np.array(["c", "d"], object)}
    check(text, {**feed, "keep": np.array([True, True])}, head=HEAD_20)
    session = treadle.InferenceSession(HEAD_20 + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD_20 + text, engines=("interp",))
    feed["keep"] = np.array([True, False])
    with pytest.raises(RunError) as wanted:
        interp.run(None, feed)
    with pytest.raises(RunError) as found:
        session.run(None, feed)
    assert str(found.value) == str(wanted.value)


def test_a_boxed_state_of_unknown_rank(rng):
    text = """g (float[T,6] x, float[6] h, int64[R] shape) => (float[6] last, float[T,6] y) {
      last, y = Scan <num_scan_inputs = 1, body = b (float[6] s, float[6] e) => (t, o) {
        square = Reshape (s, shape)
        some = Add (square, square)
        six = Constant <value = int64[1] {6}> ()
        back = Reshape (some, six)
        t = Add (back, e)
        o = Reshape (back, shape)
      }> (h, x)
    }"""
    feed = {"x": floats(rng, 3, 6), "h": floats(rng, 6)}
    check(text, {**feed, "shape": np.array([6])}, {**feed, "shape": np.array([2, 3])})


def test_boxed_values_of_low_precision(rng):
    text = """g (float[T,4] x, float8e4m3fn[4] h) => (float8e4m3fn[4] last, float8e4m3fn[T,4] y) {
      last, y = Scan <num_scan_inputs = 1, body = b (float8e4m3fn[4] s, float[4] e)
          => (float8e4m3fn[4] t, float8e4m3fn[4] o) {
        f = Cast <to = 1> (s)
        g = Add (f, e)
        t = Cast <to = 17> (g)
        o = Identity (s)
      }> (h, x)
    }"""
    check(
        text,
        {"x": floats(rng, 3, 4), "h": floats(rng, 4).astype(ml_dtypes.float8_e4m3fn)},
        head=HEAD_20,
    )

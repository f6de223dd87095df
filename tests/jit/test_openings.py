"""Variable-length traffic: after a few shapes one kernel serves all."""

from __future__ import annotations

import numpy as np

import treadle
from tests.jit.native import HEAD, outcomes
from tests.values import assert_same

RANDOM = np.random.default_rng(14)
ATTENDED = """g (int64 n, float[B,T,D] k, float[B,T] m, float[B,D] q0)
    => (float[B,D] q, float[N,B] s) {
  q, s = Loop (n, "", q0) <body = f (int64 i, bool go, float[B,D] q)
    => (bool on, float[B,D] q1, float[B] r) {
    on = Identity (go)
    last = Constant <value = int64[1] {-1}> ()
    column = Unsqueeze (q, last)
    raw = MatMul (k, column)
    flat = Squeeze (raw, last)
    seen = Add (flat, m)
    w = Softmax <axis = -1> (seen)
    one = Constant <value = int64[1] {1}> ()
    row = Unsqueeze (w, one)
    read = MatMul (row, k)
    q1 = Squeeze (read, one)
    r = ReduceMax <keepdims = 0> (seen, last)
  }>
}"""


def floats(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def attended(batch, length, wide=6):
    return {"n": np.array(3), "k": floats(batch, length, wide), "m": floats(batch, length),
            "q0": floats(batch, wide)}  # fmt: skip


def checked(text, feeds):
    native = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    names = [output.name for output in native.get_outputs()]
    for feed in feeds:
        assert_same(native.run(None, feed), interp.run(None, feed), names)
    return outcomes(native)


def test_a_third_length_opens_the_axis_for_all():
    feeds = [attended(2, length) for length in (3, 7, *range(20, 60))]
    assert len(checked(ATTENDED, feeds)) == 3


def test_two_axes_that_change_are_two_extents():
    shapes = [(2, 3), (3, 4), (4, 5), (5, 5), (6, 5), (5, 9), (9, 5), (2, 30), (12, 31)]
    feeds = [attended(*shape) for shape in shapes]
    made = checked(ATTENDED, feeds)
    assert len(made) < 8
    assert not [why for why in made if isinstance(why, str)]


def test_an_extent_of_one_broadcasts_and_is_no_other():
    text = """g (int64 n, float[A] x, float[B] y) => (float[C] a) {
      a = Loop (n, "", x) <body = f (int64 i, bool go, float[A] x) => (bool on, float[A] x1) {
        on = Identity (go)
        x1 = Add (x, y)
      }>
    }"""
    lengths = [(3, 3), (4, 4), (5, 5), (6, 6), (6, 1), (7, 1), (1, 1), (8, 1), (9, 1), (9, 9)]
    made = checked(text, [{"n": np.array(2), "x": floats(a), "y": floats(b)} for a, b in lengths])
    assert not [why for why in made if isinstance(why, str)]


def test_where_open_axes_do_not_fit_all_is_closed_again():
    text = """g (int64 n, float[A] x0, int64[K] shape) => (float[P,Q] a) {
      zero = Constant <value = float[1,1] {0.0}> ()
      a = Loop (n, "", zero) <body = f (int64 i, bool go, float[P,Q] x)
          => (bool on, float[B,C] x1) {
        on = Identity (go)
        y = Reshape (x0, shape)
        x1 = Neg (y)
      }>
    }"""
    shapes = [{"x0": floats(2 * k), "shape": np.array([2, k])} for k in range(2, 9)]
    checked(text, [{"n": np.array(2), **given} for given in shapes])


def test_an_axis_as_long_as_a_sequence_by_chance():
    text = """g (int64 n, float[A] x, seq(float[2]) l) => (float[C] a, float[N,2] e) {
      a, e = Loop (n, "", x) <body = f (int64 i, bool go, float[A] x)
          => (bool on, float[A] x1, float[2] e) {
        on = Identity (go)
        x1 = Neg (x)
        zero = Constant <value = int64 {0}> ()
        e = SequenceAt (l, zero)
      }>
    }"""
    lengths = [(2, 2), (3, 3), (4, 4), (5, 5), (6, 2), (7, 1), (8, 3), (9, 9)]
    made = checked(text, [
        {"n": np.array(2), "x": floats(a), "l": [floats(2) for _ in range(b)]} for a, b in lengths
    ])  # fmt: skip
    assert len(made) <= 4
    assert not [why for why in made if isinstance(why, str)]


def test_lengths_that_were_alike_part_after_another_axis_was_opened():
    text = """g (float[A] x, float[B] y, float[C] z) => (float a, float b) {
      zero = Constant <value = float {0}> ()
      a = Scan <num_scan_inputs = 1, body = f (float s, float e) => (float s1) {
        m = Mul (z, e)
        r = ReduceSum <keepdims = 0> (m)
        s1 = Add (s, r)
      }> (zero, x)
      b = Scan <num_scan_inputs = 1, body = f (float s, float e) => (float s1) {
        m = Mul (z, e)
        k = Add (m, a)
        r = ReduceSum <keepdims = 0> (k)
        s1 = Add (s, r)
      }> (zero, y)
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    for first, second, third in ((2, 2, 3), (3, 3, 2), (4, 4, 7), (5, 5, 5), (5, 6, 7), (2, 9, 2)):
        extents = {"x": first, "y": second, "z": third}
        feed = {name: np.ones(extent, np.float32) for name, extent in extents.items()}
        assert session.run(None, dict(feed)) == interp.run(None, dict(feed))

"""Next values that lie in the memory of their array, with gaps: windows and arrays that grow."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import HEAD, check
from treadle import InferenceSession

WINDOW = """g (float[N,8] x, float[8,20] w0, float[3,8] m)
    => (float[8,20] w, float[N,3,20] y, float[N,8,20] z, float[N,160] f) {
  w, y, z, f = Scan <num_scan_inputs = 1, body = b (float[8,20] s, float[8] v)
      => (float[8,20] s1, float[3,20] p, float[8,20] q, float[160] r) {
    one = Constant <value = int64[1] {1}> ()
    end = Constant <value = int64[1] {1000}> ()
    old = Slice (s, one, end, one)
    column = Unsqueeze (v, one)
    s1 = Concat <axis = 1> (old, column)
    p = MatMul (m, s1)
    q = Mul (s1, s1)
    size = Constant <value = int64[1] {160}> ()
    flat = Reshape (s1, size)
    r = Neg (flat)
  }> (w0, x)
}"""

GROWING = """g (int64 n, float[4,P,16] c0, float[16,16] q) => (float[4,M,16] c, float[K] y) {
  c, y = Loop (n, , c0) <body = b (int64 i, bool go, float[4,A,16] s)
      => (bool on, float[4,B,16] s1, float r) {
    on = Identity (go)
    number = Cast <to = 1> (i)
    rows = Constant <value = int64[3] {4,1,16}> ()
    row = Expand (number, rows)
    v = Identity (row)
    s1 = Concat <axis = 1> (s, v)
    long = Constant <value = int64[2] {-1,16}> ()
    wide = Constant <value = int64[2] {16,-1}> ()
    a = Reshape (s1, long)
    b = Reshape (s1, wide)
    left = MatMul (a, q)
    right = MatMul (q, b)
    least = ReduceMin <keepdims = 0> (left)
    sum = ReduceSum <keepdims = 0> (right)
    squares = Mul (a, a)
    most = ReduceMax <keepdims = 0> (squares)
    part = Add (least, sum)
    r = Add (part, most)
  }>
}"""

ENDED = """g (int64 n, float x0) => (float x, float[K] y) {
  x, y = Loop (n, , x0) <body = b (int64 i, bool go, float s) => (bool on, float s1, float r) {
    half = Constant <value = float {0.5}> ()
    s1 = Mul (s, half)
    one = Constant <value = float {1}> ()
    on = Greater (s1, one)
    r = Add (s1, one)
  }>
}"""


def test_the_next_window_is_read_where_it_lies(rng: np.random.Generator):
    matrix, start = rng.random((3, 8), np.float32), rng.random((8, 20), np.float32)
    check(WINDOW, *({"x": rng.random((n, 8), np.float32), "w0": start, "m": matrix}
                    for n in (0, 1, 2, 5, 30)))  # fmt: skip


def test_an_array_that_grows_in_the_middle_is_reshaped(rng: np.random.Generator):
    def whole(*shape: int) -> np.ndarray:  # whole numbers: no order of sums is better
        return rng.integers(-2, 3, shape).astype(np.float32)

    matrix = whole(16, 16)
    feeds = [{"n": np.array(n), "c0": whole(4, rows, 16), "q": matrix}
             for n in (0, 1, 2, 5, 40) for rows in (0, 1, 3)]  # fmt: skip
    check(GROWING, *feeds)


@pytest.mark.parametrize(
    ("text", "storage"),
    [
        (WINDOW, "window along axis 1"),
        (GROWING, "grows along axis 1, with room for 16 rows at least"),
        (ENDED, "stacked 0 grows, with room for 64 items at first\n"),
    ],
)
def test_the_schedule_says_where_they_lie(text, storage):
    assert storage in InferenceSession(HEAD + text).explain("schedule")


def test_a_stacked_output_of_known_length_has_its_memory_at_once():
    assert "stacked" not in InferenceSession(HEAD + GROWING).explain("schedule")


def test_a_stacked_output_outgrows_its_first_memory():
    feeds = [{"n": np.array(500), "x0": np.array(x, np.float32)} for x in (0, 3, 2.0**70, 2.0**120)]
    check(ENDED, *feeds)

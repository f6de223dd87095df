"""Results that are views of what a loop writes, with extents that are known after it."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, outcomes

P = np.arange(4, dtype=np.float32)


def session_of(text: str) -> treadle.InferenceSession:
    """On the native engine, else interp."""
    return treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))


RESHAPED = """g (float[1,T,4] q, float[4] p) => (float[1,A,B] folded, float[U,1,4] all) {
  b = Shape <start = 0, end = 1> (q)
  t = Shape <start = 1, end = 2> (q)
  two = Constant <value = int64[1] {2}> ()
  rest = Constant <value = int64[1] {-1}> ()
  halves = Div (t, two)
  shape = Concat <axis = 0> (b, halves, rest)
  rows = Transpose <perm = [1, 0, 2]> (q)
  last, all = Scan <num_scan_inputs = 1, body = f (float[4] x, float[1,4] row) => (float[4] x1,
    float[1,4] e) {
    x1 = Add (x, x)
    e = Add (row, x1)
  }> (p, rows)
  across = Transpose <perm = [1, 0, 2]> (all)
  folded = Reshape (across, shape)
}"""


def reshaped(text: str, *counts: int) -> None:
    """Check the answers for rows of these counts: each kernel tells the shape of result 0."""
    feeds = [{"q": np.full((1, t, 4), P / 8, np.float32), "p": P} for t in counts]
    check(text, *feeds)
    session = session_of(text)
    for feed in feeds:
        session.run(None, feed)
    for made in outcomes(session):
        assert made.reshaped == (0,)
        assert not made.code.grown


def test_a_view_of_a_loops_result_is_made_without_a_copy():
    """Its extents are known after the run; the loop writes as many elements before it."""
    reshaped(RESHAPED.replace(", float[U,1,4] all)", ")"), 2, 6, 100, 400)


def test_a_result_and_a_view_of_it_are_two_arrays():
    feeds = [{"q": np.ones((1, t, 4), np.float32), "p": P} for t in (2, 6, 100)]
    check(RESHAPED, *feeds)
    folded, stacked = session_of(RESHAPED).run(None, feeds[1])
    assert not np.shares_memory(folded, stacked)


def test_a_view_of_a_result_without_elements():
    by_ones = RESHAPED.replace("(b, halves, rest)", "(b, t, four)").replace(
        "halves = Div", "four = Constant <value = int64[1] {4}> ()\n  halves = Div"
    )
    check(by_ones, *({"q": np.ones((1, t, 4), np.float32), "p": P} for t in (0, 3, 0)))


def test_a_shape_of_other_elements_is_an_error():
    """Nothing is written beyond the memory of the result."""
    session = session_of(RESHAPED)
    with pytest.raises(treadle.RunError):
        session.run(None, {"q": np.ones((1, 7, 4), np.float32), "p": P})

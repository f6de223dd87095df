"""Transposed items of constants: items of a constant that is transposed once."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD

WEIGHTS = np.arange(3 * 20 * 16, dtype=np.float32).reshape(3, 20, 16) % 7
NUMBERS = ", ".join(f"{each:g}" for each in WEIGHTS.reshape(-1))
CONSTANT = f"weights = Constant <value = float[3,20,16] {{{NUMBERS}}}> ()"
SCAN = f"""g (float[2,16] x) => (float[2,16] last) {{
  {CONSTANT}
  last = Scan <num_scan_inputs = 1, body = f (float[2,16] h, float[20,16] w)
    => (float[2,16] next) {{
    turned = Transpose (w)
    p = MatMul (h, turned)
    s = Neg (p)
    m = ReduceMax <keepdims = 1> (s)
    next = Add (h, m)
  }}> (x, weights)
}}"""
LOOP = f"""g (int64[5] picks, float[2,16] x) => (float[2,20] last) {{
  {CONSTANT}
  zero = Constant <value = int64[2] {{2, 20}}> ()
  five = Constant <value = int64 {{5}}> ()
  start = ConstantOfShape <value = float[1] {{0}}> (zero)
  last = Loop <body = f (int64 i, bool on, float[2,20] s) => (bool more, float[2,20] t) {{
    k = Gather (picks, i)
    w = Gather (weights, k)
    turned = Transpose <perm = [1, 0]> (w)
    p = MatMul (x, turned)
    t = Add (s, p)
    OTHER
    more = Identity (on)
  }}> (five, "", start)
}}"""


def run(text: str, feed: dict[str, np.ndarray]) -> tuple[np.ndarray, str]:
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    (last,) = session.run(None, feed)
    return last, session.explain("kernel")


@pytest.mark.parametrize("picks", [[0, 1, 2, 1, 0], [2, -1, 0, -3, 1]])
def test_gathered_matrices(picks, rng):
    x = rng.integers(-3, 3, (2, 16)).astype("f")
    found, kernel = run(LOOP.replace("OTHER", ""), {"picks": np.array(picks), "x": x})
    np.testing.assert_array_equal(found, sum(x @ WEIGHTS[pick].T for pick in picks))
    assert "float32[3,16,20] = constant" in kernel


def test_an_item_that_is_read_as_it_is_stays(rng):
    other = "m = ReduceMax <keepdims = 0> (w)\n t = Add (t0, m)"
    x = rng.integers(-3, 3, (2, 16)).astype("f")
    text = LOOP.replace("OTHER", other).replace("t = Add (s, p)", "t0 = Add (s, p)")
    found, kernel = run(text, {"picks": np.array([1, 2, 0, 0, 1]), "x": x})
    picked = [WEIGHTS[pick] for pick in (1, 2, 0, 0, 1)]
    np.testing.assert_array_equal(found, sum(x @ w.T + w.max() for w in picked))
    assert "float32[3,16,20] = constant" not in kernel


@pytest.mark.parametrize("direction", [0, 1])
def test_scanned_matrices(direction, rng):
    x = rng.integers(-3, 3, (2, 16)).astype("f")
    text = SCAN.replace("body =", f"scan_input_directions = [{direction}], body =")
    found, kernel = run(text, {"x": x})
    for w in WEIGHTS[:: 1 - 2 * direction]:
        x = x + (-(x @ w.T)).max()
    np.testing.assert_array_equal(found, x)
    assert "float32[3,16,20] = constant" in kernel


BRANCH = f"""g (float[2,16] x) => (float[2,16] last) {{
  {CONSTANT}
  last = Scan <num_scan_inputs = 1, body = f (float[2,16] h, float[20,16] w)
    => (float[2,16] next) {{
    sum = ReduceSum <keepdims = 0> (h)
    zero = Constant <value = float {{0}}> ()
    is_above = Greater (sum, zero)
    next = If (is_above) <then_branch = a () => (float[2,16] u) {{
      own = Transpose (w)
      q = MatMul (h, own)
      r = ReduceMax <keepdims = 1> (q)
      u = Sub (h, r)
    }}, else_branch = b () => (float[2,16] v) {{ v = Neg (h) }}>
  }}> (x, weights)
}}"""


def test_items_that_a_branch_transposes_are_items_of_the_loop():
    x = np.ones((2, 16), "f")
    session = treadle.InferenceSession(HEAD + BRANCH, engines=("jit",))
    (found,) = session.run(None, {"x": x})
    for w in WEIGHTS:
        x = x - (x @ w.T).max() if x.sum() > 0 else -x
    np.testing.assert_array_equal(found, x)

"""Whether a loop is worth native code where onnxruntime would run it as well."""

from __future__ import annotations

import numpy as np

import treadle
from tests.jit.native import HEAD, outcomes
from treadle.jit import cost

ALL = ("jit", "onnxruntime", "interp")
HEAVY = """g (int64 n, float[1,1,4,4] p, float[1,4,4,2] grid) => (float[1,1,4,4] y) {
  y = Loop (n, , p) <body = f (int64 i, bool go, float[1,1,4,4] x) => (bool on,
    float[1,1,4,4] x1) {
    on = Identity (go)
    x1 = GridSample (x, grid)
  }>
}"""
HEAVY_FEED = {
    "n": np.array(3),
    "p": np.ones((1, 1, 4, 4), np.float32),
    "grid": np.full((1, 4, 4, 2), 0.1, np.float32),
}


def product(size: int) -> str:
    return f"""g (int64 n, float[{size},{size}] p) => (float[{size},{size}] y) {{
  y = Loop (n, , p) <body = f (int64 i, bool go, float[{size},{size}] x) => (bool on,
    float[{size},{size}] x1) {{
    on = Identity (go)
    x1 = MatMul (x, p)
  }}>
}}"""


def ran(text, feed, engines=ALL, threads=0):
    """A session after one run."""
    options = treadle.SessionOptions(intra_op_num_threads=threads)
    session = treadle.InferenceSession(HEAD + text, options, engines=engines)
    session.run(None, feed)
    return session


def test_what_numpy_would_compute_for_long_is_onnxruntimes():
    session = ran(HEAVY, HEAVY_FEED)
    assert [region.engine for region in session.plan.main.regions] == ["onnxruntime"]


def test_where_nobody_else_takes_the_loop_it_is_native():
    session = ran(HEAVY, HEAVY_FEED, ("jit", "interp"))
    assert not [why for why in outcomes(session) if isinstance(why, str)]


def test_large_products_are_for_whoever_has_more_threads():
    large = {"n": np.array(1), "p": np.zeros((300, 300), np.float32)}
    small = {"n": np.array(1), "p": np.zeros((30, 30), np.float32)}
    assert ran(product(300), large, threads=1).plan.main.regions[0].engine == "jit"
    assert ran(product(300), large, threads=4).plan.main.regions[0].engine == "onnxruntime"
    assert ran(product(30), small, threads=4).plan.main.regions[0].engine == "jit"


def test_the_reason_has_the_estimate():
    (native,) = [r.runnable for r in treadle.InferenceSession(
        HEAD + HEAVY, engines=("jit", "interp")).plan.main.regions]  # fmt: skip
    session = ran(HEAVY, HEAVY_FEED, ("jit", "interp"))
    (made,) = outcomes(session)
    why = cost.slower(native.region.steps, made.kernel, 1)
    assert why == "an iteration would save 2 µs, and lose 200, most of them by GridSample"

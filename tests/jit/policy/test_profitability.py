"""Loops that are compiled, or left to onnxruntime because it is expected to be faster."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, natives, outcomes
from treadle.formats import read
from treadle.jit.host.kernels import HostKernels
from treadle.jit.policy import profitability

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


def product(rows: int, size: int) -> str:
    whole = f"float[{rows},{size}]"
    return f"""g (int64 n, float[{size},{size}] p, {whole} x0) => ({whole} y) {{
  y = Loop (n, , x0) <body = f (int64 i, bool go, {whole} x) => (bool on, {whole} x1) {{
    on = Identity (go)
    x1 = MatMul (x, p)
  }}>
}}"""


def factors(rows: int, size: int) -> dict[str, np.ndarray]:
    shapes = {"p": (size, size), "x0": (rows, size)}
    arrays = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    return {"n": np.array(1), **arrays}


def ran(text, feed, engines=ALL, threads=0):
    """A session after one run."""
    options = treadle.SessionOptions(intra_op_num_threads=threads)
    session = treadle.InferenceSession(HEAD + text, options, engines=engines)
    session.run(None, feed)
    return session


def test_expensive_host_calls_leave_the_loop_to_onnxruntime():
    session = ran(HEAVY, HEAVY_FEED)
    assert [region.engine for region in session.plan.main.regions] == ["onnxruntime"]


def test_a_loop_that_no_other_engine_takes_is_native():
    session = ran(HEAVY, HEAVY_FEED, ("jit", "interp"))
    assert not [why for why in outcomes(session) if isinstance(why, str)]


def engine(threads: int, rows: int, size: int) -> str:
    session = ran(product(rows, size), factors(rows, size), threads=threads)
    return session.plan.main.regions[0].engine


def test_products_of_many_rows_are_native():
    for threads in (1, 2, 4):
        assert engine(threads, 30, 30) == "jit"
        assert engine(threads, 160, 160) == "jit"


def test_large_products_go_to_the_engine_with_more_threads():
    for threads, wanted in ((1, "jit"), (2, "jit"), (4, "onnxruntime")):
        assert engine(threads, 64, 800) == wanted


def test_the_reason_names_the_cost_of_host_calls():
    session = ran(product(300, 300), factors(300, 300), ("jit", "interp"))
    (native,), (made,) = natives(session), outcomes(session)
    steps, kernel, kernels = native.region.steps, made.kernel, HostKernels()
    # 2 * 300 ** 3 operations, 150 in a nanosecond, half of which others would do
    why = profitability.why_unprofitable(steps, kernel, 4, kernels)
    assert why == "an iteration would save 2 µs, and lose 180, most of them by a product"
    assert profitability.why_unprofitable(steps, kernel, 2, kernels) == ""


def test_a_convolution_is_no_loss():
    text = """g (int64 n, float[1,1,100,100] p, float[1,1,9,9] w) => (float[1,1,100,100] y) {
      y = Loop (n, , p) <body = f (int64 i, bool go, float[1,1,100,100] x) => (bool on,
        float[1,1,100,100] x1) {
        on = Identity (go)
        x1 = Conv <pads = [4, 4, 4, 4]> (x, w)
      }>
    }"""
    feed = {"n": np.array(1), "p": np.zeros((1, 1, 100, 100), np.float32),
            "w": np.zeros((1, 1, 9, 9), np.float32)}  # fmt: skip
    session = ran(text, feed, ("jit", "interp"))
    (native,), (made,) = natives(session), outcomes(session)
    why = profitability.why_unprofitable(native.region.steps, made.kernel, 1, HostKernels())
    assert why == ""


def test_savings_of_branches_and_inner_loops():
    text = """g (int64 n, float[4] p, bool c) => (float[4] y) {
      y = Loop (n, , p) <body = f (int64 i, bool go, float[4] x) => (bool on, float[4] x1) {
        on = Identity (go)
        b = If (c) <then_branch = t () => (float[4] k) { k1 = Neg (x) k2 = Sin (k1) k = Cos (k2) },
                    else_branch = e () => (float[4] l) { l = Neg (x) }>
        x1 = Loop (n, , b) <body = h (int64 j, bool g2, float[4] z) => (bool o2, float[4] z1) {
          o2 = Identity (g2)
          z1 = Tan (z)
        }>
      }>
    }"""
    model, _ = read(HEAD + text)
    saved = 1500 + (300 + 3 * 300) + (300 + 10 * (1500 + 300))
    assert profitability.saved_per_iteration(model.main.steps[0]) == saved


def test_the_reason_has_the_estimate():
    (native,) = [r.runnable for r in treadle.InferenceSession(
        HEAD + HEAVY, engines=("jit", "interp")).plan.main.regions]  # fmt: skip
    session = ran(HEAVY, HEAVY_FEED, ("jit", "interp"))
    (made,) = outcomes(session)
    why = profitability.why_unprofitable(native.region.steps, made.kernel, 1, HostKernels())
    assert why == "an iteration would save 2 µs, and lose 200, most of them by GridSample"


@pytest.mark.parametrize(("lists", "engine"), [(1, "jit"), (3, "onnxruntime")])
def test_converting_ragged_lists_outweighs_few_iterations(lists, engine):
    names = [f"l{k}" for k in range(lists)]
    given = ", ".join(f"seq(float[A]) {name}" for name in names)
    reads = "\n".join(f"e{k} = SequenceAt ({name}, i)" for k, name in enumerate(names))
    sums = "\n".join(f"s{k} = ReduceSum <keepdims = 0> (e{k})" for k in range(lists))
    text = f"""g (int64 n, {given}) => (float[T] y) {{
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float y) {{
        on = Identity (go)
        {reads}
        {sums}
        y = Sum ({", ".join(f"s{k}" for k in range(lists))})
      }}>
    }}"""
    session = treadle.InferenceSession(HEAD + text)
    items = [np.ones(k, np.float32) for k in (1, 3, 2)]
    session.run(None, {"n": np.array(3), **dict.fromkeys(names, items)})
    assert [region.engine for region in session.plan.main.regions] == [engine]
    assert ("conversions of lists at the region's boundary" in session.explain()) == (
        engine == "onnxruntime"
    )

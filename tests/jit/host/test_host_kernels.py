"""Operators that only another engine implements are called from compiled loops."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.lowering.test_host_calls import escapes
from tests.jit.native import natives, outcomes, refused_nothing
from tests.seeded import floats
from tests.values import assert_same
from treadle import delegate
from treadle.errors import LimitExceeded, RunError, Unsupported
from treadle.ir import Leaf, Value, tensor
from treadle.jit.host.kernels import HostKernels

HEAD = '<ir_version: 8, opset_import: ["": 18, "com.microsoft": 1]>\n'
SMALL = "\n".join(f"t{k + 1} = Tanh (t{k})" for k in range(40))
"""Enough for native code to pay, one call of another engine included."""
GELU = f"""g (int64 n, float[4] x) => (float[4] y, float[T,4] r) {{
  y, r = Loop (n, "", x) <body = f (int64 i, bool go, float[4] a)
      => (bool on, float[4] b, float[4] t40) {{
    on = Identity (go)
    q = com.microsoft.QuickGelu <alpha = 1.5> (a)
    t0 = Add (q, a)
    {SMALL}
    b = Neg (t40)
  }}>
}}"""


def both(text, *feeds, head=HEAD):
    """The native session, after both engines gave the same for these feeds."""
    session = treadle.InferenceSession(head + text)
    whole = treadle.InferenceSession(head + text, engines=("onnxruntime", "interp"))
    names = [output.name for output in session.get_outputs()]
    for feed in feeds:
        assert_same(session.run(None, feed), whole.run(None, feed), names)
    assert not [made for made in outcomes(session) if isinstance(made, str)]
    return session


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_an_operator_of_another_domain(trips, rng):
    session = both(GELU, {"n": np.array(trips), "x": floats(rng, 4)})
    assert escapes(session) == ["QuickGelu"]


@pytest.mark.parametrize("few", ["", SMALL[: SMALL.index("t31 =")].replace("t30 =", "t40 =")])
def test_a_loop_that_would_lose_goes_to_the_other_engine(few):
    """Measured: onnxruntime needs 4.5 microseconds with 30 of them, the call from here 5.5."""
    text = GELU.replace(SMALL, few or "t40 = Tanh (t0)")
    session = treadle.InferenceSession(HEAD + text)
    assert [region.engine for region in session.plan.main.regions] == ["onnxruntime"]
    assert "onnxruntime is expected to be faster" in session.explain()


def test_without_the_other_engine_the_operator_is_unsupported():
    with pytest.raises(Unsupported, match=r"main/loop_0\.body.*QuickGelu"):
        treadle.InferenceSession(HEAD + GELU, engines=("jit", "interp"))


def test_host_kernels_with_dynamic_extents(rng: np.random.Generator):
    text = """g (float[T,3,A] x, float[A] h) => (float[A] last, float[T,3,A] y) {
      last, y = Scan <num_scan_inputs = 1, body = b (float[A] s, float[3,A] a)
        => (float[A] s1, float[3,A] c) {
        q = com.microsoft.QuickGelu (a)
        t0 = Add (q, s)
        SMALL
        c = Identity (t40)
        axis = Constant <value = int64[1] {0}> ()
        s1 = ReduceSum <keepdims = 0> (c, axis)
      }> (h, x)
    }""".replace("SMALL", SMALL)
    feeds = [
        {"x": floats(rng, t, 3, a), "h": floats(rng, a)}
        for t, a in ((2, 4), (5, 4), (3, 2), (4, 7))
    ]
    assert set(escapes(both(text, *feeds))) == {"QuickGelu"}


def test_inside_a_branch_with_a_constant(rng: np.random.Generator):
    text = """g (int64 n, float[4] x) => (float[T,4] r) {
      w = Constant <value = float[4] {1, 2, 3, 4}> ()
      r = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float[4] t40) {
        on = Identity (go)
        two = Constant <value = int64 {2}> ()
        odd = Mod (i, two)
        is_odd = Cast <to = 9> (odd)
        t0 = If (is_odd) <
          then_branch = a () => (float[4] u) { u = com.microsoft.BiasGelu (x, w) },
          else_branch = b () => (float[4] v) { v = Add (x, w) }>
        SMALL
      }>
    }""".replace("SMALL", SMALL)
    session = both(text, {"n": np.array(5), "x": floats(rng, 4)})
    assert escapes(session) == ["BiasGelu"]


def test_half_precision(rng: np.random.Generator):
    text = GELU.replace("float[", "float16[")
    session = both(text, {"n": np.array(3), "x": floats(rng, 4).astype(np.float16)})
    assert escapes(session) == ["QuickGelu"]


def test_several_results_one_of_them_unused(rng: np.random.Generator):
    text = """g (int64 n, float[1,2,4] x, float[4] w) => (float[1,2,4] y, float[T,1,2,4] r) {
      y, r = Loop (n, "", x) <body = f (int64 i, bool go, float[1,2,4] a)
          => (bool on, float[1,2,4] b, float[1,2,4] t40) {
        on = Identity (go)
        q, , , sum = com.microsoft.SkipLayerNormalization (a, x, w)
        t0 = Add (q, sum)
        SMALL
        b = Neg (t40)
      }>
    }""".replace("SMALL", SMALL)
    session = both(text, {"n": np.array(3), "x": floats(rng, 1, 2, 4), "w": floats(rng, 4)})
    assert escapes(session) == ["SkipLayerNormalization"]


def test_expensive_operators_call_the_other_engine(rng: np.random.Generator):
    text = """g (int64 n, float[1,1,4,4] x) => (float[1,1,4,4] y) {
      y = Loop (n, "", x) <body = f (int64 i, bool go, float[1,1,4,4] a)
          => (bool on, float[1,1,4,4] t40) {
        on = Identity (go)
        t0 = LRN <size = 3> (a)
        SMALL
      }>
    }""".replace("SMALL", SMALL)
    session = both(text, {"n": np.array(3), "x": floats(rng, 1, 1, 4, 4)})
    (native,) = natives(session)
    (made,) = native.cache.compiled.values()
    assert escapes(session) == ["LRN"]
    assert len(native.compiler.host_kernels._ready) == 1
    assert made.layout.calls


BIASED = """g (int64 n, float[2,4] x, int64 k) => (float[T,4] r) {
  r = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float[4] t40) {
    on = Identity (go)
    at = Add (i, k)
    zero = Constant <value = int64[1] {0}> ()
    ends = Unsqueeze (at, zero)
    z = ConstantOfShape (ends)
    g = com.microsoft.BiasGelu (x, z)
    t0 = ReduceSum <keepdims = 0> (g, zero)
    SMALL
  }>
}""".replace("SMALL", SMALL)


def test_numpy_runs_operators_that_the_other_engine_refuses(rng: np.random.Generator):
    """It aligns corners wrong where a length is not whole, so its kernel is told to fail there."""
    text = """g (int64 n, float[1,1,4,4] x) => (float[T,1,1,H,W] y) {
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float[1,1,H,W] t40) {
        on = Identity (go)
        scales = Constant <value = float[4] {1, 1, 1.6, 1.6}> ()
        t0 = Resize <mode = "linear", coordinate_transformation_mode = "align_corners">
          (x, "", scales)
        SMALL
      }>
    }""".replace("SMALL", SMALL)
    with refused_nothing():
        session = both(text, {"n": np.array(3), "x": floats(rng, 1, 1, 4, 4)})
    assert escapes(session) == ["Resize"]
    assert len(natives(session)[0].compiler.host_kernels._ready) == 1


def test_a_failed_host_kernel_names_path_and_iteration(rng: np.random.Generator):
    text = """g (int64 n, float[1] x) => (float[T] r) {
      r = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float t40) {
        on = Identity (go)
        axis = Cast <to = 6> (i)
        z = com.microsoft.ExpandDims (x, axis)
        t0 = ReduceSum <keepdims = 0> (z)
        SMALL
      }>
    }""".replace("SMALL", SMALL)
    session = both(text, {"n": np.array(2), "x": floats(rng, 1)})
    assert escapes(session) == ["ExpandDims"]
    with pytest.raises(RunError, match=r"loop_0\.body.*iteration 2: onnxruntime: .*ExpandDims"):
        session.run(None, {"n": np.array(3), "x": floats(rng, 1)})


def test_results_of_unknown_type_are_boxed(rng: np.random.Generator):
    """It fits no shapes one could try, so even its rank is not known before it is called."""
    text = BIASED.replace("t0 = ReduceSum", "s = ReduceSum").replace(SMALL, "t40 = Identity (s)")
    options = treadle.RunOptions()
    options.max_iterations = 5
    session = treadle.InferenceSession(HEAD + text)
    whole = treadle.InferenceSession(HEAD + text, engines=("onnxruntime", "interp"))
    feed = {"x": floats(rng, 2, 4), "k": np.array(4), "n": np.array(1)}
    assert_same(session.run(None, feed, options), whole.run(None, feed), ["r"])


def test_iteration_limits_hold_around_host_kernels(rng: np.random.Generator):
    session = treadle.InferenceSession(HEAD + GELU)
    options = treadle.RunOptions()
    options.max_iterations = 7
    feed = {"n": np.array(7), "x": floats(rng, 4)}
    assert_same(session.run(None, feed, options), session.run(None, feed), ["y", "r"])
    with pytest.raises(LimitExceeded, match="max_iterations=7"):
        session.run(None, {**feed, "n": np.array(8)}, options)


def test_kernels_of_freed_constants_are_not_reused():
    """A kernel made for a constant is another one's only while that constant lives."""
    x, w, y = (Value(name, tensor("float32", 2)) for name in "xwy")
    kernels = HostKernels((delegate.Onnxruntime(),))
    leaf = Leaf("com.microsoft", "BiasGelu", 1, (x, w), (y,))

    def added(number):
        bias = np.full(2, number, np.float32)
        made = kernels.prepare(kernels.fitted(leaf, [(x.type, None), (w.type, bias)]))
        return made([np.zeros(2, np.float32), bias])[0].tolist()

    assert [added(number) for number in (8, 16, 32, 64)] == [[8] * 2, [16] * 2, [32] * 2, [64] * 2]


def test_constants_of_a_host_kernel_are_shared_by_all_shapes(rng: np.random.Generator):
    text = """g (int64 n, float[A,4] x) => (float[A,4] y) {
      w = Constant <value = float[4] {1, 2, 3, 4}> ()
      y = Loop (n, "", x) <body = f (int64 i, bool go, float[A,4] a)
          => (bool on, float[A,4] t40) {
        on = Identity (go)
        t0 = com.microsoft.BiasGelu (a, w)
        SMALL
      }>
    }""".replace("SMALL", SMALL)
    session = both(text, *({"n": np.array(2), "x": floats(rng, rows, 4)} for rows in (2, 3, 4, 5)))
    (native,) = natives(session)
    assert len(native.cache.compiled) > 1
    assert len(native.compiler.host_kernels._ready) == 1


def test_data_dependent_extents_of_host_kernels():
    """Of zeros it gives one element, and of ones: so it is taken to give one always, but once."""
    text = """g (int64 n, float[5] x) => (float y) {
      zero = Constant <value = float {0}> ()
      y = Loop (n, "", zero) <body = f (int64 i, bool go, float a) => (bool on, float t40) {
        on = Identity (go)
        u, , k = com.microsoft.Unique (x)
        m = ReduceMean <keepdims = 0> (u)
        t0 = Add (m, a)
        SMALL
      }>
    }""".replace("SMALL", SMALL).replace("u, , k", "u, w, k")
    feed = {"n": np.array(3), "x": np.array([1, 2, 2, 3, 1], np.float32)}
    session = both(text, feed)
    whole = treadle.InferenceSession(HEAD + text, engines=("onnxruntime", "interp"))
    with refused_nothing():
        assert_same(session.run(None, feed), whole.run(None, feed), ["y"])
    assert escapes(session) == ["Unique"]


def test_integer_operators_run_in_numpy(rng: np.random.Generator):
    """onnxruntime rounds those that interp cuts off, and the other way round."""
    text = """g (int64 n, uint8[1,1,4,4] x) => (uint8[1,1,10,10] y) {
      zero = Constant <value = uint8 {0}> ()
      shape = Constant <value = int64[4] {1, 1, 10, 10}> ()
      y0 = Expand (zero, shape)
      y = Loop (n, "", y0) <body = f (int64 i, bool go, uint8[1,1,10,10] a)
          => (bool on, uint8[1,1,10,10] b) {
        on = Identity (go)
        s = Constant <value = float[4] {1.0, 1.0, 2.5, 2.5}> ()
        b = Resize <mode = "linear"> (x, "", s)
      }>
    }"""
    feed = {"n": np.array(2), "x": rng.integers(0, 255, (1, 1, 4, 4)).astype(np.uint8)}
    options = treadle.RunOptions()
    options.max_iterations = 5
    session = treadle.InferenceSession(HEAD + text)
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    assert_same(session.run(None, feed, options), interp.run(None, feed), ["y"])

"""`explain` of native code: compiled, hoisted, fused, in place, host calls."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD
from treadle.jit import Jit
from treadle.plan import RunContext, plan
from treadle.report import explain

MODEL = """g (int64 n, float[6,7] p, float[6,7] w) => (float[6,7] y, float[N,6,7] all) {
  y, all = Loop (n, , p) <body = f (int64 i, bool go, float[6,7] x) => (bool on, float[6,7] x1,
    float[6,7] e) {
    on = Identity (go)
    big = Exp (w)
    turned = Neg (x)
    s = Add (turned, big)
    x1 = Tanh (s)
    e = Identity (turned)
  }>
}"""
FEED = {"n": np.array(3), "p": np.ones((6, 7), np.float32), "w": np.ones((6, 7), np.float32)}


def explained(text=MODEL, feed=FEED, engines=("jit", "interp")):
    session = treadle.InferenceSession(HEAD + text, engines=engines)
    session.run(None, feed)
    return session


def test_no_kernel_is_compiled_before_a_run():
    session = treadle.InferenceSession(HEAD + MODEL, engines=("jit", "interp"))
    assert "bytes" not in session.explain()
    assert "not compiled yet" in session.explain()


def test_counts_of_optimizations():
    model = treadle.infer(treadle.load(HEAD + MODEL))  # as it is: a session cleans it first
    planned = plan(model, (Jit(),))
    (region,) = planned.main.regions
    region.runnable([FEED[value.name] for value in region.inputs], RunContext())
    text = explain(planned)
    assert "for n int64[], p float32[6,7], w float32[6,7]:" in text
    assert "hoisted out of loops: exp 1" in text
    assert "fused: 4 operations on arrays in 2 loop nests" in text
    assert "carried arrays: 1 changed in place, 0 copied" in text
    assert "called outside" not in text


def test_host_calls_are_listed():
    text = MODEL.replace("6,7", "7,7").replace(
        "e = Identity (turned)", "d = Det (x)\n e = Mul (x, d)"
    )
    feed = {"n": np.array(3), "p": np.eye(7, dtype=np.float32), "w": np.eye(7, dtype=np.float32)}
    assert "called outside: Det-11 1" in explained(text, feed).explain()


def test_kernels_from_disk_have_the_same_report():
    first, second = explained().explain(), explained().explain()
    assert "compiled in" in first
    assert "found again in" in second
    assert first.splitlines()[5:] == second.splitlines()[5:]


def test_the_code():
    session = explained()
    explained()
    assert "exp %" in session.explain("kernel")
    found = explained()  # from memory, without LLVM's text
    assert "i64 @kernel(" in found.explain("llvm")


def test_declined_regions_have_reasons():
    from treadle.plan import CompilationReport

    session = treadle.InferenceSession(HEAD + MODEL, engines=("jit", "interp"))
    (region,) = session.plan.main.regions
    region.runnable.cache.compiled[((None, ()),) * 3] = "for a test"
    (account,) = region.runnable.traits.reports()
    assert isinstance(account, CompilationReport)
    assert account.facts == ("declined: for a test",)
    assert account.code("kernel") == ""
    assert session.explain("kernel").splitlines()[1:] == ["# declined: for a test"]


BOUNDS = {
    "runs with bounded iterations": {"max_iterations": 100},
    "runs with bounded bytes": {"max_bytes": 10**6},
    "runs with bounded iterations and bytes": {"max_iterations": 100, "max_bytes": 10**6},
}


@pytest.mark.parametrize("runs", BOUNDS)
def test_bounded_runs_have_a_plan_of_their_own(runs):
    session = treadle.InferenceSession(HEAD + MODEL, engines=("jit", "interp"))
    assert "runs " not in session.explain()
    session.run(None, FEED, treadle.RunOptions(**BOUNDS[runs]))
    ordinary, others = session.explain().split(f"\n\n{runs}:\n")
    assert "not compiled yet" in ordinary
    assert "not compiled yet" not in others
    made = "for n int64[], p float32[6,7], w float32[6,7]:"
    assert made in others
    code = session.explain("kernel")
    assert code.startswith(f"# main/loop_0 in {runs} {made[:-1]}\nkernel ")
    assert code.count("# main") == 1  # not of ordinary runs: there were none
    assert f"# main/loop_0 in {runs} for n" in session.explain("llvm")
    session.run(None, FEED)
    both = session.explain()
    assert both.count(made) == 2
    assert session.explain("kernel").count("\nkernel") == 2


def test_a_bound_of_time_alone_is_an_ordinary_run():
    session = treadle.InferenceSession(HEAD + MODEL, engines=("jit", "interp"))
    session.run(None, FEED, treadle.RunOptions(max_seconds=100.0))
    assert "runs with" not in session.explain()


def test_runs_that_feed_a_default_have_a_plan_of_their_own():
    text = """g (int64 n, float[2] p, float[2] w) => (float[2] y) <float[2] w = {1, 2}> {
      y = Loop (n, , p) <body = f (int64 i, bool go, float[2] x) => (bool on, float[2] x1) {
        on = Identity (go)
        s = Mul (x, w)
        x1 = Tanh (s)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed, w = {"n": np.array(3), "p": np.ones(2, np.float32)}, np.ones(2, np.float32)
    session.run(None, feed)
    assert "runs that" not in session.explain()
    session.run(None, {**feed, "w": w})
    session.run(None, {**feed, "w": w}, treadle.RunOptions(max_iterations=9))
    shown = session.explain()
    assert "\nruns that feed w:\n" in shown
    assert "\nruns with bounded iterations, that feed w:\n" in shown


def test_a_run_with_a_listener_is_on_interp_and_has_no_code():
    session = treadle.InferenceSession(HEAD + MODEL, engines=("jit", "interp"))
    before = session.explain()
    session.run(None, FEED, listener=treadle.Recorder())
    assert session.explain() == before


def test_boxed_values_are_listed():
    text = """g (int64 n, string o) => (int64[T] h) {
      h = Loop (n, "") <body = f (int64 i, bool go) => (bool on, int64 c) {
        on = Identity (go)
        has = Equal (o, o)
        c = Cast <to = 7> (has)
      }>
    }"""
    session = treadle.InferenceSession(HEAD.replace("18", "20") + text, engines=("jit", "interp"))
    session.run(None, {"n": np.array(2), "o": np.array("a", object)})
    shown = str(session.explain())
    assert "o boxed" in shown
    assert "called outside: Equal" in shown


def floats(*shape):
    return np.linspace(-1, 1, np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


WAYS = {
    "delay lines: shift registers that are windows over their history: 1": (
        """g (float[T] x, float[50] none, float[50] taps) => (float[50] last, float[T] ys) {
          one = Constant <value = int64[1] {1}> ()
          end = Constant <value = int64[1] {50}> ()
          zero = Constant <value = int64[1] {0}> ()
          last, ys = Scan <num_scan_inputs = 1, body = b (float[50] line, float v)
            => (float[50] moved, float y) {
            kept = Slice (line, one, end, zero)
            new = Unsqueeze (v, zero)
            moved = Concat <axis = 0> (kept, new)
            products = Mul (moved, taps)
            y = ReduceSum <keepdims = 0> (products, zero)
          }> (none, x)
        }""",
        {"x": floats(9), "none": floats(50), "taps": floats(50)},
    ),
    "carried arrays that grow at their end: only new items are written: 1": (
        """g (int64 n, float[A,40] p) => (float[C,40] a, float[N] s) {
          a, s = Loop (n, "", p) <body = f (int64 i, bool go, float[B,40] x)
            => (bool on, float[D,40] x1, float s) {
            on = Identity (go)
            x1 = Concat <axis = 0> (x, p)
            s = ReduceSum <keepdims = 0> (x1)
          }>
        }""",
        {"n": np.array(3), "p": floats(1, 40)},
    ),
    "carried arrays whose shape changes: reallocated in each iteration: 1": (
        """g (int64 n, float[A] p) => (float[C] a) {
          one = Constant <value = int64[1] {1}> ()
          far = Constant <value = int64[1] {100}> ()
          a = Loop (n, "", p) <body = f (int64 i, bool go, float[B] x) => (bool on, float[D] x1) {
            on = Identity (go)
            x1 = Slice (x, one, far)
          }>
        }""",
        {"n": np.array(3), "p": floats(40)},
    ),
    "concats elided: their operands are read piece by piece: 1": (
        """g (int64 n, float[24,40] p, float[1,40] top) => (float[24,40] a) {
          zero = Constant <value = int64[1] {0}> ()
          end = Constant <value = int64[1] {23}> ()
          a = Loop (n, "", p) <body = f (int64 i, bool go, float[24,40] x)
            => (bool on, float[24,40] x1) {
            on = Identity (go)
            most = Slice (x, zero, end, zero)
            down = Concat <axis = 0> (top, most)
            x1 = Sub (x, down)
          }>
        }""",
        {"n": np.array(3), "p": floats(24, 40), "top": floats(1, 40)},
    ),
    "matrices packed for their products before the loop: 1": (
        """g (int64 n, float[1,70] h, float[70,70] w) => (float[1,70] y) {
          y = Loop (n, "", h) <body = f (int64 i, bool go, float[1,70] x)
            => (bool on, float[1,70] x1) {
            on = Identity (go)
            x1 = MatMul (x, w)
          }>
        }""",
        {"n": np.array(3), "h": floats(1, 70), "w": floats(70, 70)},
    ),
}


@pytest.mark.parametrize("words", WAYS)
def test_ways_the_code_takes_are_named(words):
    shown = explained(*WAYS[words]).explain()
    assert words in map(str.strip, shown.splitlines()), shown
    named = [each for each in WAYS if each.rpartition(":")[0] in shown]
    assert named == [words], shown

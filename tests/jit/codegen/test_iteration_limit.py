"""max_iterations in native code counts the iterations of all loops, as interp does."""

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import HEAD, natives
from treadle.errors import LimitExceeded
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.toolchain.llvm import optimized_ir

COUNTED = """g (int64 n, float x) => (float y) {
  y = Loop (n, , x) <body = f (int64 i, bool go, float u) => (bool on, float v) {
    on = Identity (go)
    v = Add (u, u)
  }>
}"""
UNTIL = """g (int64 n, float x) => (float y) {
  yes = Constant <value = bool {1}> ()
  y = Loop (, yes, x) <body = f (int64 i, bool go, float u) => (bool on, float v) {
    one = Constant <value = int64 {1}> ()
    k = Add (i, one)
    on = Less (k, n)
    v = Add (u, u)
  }>
}"""
NESTED = """g (int64 n, float x) => (float y) {
  y = Loop (n, , x) <body = f (int64 i, bool go, float u) => (bool on, float v) {
    on = Identity (go)
    v = Loop (i, , u) <body = h (int64 j, bool go2, float s) => (bool on2, float t) {
      on2 = Identity (go2)
      t = Sin (s)
    }>
  }>
}"""
LARGE = """g (int64 n, float x) => (float[300,300] y) {
  shape = Constant <value = int64[2] {300, 300}> ()
  p = Expand (x, shape)
  y = Loop (n, , p) <body = f (int64 i, bool go, float[300,300] u)
    => (bool on, float[300,300] v) {
    on = Identity (go)
    v = Sin (u)
  }>
}"""
GRID = """g (int64 n, float x) => (int64[40] last) {
  one = Constant <value = int64 {1}> ()
  s = Range (one, n, one)
  row0 = Constant <value_ints = [NUMBERS]> ()
  zero = Constant <value = int64 {0}> ()
  last, corner = Scan <num_scan_inputs = 1, body = outer (int64[40] row, int64 k, int64 a)
    => (int64[40] next, int64 ko) {
    ko = Add (k, one)
    le, next = Scan <num_scan_inputs = 1, body = inner (int64 left, int64 above)
      => (int64 lo, int64 cell) {
      least = Min (left, above)
      lo = Add (least, a)
      cell = Identity (lo)
    }> (ko, row)
  }> (row0, zero, s)
}""".replace("NUMBERS", ", ".join(map(str, range(40))))


def outcome(text, n, most, engines):
    options = treadle.RunOptions(max_iterations=most)
    session = treadle.InferenceSession(HEAD + text, engines=engines)
    feed = {"n": np.array(n), "x": np.float32(0.5)}
    try:
        return session.run(None, feed, options)[0].tolist(), session
    except LimitExceeded as error:
        return "over" if f"max_iterations={most}" in str(error) else str(error), session


def needed(text, n):
    """How many iterations interp counts."""
    low, high = 0, 1 << 14
    while low < high:
        middle = (low + high) // 2
        if outcome(text, n, middle, ("interp",))[0] == "over":
            low = middle + 1
        else:
            high = middle
    return low


@pytest.mark.parametrize("text", [COUNTED, UNTIL, NESTED, LARGE, GRID])
@pytest.mark.parametrize("n", [1, 5, 30])
def test_the_bound_is_interps(text, n):
    exact = needed(text, n)
    for most in (exact, exact - 1):
        if most < 0:
            continue
        found, session = outcome(text, n, most, ("jit", "interp"))
        wanted, _ = outcome(text, n, most, ("interp",))
        assert (found == "over") == (wanted == "over") == (most < exact)
        assert natives(session)


def test_bounded_runs_are_native():
    session = treadle.InferenceSession(HEAD + COUNTED, engines=("jit", "interp"))
    feed = {"n": np.array(10_000_000), "x": np.float32(0)}
    session.run(None, feed, treadle.RunOptions(max_iterations=10_000_000))
    with pytest.raises(LimitExceeded, match="max_iterations=9999999"):
        session.run(None, feed, treadle.RunOptions(max_iterations=9_999_999))


def test_runs_without_a_bound_do_not_count():
    session = treadle.InferenceSession(HEAD + COUNTED, engines=("jit", "interp"))
    feed = {"n": np.array(7), "x": np.float32(1)}
    with pytest.raises(LimitExceeded):
        session.run(None, feed, treadle.RunOptions(max_iterations=3))
    assert session.run(None, feed)[0] == 128


TWO = """g (int64 n, float x) => (float y) {
  u = Loop (n, , x) <body = f (int64 i, bool go, float u) => (bool on, float v) {
    on = Identity (go)
    v = Sin (u)
  }>
  y = Loop (n, , u) <body = f (int64 i, bool go, float u) => (bool on, float v) {
    on = Identity (go)
    v = Sin (u)
  }>
}"""


def where(text, n, most, engines):
    options = treadle.RunOptions(max_iterations=most)
    session = treadle.InferenceSession(HEAD + text, engines=engines)
    with pytest.raises(LimitExceeded) as raised:
        session.run(None, {"n": np.array(n), "x": np.float32(0.5)}, options)
    return raised.value


OVER = [(text, most) for text in (COUNTED, UNTIL, LARGE, TWO) for most in (0, 3)] + [(TWO, 7)]


@pytest.mark.parametrize(("text", "most"), OVER)
def test_the_error_is_interps(text, most):
    found, wanted = (where(text, 5, most, each) for each in (("jit", "interp"), ("interp",)))
    assert str(found) == str(wanted)
    assert found.iterations


def test_the_error_names_the_inner_loop_where_iterations_are_not_known_beforehand():
    found = where(NESTED, 5, 9, ("jit", "interp"))
    assert (found.path, found.iterations) == ("main/loop_0.body/loop_1", ())


HALVED = """kernel
  %x: int64[] = input 0
  %far: int64[] = constant 9223372036854775807
  %two: int64[] = constant 2
  %zero: int64[] = constant 0
  %yes: bool[] = constant true
  %1 = loop trip %far while %yes carries %a = %x
    %a: int64[] = carried 0
    %half: int64[] = div %a, %two
    %on: bool[] = greater %half, %zero
    while %on
    yield %half
  %last: int64[] = result 0 of %1
  return %last"""


@pytest.mark.parametrize("trip", ["trip %far ", ""])
def test_no_iteration_is_counted_where_only_a_condition_ends_the_loop(trip: str) -> None:
    text = HALVED.replace("trip %far ", trip)
    code = optimized_ir(generate_code(kernel_of(text), ()).text, vectorizers=())
    assert f"{2**63 - 1}" not in code
    assert run_kernel(text, np.array(1000))[0] == 0


def test_a_condition_that_counts_far_ends_at_the_limit() -> None:
    """Memory for all iterations is not asked for, as it is with a trip count."""
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (int64 n, float x) => (float[K] y) {
      one = Constant <value = int64 {1}> ()
      zero = Constant <value = int64 {0}> ()
      yes = Constant <value = bool {1}> ()
      k, y = Loop (, yes, zero) <body = b (int64 i, bool go, int64 c) =>
        (bool on, int64 c2, float z) {
        c2 = Add (c, one)
        on = Less (c2, n)
        z = Identity (x)
      }>
    }"""
    session = treadle.InferenceSession(text, engines=("jit", "interp"))
    feed = {"n": np.array(10**12), "x": np.float32(1)}
    with pytest.raises(treadle.LimitExceeded, match="iteration 1000"):
        session.run(None, feed, treadle.RunOptions(max_iterations=1000))

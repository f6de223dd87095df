"""A failed guard: another kernel is made, or another engine runs the region."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check_uncalled, natives, outcomes
from tests.values import assert_same
from treadle.jit.runtime.invoke import CompiledKernel

SUPPRESSION = """g (float[N] x) => (float[K] kept) {
  none = Constant <value = float[0] {}> ()
  go = Constant <value = bool {1}> ()
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  big = Constant <value = int64[1] {9223372036854775807}> ()
  half = Constant <value = float {0.5}> ()
  rest, kept = Loop ("", go, x, none) <body = f (int64 i, bool on, float[A] o, float[B] k)
    => (bool more, float[C] next, float[D] longer) {
    best = Slice (o, zero, one)
    others = Slice (o, one, big)
    longer = Concat <axis = 0> (k, best)
    limit = Mul (best, half)
    near = Greater (others, limit)
    far = Not (near)
    next = Compress <axis = 0> (others, far)
    shape = Shape (next)
    count = ReduceProd <keepdims = 0> (shape)
    nothing = Constant <value = int64 {0}> ()
    more = Greater (count, nothing)
  }>
}"""


@pytest.mark.parametrize("length", [1, 2, 3, 25])
def test_non_max_suppression_with_shrinking_candidates(
    length: int, rng: np.random.Generator
) -> None:
    feeds = [{"x": -np.sort(-rng.random(length)).astype(np.float32)} for _ in range(3)]
    check_uncalled(SUPPRESSION, *feeds)


LAST_OF_A_LIST = """g (int64 n) => (float[K] last, float[T,1] seen) {
  none = Constant <value = float[0] {}> ()
  minus = Constant <value = int64[1] {-1}> ()
  big = Constant <value = int64[1] {9223372036854775807}> ()
  last, seen = Loop (n, "", none) <body = f (int64 i, bool on, float[A] k)
    => (bool more, float[B] longer, float[1] all) {
    more = Identity (on)
    end = Slice (k, minus, big)
    total = ReduceSum <keepdims = 1> (end)
    number = Cast <to = 1> (i)
    all = Add (total, number)
    longer = Concat <axis = 0> (k, all)
  }>
}"""


def test_an_empty_slice_fails_its_guard_and_gets_another_kernel() -> None:
    session = treadle.InferenceSession(HEAD + LAST_OF_A_LIST, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + LAST_OF_A_LIST, engines=("interp",))
    for trips in (1, 2, 5, 3, 4):
        feeds = {"n": np.array(trips)}
        assert_same(session.run(None, feeds), interp.run(None, feeds), ["last", "seen"])
    assert [
        made.kernel.assumes for made in outcomes(session) if isinstance(made, CompiledKernel)
    ] == [False]
    (native,) = natives(session)
    assert not native.cache.misfits


BROADCAST = """g (int64 n, float[6] x, float[6] y) => (float[6] last) {
  last = Loop (n, "", x) <body = f (int64 i, bool on, float[6] v) => (bool more, float[6] next) {
    more = Identity (on)
    zero = Constant <value = float {0}> ()
    above = Greater (y, zero)
    few = Compress <axis = 0> (y, above)
    all = GreaterOrEqual (v, v)
    many = Compress <axis = 0> (v, all)
    next = Add (many, few)
  }>
}"""
ONE, SIX = np.array([1, 0, 0, 0, 0, 0], np.float32), np.arange(1, 7, dtype=np.float32)


@pytest.mark.parametrize("engines", [("jit", "interp"), ("jit", "onnxruntime", "interp")])
def test_a_kernel_whose_guard_fails_twice_is_dropped(engines: tuple[str, ...]) -> None:
    session = treadle.InferenceSession(HEAD + BROADCAST, engines=engines)
    for trips in (2, 5, 1, 3):
        feeds = {"n": np.array(trips), "x": SIX, "y": ONE}
        np.testing.assert_array_equal(session.run(None, feeds)[0], SIX + trips)
    assert not natives(session)
    assert "failed 2 times in a row" in session.explain()


def test_a_kernel_that_succeeds_between_failures_is_kept() -> None:
    session = treadle.InferenceSession(HEAD + BROADCAST, engines=("jit", "interp"))
    for trips in (2, 0, 5, 1, 3):
        for y, added in ((ONE, 1), (SIX, SIX)):
            feeds = {"n": np.array(trips), "x": SIX, "y": y}
            np.testing.assert_array_equal(session.run(None, feeds)[0], SIX + trips * added)
    (native,) = natives(session)
    assert all(isinstance(made, CompiledKernel) for made in native.cache.compiled.values())


SHRINKING = """g (int64 n, float[5] x) => (float[R] y) {
  go = Constant <value = bool {1}> ()
  zero = Constant <value = int64[1] {0}> ()
  last = Constant <value = int64[1] {-1}> ()
  rest = Loop (n, go, x) <body = f (int64 i, bool on, float[A] a) => (bool more, float[B] next) {
    more = Identity (on)
    front = Slice (a, zero, last)
    next = Add (front, front)
  }>
  both = Unsqueeze (rest, zero)
  y = Squeeze (both)
}"""


def test_a_guard_of_values_that_always_fails_is_not_tried_for_ever() -> None:
    session = treadle.InferenceSession(HEAD + SHRINKING, engines=("jit", "interp"))
    x = np.arange(1, 6, dtype=np.float32)
    for _ in range(66):
        (found,) = session.run(None, {"n": np.array(4), "x": x})
        np.testing.assert_array_equal(found, np.float32(16))
    assert "failed 64 times in a row" in session.explain()


def test_a_guard_of_values_that_holds_now_and_then_keeps_its_kernel() -> None:
    session = treadle.InferenceSession(HEAD + SHRINKING, engines=("jit", "interp"))
    x = np.arange(1, 6, dtype=np.float32)
    for trips in (*[4] * 40, 2) * 4:
        (found,) = session.run(None, {"n": np.array(trips), "x": x})
        np.testing.assert_array_equal(found, np.squeeze(x[: 5 - trips] * 2**trips))
    (native,) = natives(session)
    assert all(isinstance(made, CompiledKernel) for made in native.cache.compiled.values())


OPEN = """g (int64 n, float a, int64 low, float[P] x) => (float h) {
  go = Constant <value = bool {1}> ()
  zero = Constant <value = int64[1] {0}> ()
  start = Unsqueeze (low, zero)
  end = Unsqueeze (n, zero)
  part = Slice (x, start, end, zero)
  most = ReduceMax <keepdims = 0> (part, zero)
  h = Loop (n, go, a) <body = f (int64 i, bool on, float s) => (bool more, float next) {
    more = Identity (on)
    item = Gather (x, i)
    sum = Add (s, item)
    next = Mul (sum, most)
  }>
}"""


def test_values_that_do_not_fit_leave_open_extents_open() -> None:
    session = treadle.InferenceSession(HEAD + OPEN, engines=("jit", "interp"))

    def run(length: int, low: int) -> None:
        x = np.ones(length, np.float32)
        feed = {"n": np.array(5), "a": np.float32(0), "low": np.array(low), "x": x}
        (found,) = session.run(None, feed)
        np.testing.assert_array_equal(found, np.float32(-np.inf if low == length else 5))

    for length in range(10, 18):
        run(length, 0)
    for length in range(20, 30):
        run(length, length)  # the maximum of no numbers is another engine's
    (native,) = natives(session)
    made = len(native.cache.compiled)
    for length in range(30, 40):
        run(length, 0)
    assert len(native.cache.compiled) == made

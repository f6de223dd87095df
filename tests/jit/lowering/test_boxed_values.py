"""Values without a native form in compiled loops: boxed, with integers as handles."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from tests.jit.native import HEAD, check, escapes
from tests.seeded import drawn, floats, seeded
from tests.values import assert_same
from treadle.errors import RunError
from treadle.jit.runtime import specialize

HEAD_20 = HEAD.replace("18", "20")
TRIPS = (1, 2, 5, 40)


@pytest.fixture(autouse=True, scope="module")
def whole():
    """Lists and optionals are not taken apart, as those of unknown elements are not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(specialize, "scalarize_sequences", lambda block, extents: None)
        yield


GROWING = """g (int64 n, float[2] p) => (seq(float[A]) r, float[M] q) {
  s = SequenceConstruct (p)
  r, x = Loop (n, "", s, p) <body = f (int64 i, bool go, seq(float[A]) s, float[A] x)
      => (bool on, seq(float[A]) t, float[A] e) {
    on = Identity (go)
    e = Concat <axis = 0> (x, p)
    t = SequenceInsert (s, e)
  }>
  q = ConcatFromSequence <axis = 0> (r)
}"""


def test_a_list_of_growing_rows(rng: np.random.Generator):
    check(GROWING, *({"n": np.array(n), "p": floats(rng, 2)} for n in (0, *TRIPS)))


def test_a_list_that_begins_empty_and_gets_each_row_longer():
    text = """g (int64 n) => (seq(float[A]) r, int64 c, float[Q] last) {
      s = SequenceEmpty ()
      r = Loop (n, "", s) <body = f (int64 i, bool go, seq(float[A]) s)
          => (bool on, seq(float[A]) t) {
        on = Identity (go)
        one = Constant <value = int64[1] {1}> ()
        zero = Constant <value = int64 {0}> ()
        k = Add (i, one)
        x = Cast <to = 1> (i)
        e = Expand (x, k)
        t = SequenceInsert (s, e, zero)
      }>
      c = SequenceLength (r)
      behind = Constant <value = int64 {-1}> ()
      last = SequenceAt (r, behind)
    }"""
    check(text, *({"n": np.array(n)} for n in TRIPS))


CASES = {
    "pieces of unlike lengths": ("""g (int64 n, float[7] x) => (float[T] r, float[K] last) {
      sizes = Constant <value = int64[3] {1, 4, 2}> ()
      zero = Constant <value = int64 {0}> ()
      l, r = Loop (n, "", x) <body = f (int64 i, bool go, float[7] x)
          => (bool on, float[7] y, float r) {
        on = Identity (go)
        parts = SplitToSequence <axis = 0> (x, sizes)
        behind = Constant <value = int64 {-1}> ()
        a = SequenceAt (parts, behind)
        less = SequenceErase (parts, behind)
        more = SequenceInsert (less, a, zero)
        y = ConcatFromSequence <axis = 0> (more)
        r = ReduceSum <keepdims = 0> (a)
      }>
      two = Constant <value = int64 {2}> ()
      q = SplitToSequence <axis = 0> (l, two)
      last = SequenceAt (q, two)
    }""", {"x": (7,)}, TRIPS),
    "an optional that is empty at first": ("""g (int64 n, float[2] p) => (float[2] r, float[T] h) {
      o = Optional <type = float[2]> ()
      l, r, h = Loop (n, "", o, p) <body = f (int64 i, bool go, optional(float[2]) o, float[2] x)
          => (bool on, optional(float[2]) o2, float[2] y, float h) {
        on = Identity (go)
        has = OptionalHasElement (o)
        h = Cast <to = 1> (has)
        y = If (has) <then_branch = a () => (float[2] u) { v = OptionalGetElement (o)
                                                           u = Add (v, x) },
                      else_branch = b () => (float[2] w) { w = Neg (x) }>
        o2 = Optional (y)
      }>
    }""", {"p": (2,)}, TRIPS),
    "an optional list": ("""g (int64 n, float[2] p) => (int64[T] h) {
      o = Optional <type = seq(float[A])> ()
      l, h = Loop (n, "", o) <body = f (int64 i, bool go, optional(seq(float[A])) o)
          => (bool on, optional(seq(float[A])) o2, int64 h) {
        on = Identity (go)
        has = OptionalHasElement (o)
        s = If (has) <then_branch = a () => (seq(float[A]) u) { v = OptionalGetElement (o)
                                                                u = SequenceInsert (v, p) },
                      else_branch = b () => (seq(float[A]) w) { w = SequenceConstruct (p) }>
        h = SequenceLength (s)
        o2 = Optional (s)
      }>
    }""", {"p": (2,)}, TRIPS),
    "branches of unlike ranks": ("""g (int64 n, float[6] p) => (float[T] h, float[6] out) {
      l, h = Loop (n, "", p) <body = f (int64 i, bool go, float[6] x)
          => (bool on, float[6] y, float h) {
        on = Identity (go)
        two = Constant <value = int64 {2}> ()
        odd = Mod (i, two)
        c = Cast <to = 9> (odd)
        w = If (c) <then_branch = a () => (u) { s = Constant <value = int64[2] {2, 3}> ()
                                                u = Reshape (x, s) },
                    else_branch = z () => (v) { v = Neg (x) }>
        h = ReduceSum <keepdims = 0> (w)
        six = Constant <value = int64[1] {6}> ()
        y = Reshape (w, six)
      }>
      out = Identity (l)
    }""", {"p": (6,)}, TRIPS),
}  # fmt: skip
"""The text of a model, the shapes of its inputs, and trip counts."""


@pytest.mark.parametrize("case", CASES)
def test_boxed_values_in_a_loop(case, rng):
    text, shapes, trips = CASES[case]
    check(text, *(drawn(rng, shapes, n) for n in trips))


BEAM = """g (int64 n, seq(float[A]) p) => (seq(float[B]) r, int64[T] c) {
  r, c = Loop (n, "", p) <body = f (int64 i, bool go, seq(float[A]) s)
      => (bool on, seq(float[B]) t, int64 c) {
    on = Identity (go)
    m = SequenceLength (s)
    at = Mod (i, m)
    e = SequenceAt (s, at)
    d = Concat <axis = 0> (e, e)
    u = SequenceErase (s, at)
    v = SequenceInsert (u, d)
    c = Size (e)
    t = Loop (i, "", v) <body = h (int64 j, bool g2, seq(float[C]) a)
        => (bool o2, seq(float[D]) b) {
      o2 = Identity (g2)
      zero = Constant <value = int64 {0}> ()
      first = SequenceAt (a, zero)
      start = Constant <value = int64[1] {0}> ()
      end = Constant <value = int64[1] {3}> ()
      few = Slice (first, start, end)
      a2 = SequenceErase (a, zero)
      b = SequenceInsert (a2, few)
    }>
  }>
}"""


@pytest.mark.parametrize("lengths", [(2, 3, 1), (2, 2), (5,)])
def test_lists_within_inner_loops(lengths, rng):
    items = [floats(rng, length) for length in lengths]
    check(BEAM, *({"n": np.array(n), "p": items} for n in (1, 2, 9)))


def test_lists_of_one_session_are_alike_or_not(rng: np.random.Generator):
    text = """g (int64 n, seq(float[A]) p) => (float[T] r) {
      r = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float r) {
        on = Identity (go)
        m = SequenceLength (p)
        at = Mod (i, m)
        e = SequenceAt (p, at)
        r = ReduceSum <keepdims = 0> (e)
      }>
    }"""
    lists = [[floats(rng, 2), floats(rng, 2)], [floats(rng, 2), floats(rng, 5)], [floats(rng, 3)]]
    check(text, *({"n": np.array(4), "p": items} for items in lists))


def test_an_optional_input_with_and_without_an_element(rng: np.random.Generator):
    text = """g (int64 n, optional(float[2]) o) => (float[T] h) {
      h = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float h) {
        on = Identity (go)
        has = OptionalHasElement (o)
        h = Cast <to = 1> (has)
      }>
    }"""
    check(text, {"n": np.array(3), "o": floats(rng, 2)}, {"n": np.array(3), "o": None})


def test_text():
    text = """g (int64 n, string[2] p, string q) => (string[2] r, int64[T] c) {
      r, c = Loop (n, "", p) <body = f (int64 i, bool go, string[2] s)
          => (bool on, string[2] t, int64 c) {
        on = Identity (go)
        x = Constant <value = string[1] {"ab"}> ()
        odd = Cast <to = 9> (i)
        y = If (odd) <then_branch = a () => (string[1] u) { u = Identity (x) },
                      else_branch = b () => (string[1] v) { z = Constant <value = int64[1] {1}> ()
                                                            v = Expand (q, z) }>
        t = StringConcat (s, y)
        e = Equal (t, p)
        k = Cast <to = 7> (e)
        c = ReduceSum <keepdims = 0> (k)
      }>
    }"""
    p, q = np.array(["x", "yy"], object), np.array("", object)
    check(text, *({"n": np.array(n), "p": p, "q": q} for n in (1, 2, 5)), head=HEAD_20)


def test_two_lists_change_places(rng: np.random.Generator):
    text = """g (int64 n, seq(float[A]) p, seq(float[A]) q) => (seq(float[A]) r, seq(float[A]) s) {
      r, s = Loop (n, "", p, q) <body = f (int64 i, bool go, seq(float[A]) a, seq(float[A]) b)
          => (bool on, seq(float[A]) c, seq(float[A]) d) {
        on = Identity (go)
        zero = Constant <value = int64 {0}> ()
        x = SequenceAt (a, zero)
        y = Concat <axis = 0> (x, x)
        c = Identity (b)
        d = SequenceInsert (a, y, zero)
      }>
    }"""
    feed = {"p": [floats(rng, 1), floats(rng, 2)], "q": [floats(rng, 2)]}
    check(text, *({**feed, "n": np.array(n)} for n in (0, 1, 2, 7)))


STEPS = {
    "insert": "t = SequenceInsert (s, e)",
    "front": "zero = Constant <value = int64 {0}> () t = SequenceInsert (s, e, zero)",
    "erase": "u = SequenceInsert (s, e) zero = Constant <value = int64 {-2}> ()"
             " t = SequenceErase (u, zero)",
    "join": "j = ConcatFromSequence <axis = 0> (s) t = SequenceConstruct (j, e)",
    "split": "j = ConcatFromSequence <axis = 0> (s) two = Constant <value = int64 {2}> ()"
             " t = SplitToSequence <axis = 0> (j, two)",
}  # fmt: skip


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4), st.sampled_from(sorted(STEPS)),
    st.integers(1, 4), st.integers(0, 5),
)  # fmt: skip
@settings(max_examples=20, deadline=None)
def test_random_lengths_of_sequences(lengths, step, extent, n):
    rng = seeded((lengths, step, extent, n))
    text = f"""g (int64 n, seq(float[A]) p, float[E] e) => (seq(float[B]) r) {{
      r = Loop (n, "", p) <body = f (int64 i, bool go, seq(float[C]) s)
          => (bool on, seq(float[D]) t) {{
        on = Identity (go)
        {STEPS[step]}
      }}>
    }}"""
    items = [np.arange(length, dtype=np.float32) for length in lengths]
    check(text, {"n": np.array(n), "p": items, "e": floats(rng, extent)})


def test_a_position_out_of_range_is_the_interpreters_error(rng: np.random.Generator):
    text = """g (int64 n, seq(float[A]) p) => (float[M] e) {
      e = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float c) {
        on = Identity (go)
        e = SequenceAt (p, i)
        c = ReduceSum <keepdims = 0> (e)
      }>
    }"""
    items = [floats(rng, k) for k in (3, 1, 2)]
    check(text, {"n": np.array(3), "p": items})
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(RunError, match=r"loop_0\.body.*iteration 3.*position 3"):
        session.run(None, {"n": np.array(4), "p": items})


def test_threads_have_separate_boxed_values(rng: np.random.Generator):
    session = treadle.InferenceSession(HEAD + BEAM, engines=("jit", "interp"))
    feeds = [{"n": np.array(9), "p": [floats(rng, k) for k in lengths]}
             for lengths in ((2, 3, 1), (1, 2), (4, 4, 1, 2), (3, 1))]  # fmt: skip
    wanted = [session.run(None, dict(feed)) for feed in feeds]
    found: list = []

    def run(number):
        found.extend((number, session.run(None, dict(feeds[number]))) for _ in range(10))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(feeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    for number, each in found:
        assert_same(each, wanted[number], ["r", "c"])


def test_returned_rows_own_their_memory(rng: np.random.Generator):
    session = treadle.InferenceSession(HEAD + GROWING, engines=("jit", "interp"))
    feed = {"n": np.array(3), "p": floats(rng, 2)}
    rows, _ = session.run(None, dict(feed))
    before = [row.copy() for row in rows]
    for row in rows:
        row[...] = 7
    again, _ = session.run(None, dict(feed))
    assert all(map(np.array_equal, again, before))


@pytest.mark.parametrize("n", [20_000])
def test_memory_does_not_grow_with_iterations(n, rng):
    text = """g (int64 n, seq(float[A]) p) => (seq(float[B]) r, int64 c) {
      zero = Constant <value = int64 {0}> ()
      r, c = Loop (n, "", p, zero) <body = f (int64 i, bool go, seq(float[A]) s, int64 c)
          => (bool on, seq(float[B]) t, int64 d) {
        on = Identity (go)
        zero = Constant <value = int64 {0}> ()
        e = SequenceAt (s, zero)
        u = SequenceErase (s, zero)
        t = SequenceInsert (u, e)
        k = Size (e)
        d = Add (c, k)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"p": [floats(rng, k) for k in (100, 50, 75)]}
    session.run(None, {**feed, "n": np.array(10)})
    assert escapes(session)
    tracemalloc.start()
    try:
        _, count = session.run(None, {**feed, "n": np.array(n)})
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == sum((100, 50, 75)[k % 3] for k in range(n))
    assert held < 50_000
    assert most < 200_000

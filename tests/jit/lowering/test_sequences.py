"""Uniform sequences in native code: tensors with a dynamic first axis."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check
from tests.seeded import drawn, floats
from treadle.errors import RunError

pytestmark = pytest.mark.usefixtures("fences")


JOINS = ["axis = 0, new_axis = 1", "axis = -1, new_axis = 1", "axis = 0", "axis = -1"]
SHAPES = [(), (3,), (2, 20)]


@pytest.mark.parametrize(
    ("shape", "join"), [(s, join) for s in SHAPES for join in JOINS if s or "new" in join]
)
def test_a_list_built_by_a_loop(shape, join, rng):
    word = f"float[{','.join(map(str, shape))}]" if shape else "float"
    text = f"""g (int64 n, {word} p) => (r, int64 c) {{
      s = SequenceEmpty ()
      t = Loop (n, "", s) <body = f (int64 i, bool go, seq({word}) s) => (bool on, seq({word}) t) {{
        on = Identity (go)
        k = Cast <to = 1> (i)
        e = Mul (p, k)
        t = SequenceInsert (s, e)
      }}>
      c = SequenceLength (t)
      r = ConcatFromSequence <{join}> (t)
    }}"""
    check(text, *({"n": np.array(n), "p": floats(rng, *shape)} for n in (1, 2, 5, 40)))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_elements_are_put_in_taken_out_and_read_anywhere(count, rng):
    text = """g (int64 n, seq(float[3]) p, int64 at) => (seq(float[3]) r, float[M,3] e, int64 k) {
      r, e, k = Loop (n, "", p, at) <body = f (int64 i, bool go, seq(float[3]) s, int64 at)
        => (bool on, seq(float[3]) s3, int64 at1, float[3] e) {
        on = Identity (go)
        e = SequenceAt (s, at)
        twice = Add (e, e)
        s1 = SequenceInsert (s, twice, at)
        s2 = SequenceErase (s1)
        one = Constant <value = int64 {1}> ()
        s3 = SequenceInsert (s2, twice)
        c = SequenceLength (s3)
        next = Add (at, one)
        at1 = Mod (next, c)
      }>
    }""".replace("r, e, k = Loop", "r, k, e = Loop")
    items = [floats(rng, 3) for _ in range(count)]
    feeds = [{"n": np.array(n), "p": items, "at": np.array(at)}
             for n in (1, 2, 5) for at in (0, count - 1, -1)]  # fmt: skip
    check(text, *feeds)


CASES = {
    "sequences built and read in one iteration": ("""g (int64 n, float[2] p) => (float[2] r) {
      r = Loop (n, "", p) <body = f (int64 i, bool go, float[2] x) => (bool on, float[2] y) {
        on = Identity (go)
        z = Neg (x)
        s = SequenceConstruct (x, z, p)
        three = Constant <value = int64 {3}> ()
        k = Mod (i, three)
        a = SequenceAt (s, k)
        y = Sub (a, p)
      }>
    }""", {"p": (2,)}, (1, 2, 5)),
    "an empty sequence typed by the body": ("""g (int64 n, float[2,3] p) => (float[A,3] r) {
      s = SequenceEmpty ()
      t = Loop (n, "", s) <body = f (int64 i, bool go, s) => (bool on, u) {
        on = Identity (go)
        t = Loop (n, "", s) <body = h (int64 j, bool g2, v) => (bool o2, w) {
          o2 = Identity (g2)
          k = Cast <to = 1> (j)
          e = Sub (p, k)
          w = SequenceInsert (v, e)
        }>
        u = SequenceInsert (t, p)
      }>
      r = ConcatFromSequence <axis = 0> (t)
    }""", {"p": (2, 3)}, (1, 2, 3)),
    "lists within lists of loops and branches": ("""g (int64 n, float[2] p) => (float[A] r) {
      s = SequenceEmpty ()
      t = Loop (n, "", s) <body = f (int64 i, bool go, seq(float[2]) s)
          => (bool on, seq(float[2]) u) {
        on = Identity (go)
        t = Loop (i, "", s) <body = h (int64 j, bool g2, seq(float[2]) v)
            => (bool o2, seq(float[2]) w) {
          o2 = Identity (g2)
          k = Cast <to = 1> (j)
          e = Sub (p, k)
          w = SequenceInsert (v, e)
        }>
        two = Constant <value = int64 {2}> ()
        odd = Mod (i, two)
        is_odd = Cast <to = 9> (odd)
        u = If (is_odd) <then_branch = a () => (seq(float[2]) x) { x = SequenceInsert (t, p) },
                         else_branch = b () => (seq(float[2]) y) { y = Identity (t) }>
      }>
      r = ConcatFromSequence <axis = 0> (t)
    }""", {"p": (2,)}, (2, 3, 6)),
    "split to sequence of a tensor": (
        """g (int64 n, float[4,3,5] p) => (float[N] r, float[N,4,5] q) {
      r, q = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float r, float[4,5] e) {
        on = Identity (go)
        pieces = SplitToSequence <axis = 1, keepdims = 0> (p)
        e = SequenceAt (pieces, i)
        two = Constant <value = int64 {2}> ()
        pairs = SplitToSequence <axis = 0> (p, two)
        zero = Constant <value = int64 {0}> ()
        last = Constant <value = int64 {-1}> ()
        a = SequenceAt (pairs, zero)
        b = SequenceAt (pairs, last)
        d = Sub (a, b)
        r = ReduceSum <keepdims = 0> (d)
      }>
    }""", {"p": (4, 3, 5)}, (1, 3)),
}  # fmt: skip
"""The text of a model, the shapes of its inputs, and trip counts."""


@pytest.mark.parametrize("case", CASES)
def test_sequences_in_a_loop(case, rng):
    text, shapes, trips = CASES[case]
    check(text, *(drawn(rng, shapes, n) for n in trips))


def test_an_empty_list_that_is_fed(rng: np.random.Generator):
    text = """g (int64 n, seq(float[3]) p, float[3] q) => (seq(float[3]) r, int64 c) {
      r = Loop (n, "", p) <body = f (int64 i, bool go, seq(float[3]) s)
        => (bool on, seq(float[3]) t) {
        on = Identity (go)
        t = SequenceInsert (s, q)
      }>
      c = SequenceLength (r)
    }"""
    lists = ([], [floats(rng, 3)], [])
    check(text, *({"n": np.array(2), "p": items, "q": floats(rng, 3)} for items in lists))


def test_rows_of_data_dependent_extent_are_native(rng: np.random.Generator):
    text = """g (float[?,?] x) => (float[?,?] r) {
      zero = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64[1] {1}> ()
      shape = Shape (x)
      rows = Slice (shape, zero, one)
      n = Squeeze (rows)
      s = SequenceEmpty ()
      t = Loop (n, "", s) <body = f (int64 i, bool go, v) => (bool on, w) {
        on = Identity (go)
        row = Gather (x, i)
        k = Softmax (row)
        w = SequenceInsert (v, k)
      }>
      r = ConcatFromSequence <axis = 0, new_axis = 1> (t)
    }"""
    check(text, *({"x": floats(rng, *shape)} for shape in ((5, 3), (1, 4), (2, 3))))
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, {"x": floats(rng, 5, 3)})
    assert "called outside" not in session.explain()


def test_a_position_out_of_range_is_the_interpreters_error(rng: np.random.Generator):
    text = """g (int64 n, seq(float[3]) p) => (float[M,3] e) {
      e = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float[3] e) {
        on = Identity (go)
        e = SequenceAt (p, i)
      }>
    }"""
    items = [floats(rng, 3) for _ in range(4)]
    check(text, {"n": np.array(4), "p": items})
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(treadle.errors.RunError, match="position 4"):
        session.run(None, {"n": np.array(5), "p": items})


def test_optionals_are_replaced_by_their_elements(rng: np.random.Generator):
    text = """g (int64 n, float[2] p) => (float[2] r) {
      r = Loop (n, "", p) <body = f (int64 i, bool go, float[2] x) => (bool on, float[2] y) {
        on = Identity (go)
        o = Optional (x)
        has = OptionalHasElement (o)
        y = If (has) <then_branch = a () => (float[2] u) { v = OptionalGetElement (o)
                                                           u = Neg (v) },
                      else_branch = b () => (float[2] w) { w = Identity (p) }>
      }>
    }"""
    check(text, {"n": np.array(3), "p": floats(rng, 2)})


@pytest.mark.parametrize("extents", [(3, 3), (3, 4)], ids=["alike", "held"])
def test_returned_sequences_own_their_memory(extents, rng):
    text = """g (int64 n, seq(float[?]) p) => (seq(float[?]) q, seq(float[?]) r) {
      q, r = Loop (n, , p, p) <body = f (int64 i, bool go, s, t) => (bool on, s1, t1) {
        on = Identity (go)
        zero = Constant <value = int64 {0}> ()
        s1 = Identity (s)
        e = SequenceAt (t, zero)
        t1 = SequenceInsert (t, e)
      }>
    }"""
    items = [floats(rng, extent) for extent in extents]
    before = [item.copy() for item in items]
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    results = session.run(None, {"n": np.array(2), "p": items})
    arrays = [item for result in results for item in result]
    wanted = [*before, *before, before[0], before[0]]
    for number, array in enumerate(arrays):
        assert np.array_equal(array, wanted[number])
        array[...] = np.nan
    assert all(map(np.array_equal, items, before))


TWO = """g (int64 n, float[K] p, float[K,2] pp) => (r, s) {
  e = SequenceEmpty ()
  r, s = Loop (n, , e, e) <body = f (int64 i, bool go, u, w) => (bool on, v, x) {
    on = Identity (go)
    v = SequenceInsert (u, p)
    x = SequenceInsert (w, pp)
  }>
}"""
COMPUTED = """g (int64 n, float[K] p) => (r, int64 l) {
  e = SequenceEmpty ()
  r = Loop (n, , e) <body = f (int64 i, bool go, u) => (bool on, v) {
    on = Identity (go)
    zero = Constant <value = float {0.0}> ()
    is_more = Greater (p, zero)
    z = Compress (p, is_more)
    v = SequenceInsert (u, z)
  }>
  l = SequenceLength (r)
}"""


def test_two_lists_that_begin_as_one_empty_one(rng: np.random.Generator):
    feeds = ((0, 3), (1, 3), (2, 3), (3, 4))
    check(
        TWO, *({"n": np.array(n), "p": floats(rng, k), "pp": floats(rng, k, 2)} for n, k in feeds)
    )


def test_elements_of_two_ranks_are_boxed(rng: np.random.Generator):
    text = TWO.replace("(w, pp)", "(v, pp)")
    check(text, *({"n": np.array(n), "p": floats(rng, 3), "pp": floats(rng, 3, 2)} for n in (1, 2)))


@pytest.mark.parametrize("made", ["Compress (p, is_more)", "Concat <axis = 0> (p, p)"])
def test_elements_whose_extent_is_computed(made, rng):
    text = COMPUTED.replace("Compress (p, is_more)", made)
    check(text, *({"n": np.array(2), "p": floats(rng, k)} for k in (2, 3, 4, 5, 6)))


SIZES = {1: (1,), 2: (2,), 3: (1, 1), 4: (2, 2)}


@pytest.mark.parametrize("number", SIZES)
@pytest.mark.parametrize("extent", [0, 1, 2, 4])
def test_equal_split_sizes_are_those_of_the_whole_axis(number, extent, rng):
    sizes = SIZES[number]
    text = f"""g (int64 n, float[A] x) => (int64[T] y) {{
      k = Constant <value = int64[{len(sizes)}] {{{", ".join(map(str, sizes))}}}> ()
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, int64 c) {{
        on = Identity (go)
        parts = SplitToSequence <axis = 0> (x, k)
        c = SequenceLength (parts)
      }}>
    }}"""
    feed = {"n": np.array(2), "x": floats(rng, extent)}
    if extent == sum(sizes):
        check(text, feed)
        return
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(RunError, match="does not sum"):
        session.run(None, feed)


@pytest.mark.parametrize("declared", ["[N]", "[M]", "[7]"])
def test_elements_that_are_multiplied_before_one_is_put_in(declared, rng):
    """Their extents are those of the symbols in what is carried beside; M and 7 are wrong."""
    element = f"seq(float{declared})"
    text = f"""g (int64 n, float[N] x0) => (float[N] x, {element} kept) {{
      yes = Constant <value = bool {{1}}> ()
      none = SequenceEmpty ()
      x, kept = Loop (n, yes, x0, none) <body = b (int64 i, bool c, float[N] x, {element} s)
        => (bool go, float[N] y, {element} t) {{
        go = Identity (c)
        length = SequenceLength (s)
        sum0 = Constant <value = float {{1}}> ()
        sum = Loop (length, yes, sum0) <body = inner (int64 j, bool c, float a)
          => (bool go, float b) {{
          go = Identity (c)
          e = SequenceAt (s, j)
          product = MatMul (e, x)
          b = Add (a, product)
        }}>
        half = Constant <value = float {{0.5}}> ()
        small = Mul (sum, half)
        bounded = Tanh (small)
        y = Mul (x, bounded)
        t = SequenceInsert (s, y)
      }}>
    }}"""
    feeds = [{"n": np.array(n), "x0": floats(rng, 5)} for n in (0, 1, 6)]
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    for feed in feeds:
        found, wanted = session.run(None, feed), interp.run(None, feed)
        np.testing.assert_allclose(found[0], wanted[0], 1e-5, 1e-6)
        assert len(found[1]) == len(wanted[1])
        for one, other in zip(found[1], wanted[1], strict=True):
            np.testing.assert_allclose(one, other, 1e-5, 1e-6)
    if declared == "[N]":
        check(text, *feeds)

"""Extents of the elements of ragged sequences that are known from types and declarations."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.lowering import test_boxed_values as boxed
from tests.jit.lowering.test_ragged_sequences import native
from tests.jit.native import HEAD, outcomes
from tests.seeded import floats
from treadle.errors import RunError
from treadle.jit.kernel.printer import show_kernel

SIZES = {
    "of the loop": "six = Constant <value_ints = [6]> () rest = Sub (six, first)"
                   " sizes = Concat <axis = 0> (first, rest)",
    "of the data": "sizes = Gather (e, i)",
}  # fmt: skip


@pytest.mark.parametrize("sizes", SIZES)
def test_the_rank_of_a_split_is_known_from_the_declared_type(sizes, rng):
    """The rank of a Split by dynamic sizes is known from the type of the list only."""
    text = f"""g (int64 n, float[6] x, int64[T,2] e) => (seq(float[D]) r, int64 c) {{
      none = SequenceEmpty <dtype = 1> ()
      r = Loop <body = b (int64 i, bool go, seq(float[D]) s) => (bool on, seq(float[D]) t) {{
        on = Identity (go)
        zero = Constant <value_ints = [0]> ()
        first = Unsqueeze (i, zero)
        {SIZES[sizes]}
        a, b = Split (x, sizes)
        t = SequenceInsert (s, a)
      }}> (n, "", none)
      c = SequenceLength (r)
    }}"""
    feed = {"x": floats(rng, 6), "e": np.array([[1, 5], [3, 3], [2, 4]])}
    native(text, *({**feed, "n": np.array(n)} for n in (1, 2, 3)), head=HEAD.replace("18", "21"))


def test_a_false_declaration_is_not_believed(rng):
    text = """g (int64 n, float[6] x, int64[T,2] e) => (seq(float[D,2]) r) {
      none = SequenceEmpty <dtype = 1> ()
      r = Loop <body = b (int64 i, bool go, seq(float[D,2]) s) => (bool on, seq(float[D,2]) t) {
        on = Identity (go)
        sizes = Gather (e, i)
        a, b = Split (x, sizes)
        t = SequenceInsert (s, a)
      }> (n, "", none)
    }"""
    feed = {"x": floats(rng, 6), "e": np.array([[1, 5], [3, 3], [2, 4]]), "n": np.array(3)}
    session = treadle.InferenceSession(HEAD.replace("18", "21") + text, engines=("jit", "interp"))
    (rows,) = session.run(None, feed)
    assert [row.tolist() for row in rows] == [feed["x"][:k].tolist() for k in (1, 3, 2)]


@pytest.mark.parametrize("made", ["fed", "carried"])
def test_uniform_sequences_keep_extents_beside_ragged_ones(made, rng):
    """What is read from them bounds a Slice, which wants to know how many numbers there are."""
    given = {"fed": ("", "", "", ""), "carried": (
        ", e0", ", seq(int64[1]) e", ", seq(int64[1]) e2", "e2 = SequenceInsert (e, next)"
    )}[made]  # fmt: skip
    begin, param, result, step = given
    source = "fed" if made == "fed" else "e2"
    text = f"""g (int64 n, float[8,6] x, seq(int64[1]) fed)
        => (float[T] z, seq(float[D,6]) l) {{
      none = SequenceEmpty <dtype = 1> ()
      e0 = SequenceEmpty <dtype = 7> ()
      l{", e1" if begin else ""}, z = Loop <body = b (int64 i, bool go, seq(float[D,6]) s{param})
          => (bool on, seq(float[D,6]) t{result}, float y) {{
        on = Identity (go)
        zero = Constant <value_ints = [0]> ()
        one = Constant <value_int = 1> ()
        last = Constant <value_int = -1> ()
        more = Add (i, one)
        next = Unsqueeze (more, zero)
        {step}
        k = SequenceAt ({source}, {"i" if made == "fed" else "last"})
        part = Slice (x, zero, k)
        y = ReduceSum <keepdims = 0> (part)
        row = Slice (x, zero, next)
        t = SequenceInsert (s, row)
      }}> (n, "", none{begin})
    }}"""
    feed = {"x": floats(rng, 8, 6), "fed": [np.array([k]) for k in (2, 4, 5)], "n": np.array(3)}
    native(text, feed, head=HEAD.replace("18", "21"))


def test_an_empty_list_whose_elements_are_known_by_type_only():
    """Its elements are guessed to be scalars, which cannot be joined."""
    session = treadle.InferenceSession(HEAD + boxed.BEAM, engines=("jit", "interp"))
    rows, counts = session.run(None, {"n": np.array(0), "p": []})
    assert rows == []
    assert counts.shape == (0,)
    with pytest.raises(RunError, match=r"loop_0\.body.*iteration 0"):
        session.run(None, {"n": np.array(2), "p": []})


def test_extents_of_elements_that_only_the_run_knows(rng):
    """An input whose extents have names gives the kernel of one whose extents are numbers."""
    text = """g (int64 n, float[%s] x) => (float[A,B] all) {
      none = SequenceEmpty <dtype = 1> ()
      l = Loop <body = b (int64 i, bool go, seq(float) s) => (bool on, seq(float) t) {
        on = Identity (go)
        zero = Constant <value_ints = [0]> ()
        one = Constant <value_ints = [1]> ()
        end = Add (i, one)
        part = Slice (x, zero, end, one)
        t = SequenceInsert (s, part)
      }> (n, "", none)
      all = ConcatFromSequence <axis = 1> (l)
    }"""
    rows, row = (floats(rng, n, 16) for n in (3, 1))
    native(text % "R,C", {"x": rows, "n": np.array(7)}, {"x": row, "n": np.array(5)})
    kernels = []
    for shape in ("R,C", "1,16"):
        session = treadle.InferenceSession(HEAD + text % shape, engines=("jit", "interp"))
        session.run(None, {"x": row, "n": np.array(5)})
        kernels += [show_kernel(made.kernel) for made in outcomes(session)]
    assert kernels[0] == kernels[1]

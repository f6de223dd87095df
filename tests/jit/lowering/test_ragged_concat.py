"""Ragged sequences concatenated along any axis, and tensors split into them."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.lowering.test_ragged_sequences import TRIPS, native
from tests.jit.native import HEAD
from tests.seeded import floats
from treadle.errors import RunError

JOINS = {
    (0, 0): "float[A,2]", (1, 0): "float[2,A]", (-1, 0): "float[2,A]", (0, 1): "float[A,2]",
    (1, 1): "float[A,2]", (2, 1): "float[A,2]",
}  # fmt: skip
"""The axis, whether it is a new one, and what is joined along it."""


@pytest.mark.parametrize(("axis", "new"), JOINS)
def test_joined_along_any_axis(axis, new, rng):
    word = JOINS[axis, new]
    text = f"""g (int64 n, seq({word}) p, {word} x) => ({word} r) {{
      r = Loop (n, "", x) <body = f (int64 i, bool go, {word} s) => (bool on, t) {{
        on = Identity (go)
        q = SequenceInsert (p, x)
        j = ConcatFromSequence <axis = {axis}, new_axis = {new}> (q)
        shape = Shape (s)
        c = ReduceSum <keepdims = 0> (j)
        t = Add (s, c)
      }}>
    }}"""
    shape = (2, 3) if word == "float[2,A]" else (3, 2)
    lengths = (3, 3) if new else (1, 0, 4)
    turned = shape == (2, 3)
    items = [floats(rng, 2, k) if turned else floats(rng, k, 2) for k in lengths]
    feeds = [{"n": np.array(n), "p": each, "x": floats(rng, *shape)} for n in (1, 5) for each in
             (items, items[:1])]  # fmt: skip
    native(text, *(feeds if new else feeds[::2]))


SPLITS = {
    "sizes from data, axis 0": ("axis = 0", "sizes", [2, 0, 3]),
    "sizes from data, axis 1": ("axis = 1", "sizes", [1, 3, 0, 2]),
    "sizes from data, the last axis": ("axis = -1", "sizes", [4]),
    "a length that does not divide": ("axis = 0", "size", 2),
    "a length that does not divide axis 1": ("axis = 1", "size", 4),
    "a length beyond the whole": ("axis = 2", "size", 9),
}


@pytest.mark.parametrize("name", SPLITS)
def test_split_into_pieces(name, rng):
    attributes, what, sizes = SPLITS[name]
    kind = "int64[S]" if what == "sizes" else "int64"
    text = f"""g (int64 n, float[5,6,4] x, {kind} sizes) => (float[T] y, int64[T,3] shapes, float[5,6,4] l) {{
      l, y, shapes = Loop (n, "", x) <body = f (int64 i, bool go, float[5,6,4] a)
          => (bool on, float[5,6,4] b, float y, int64[3] s) {{
        on = Identity (go)
        parts = SplitToSequence <{attributes}> (a, sizes)
        count = SequenceLength (parts)
        at = Mod (i, count)
        e = SequenceAt (parts, at)
        c = ReduceSum <keepdims = 0> (e)
        one = Constant <value = float {{0.01}}> ()
        y = Mul (c, one)
        s = Shape (e)
        whole = ConcatFromSequence <{attributes}> (parts)
        b = Add (whole, y)
      }}>
    }}"""  # noqa: E501
    feed = {"x": floats(rng, 5, 6, 4), "sizes": np.array(sizes)}
    native(text, *({**feed, "n": np.array(n)} for n in TRIPS))


@pytest.mark.parametrize(
    ("sizes", "why"), [([2, 2], "does not sum"), ([7, -2], "below zero"), (-2, "length -2")]
)
def test_sizes_that_do_not_fit_are_the_interpreters_error(sizes, why, rng):
    sizes = np.array(sizes)
    text = f"""g (int64 n, float[5] x, int64{"[S]" * sizes.ndim} sizes) => (int64[T] y) {{
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, int64 c) {{
        on = Identity (go)
        parts = SplitToSequence <axis = 0> (x, sizes)
        c = SequenceLength (parts)
      }}>
    }}"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(RunError, match=rf"loop_0\.body.*iteration 0.*SplitToSequence.*{why}"):
        session.run(None, {"n": np.array(2), "x": floats(rng, 5), "sizes": sizes})

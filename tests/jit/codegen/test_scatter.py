"""Scatter in loops: in place where nothing else reads the tensor, and only there."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from tests.jit.native import HEAD, check, check_uncalled
from tests.seeded import seeded
from treadle.errors import RunError

SIZES = (3, 40)

PLACE = """
    zero = Constant <value = int64[1] {0}> ()
    length = Constant <value = int64 {SIZE}> ()
    three = Constant <value = int64 {3}> ()
    far = Mul (i, three)
    one = Mod (far, length)
    j = Unsqueeze (one, zero)
    jj = Unsqueeze (j, zero)
    row = Gather (x, j)
"""
BODIES = {
    "one row": ("new = Neg (row)\nx1 = ScatterND (x, jj, new)\nw = Identity (new)", "1,4"),
    "two puts": (
        "new = Neg (row)\ny = ScatterND (x, jj, new)\n"
        "x1 = ScatterND <reduction = \"add\"> (y, jj, row)\nw = Identity (new)", "1,4",
    ),
    "the old value is stacked": (
        "new = Neg (row)\nx1 = ScatterND (x, jj, new)\nw = Identity (x)", "SIZE,4",
    ),
    "the old value is read afterwards": (
        "new = Neg (row)\nx1 = ScatterND (x, jj, new)\nw = Sub (x1, x)", "SIZE,4",
    ),
    "the updates are a view of the old value": (
        "s = Constant <value = int64[1] {-1}> ()\ne = Constant <value = int64[1] {-99}> ()\n"
        "turned = Slice (x, s, e, zero, s)\n"
        "every = Constant <value = int64[SIZE,1] {EVERY}> ()\n"
        "x1 = ScatterND (x, every, turned)\nw = Identity (row)", "1,4",
    ),
    "the value between is stacked": (
        "new = Neg (row)\ny = ScatterND (x, jj, new)\n"
        "x1 = ScatterND <reduction = \"mul\"> (y, jj, row)\nw = Identity (y)", "SIZE,4",
    ),
    "the next value is turned around": (
        "new = Neg (row)\ny = ScatterND (x, jj, new)\n"
        "s = Constant <value = int64[1] {-1}> ()\ne = Constant <value = int64[1] {-99}> ()\n"
        "x1 = Slice (y, s, e, zero, s)\nw = Identity (row)", "1,4",
    ),
    "elements along an axis": (
        "new = Neg (row)\nfour = Constant <value = int64[2] {1, 4}> ()\nk = Expand (jj, four)\n"
        "x1 = ScatterElements (x, k, new)\nw = Identity (new)", "1,4",
    ),
}  # fmt: skip


def looped(body: str, size: int) -> str:
    lines, shape = BODIES[body]
    every = ", ".join(map(str, range(size)))
    text = f"""g (int64 n, float[{size},4] p) => (float[{size},4] a, float[T,{shape}] s) {{
      a, s = Loop (n, , p) <body = f (int64 i, bool go, float[{size},4] x)
        => (bool on, float[{size},4] x1, float[{shape}] w) {{
        on = Identity (go)
        {PLACE}
        {lines}
      }}>
    }}"""
    return text.replace("SIZE", str(size)).replace("EVERY", every)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("body", BODIES)
def test_scatter_updates_a_state_in_place(body, size, rng):
    p = rng.uniform(-1, 1, (size, 4)).astype(np.float32)
    before = p.copy()
    check(looped(body, size), {"n": np.array(5), "p": p})
    assert np.array_equal(p, before)


def test_scatter_into_swapped_states(rng: np.random.Generator):
    text = """g (int64 n, float[20,2] p, float[20,2] q) => (float[20,2] a, float[20,2] b) {
      a, b = Loop (n, , p, q) <body = f (int64 i, bool go, float[20,2] x, float[20,2] y)
        => (bool on, float[20,2] x1, float[20,2] y1) {
        on = Identity (go)
        zero = Constant <value = int64[2] {0, 1}> ()
        j = Unsqueeze (i, zero)
        row = Constant <value = float[1,2] {5.0, 6.0}> ()
        x1 = ScatterND (x, j, row)
        y1 = Identity (x1)
      }>
    }"""
    feed = {name: rng.uniform(-1, 1, (20, 2)).astype(np.float32) for name in "pq"}
    check(text, {"n": np.array(3), **feed})


def test_an_index_out_of_range_says_where():
    text = """g (int64 n, float[20,2] p) => (float[20,2] a) {
      a = Loop (n, , p) <body = f (int64 i, bool go, float[20,2] x) => (bool on, float[20,2] x1) {
        on = Identity (go)
        nine = Constant <value = int64 {9}> ()
        far = Mul (i, nine)
        zero = Constant <value = int64[2] {0, 1}> ()
        j = Unsqueeze (far, zero)
        row = Constant <value = float[1,2] {5.0, 6.0}> ()
        x1 = ScatterND (x, j, row)
      }>
    }"""
    p = np.zeros((20, 2), np.float32)
    check(text, {"n": np.array(3), "p": p})
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(RunError, match=r"main/loop_0\.body.*\n?.*27") as caught:
        session.run(None, {"n": np.array(4), "p": p})
    assert "3" in str(caught.value)
    assert not p.any()


def test_scatter_of_one_row_costs_one_row():
    """A state of 8 MB, a row of 1 KB each step: copying it would take a millisecond each."""
    text = """g (int64 n, float[8192,256] p) => (float[8192,256] a) {
      a = Loop (n, , p) <body = f (int64 i, bool go, float[8192,256] x)
        => (bool on, float[8192,256] x1) {
        on = Identity (go)
        zero = Constant <value = int64[2] {0, 1}> ()
        j = Unsqueeze (i, zero)
        flat = Constant <value = int64[1] {-1}> ()
        k = Reshape (i, flat)
        row = Gather (x, k)
        new = Neg (row)
        x1 = ScatterND (x, j, new)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    p = np.ones((8192, 256), np.float32)
    session.run(None, {"n": np.array(1), "p": p})
    started = time.perf_counter()
    (found,) = session.run(None, {"n": np.array(8192), "p": p})
    assert time.perf_counter() - started < 1
    assert (found == -1).all()


@settings(max_examples=20)
@given(st.data())
def test_scatter_with_reductions_agrees_with_numpy(data):
    rng = seeded((data,))
    from tests.jit.leaves import leaf, natively
    from treadle import ops

    rank = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=rank, max_size=rank)))
    kind = data.draw(st.sampled_from(["none", "add", "mul", "max", "min"]))
    dtype = data.draw(st.sampled_from([np.float32, np.int64, np.float16, np.uint8]))
    x = rng.integers(0, 9, shape).astype(dtype)
    if data.draw(st.booleans()):
        axis = data.draw(st.integers(-rank, rank - 1))
        taken = [data.draw(st.integers(0, e)) for e in shape]
        extent = shape[axis]
        indices = rng.integers(-extent, extent, taken)
        step = leaf("ScatterElements", 18, 3, 1, axis=axis, reduction=kind)
    else:
        count = data.draw(st.integers(1, rank))
        around = (data.draw(st.integers(0, 4)), data.draw(st.integers(1, 3)))
        columns = [rng.integers(-shape[k], shape[k], around) for k in range(count)]
        indices, taken = np.stack(columns, -1), [*around, *shape[count:]]
        step = leaf("ScatterND", 18, 3, 1, reduction=kind)
    updates = rng.integers(0, 9, taken).astype(dtype)
    given = (x, indices.astype(np.int64), updates)
    found, is_native = natively(step, given)
    assert is_native
    assert np.array_equal(found[0], ops.bind_kernel(step)(given)[0])


def test_old_elements_are_read_before_a_later_one_is_written(rng: np.random.Generator) -> None:
    """Insertion sort: the condition reads the array of before the shift, behind it in the text."""
    text = """g (int64 n, int64[T] x) => (int64[T] z) {
      zero = Constant <value = int64[1] {0}> ()
      none = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      yes = Constant <value = bool {1}> ()
      z = Loop (n, yes, x) <body = f (int64 t, bool go, int64[T] a) => (bool on, int64[T] a2) {
        on = Identity (go)
        i = Add (t, one)
        key = Gather (a, i)
        before = Gather (a, t)
        first = Greater (before, key)
        j, a1 = Loop (, first, t, a) <body = g (int64 u, bool go1, int64 k, int64[T] b) =>
          (bool more, int64 k1, int64[T] b1) {
          v = Gather (b, k)
          up = Add (k, one)
          where = Unsqueeze (up, zero)
          what = Unsqueeze (v, zero)
          b1 = ScatterElements (b, where, what)
          k1 = Sub (k, one)
          some = GreaterOrEqual (k1, none)
          at = Max (k1, none)
          w = Gather (b, at)
          above = Greater (w, key)
          more = And (some, above)
        }>
        end = Add (j, one)
        place = Unsqueeze (end, zero)
        number = Unsqueeze (key, zero)
        a2 = ScatterElements (a1, place, number)
      }>
    }"""
    x = rng.integers(0, 50, 60)
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    (found,) = session.run(None, {"n": np.array(59), "x": x})
    assert np.array_equal(found, np.sort(x))
    assert " 0 copied" in session.explain()


@pytest.mark.parametrize("width", [1, 2, 9, 16])
@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_a_few_elements_of_a_row_that_is_joined(width: int, reduction: str, rng) -> None:
    """The row is in memory, the changed one in registers."""
    text = f"""g (int64[N] at, float[N, {width}] x, float[{width}] first) => (float[W] last) {{
      n = Size (at)
      last = Loop (n, "", first) <body = f (int64 i, bool go, float[{width}] s)
        => (bool on, float[{width}] t) {{
        on = Identity (go)
        zero = Constant <value = int64[1] {{0}}> ()
        end = Constant <value = int64[1] {{999}}> ()
        place = Gather (at, i)
        cut = Unsqueeze (place, zero)
        item = Gather <axis = 0> (x, i)
        below = Slice (s, zero, cut)
        above = Slice (s, cut, end)
        turned = Concat <axis = 0> (above, below)
        one = Constant <value = int64[1] {{1}}> ()
        row = Slice (item, zero, one)
        t = ScatterElements <reduction = "{reduction}"> (turned, cut, row)
      }}>
    }}"""
    x = rng.integers(-3, 4, (5, width)).astype(np.float32)
    check_uncalled(text, {"at": rng.integers(0, width, 5), "x": x, "first": x[0]})

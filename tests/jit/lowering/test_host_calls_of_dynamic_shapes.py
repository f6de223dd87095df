"""Host calls whose operands or results have dynamic shapes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from tests.jit.fences import fenced
from tests.jit.native import HEAD, check, escapes


@pytest.fixture(autouse=True)
def fences():
    with fenced():
        yield


def kept(text, *feeds, called=True):
    """As check; some operators of the loop are called, or none where all are native."""
    check(text, *feeds)
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, dict(feeds[-1]))
    assert bool(escapes(session)) is called


def test_distinct_elements_and_how_often_each_comes(rng: np.random.Generator):
    text = """g (float[T,6] x) => (int64[T] c, float[T,1] most, float s) {
      s0 = Constant <value = float {0.0}> ()
      s, c, most = Scan <num_scan_inputs = 1, body = b (float s, float[6] a)
        => (float s1, int64 c, float[1] most) {
        u, f, i, n = Unique (a)
        c = Size (u)
        zero = Constant <value = int64 {0}> ()
        at = ArgMax <keepdims = 1> (n)
        most = Gather (u, at)
        back = Gather (u, i)
        d = Sub (back, a)
        e = Gather (a, f)
        t = ReduceSum <keepdims = 0> (d)
        v = ReduceSum <keepdims = 0> (e)
        w = Add (s, t)
        s1 = Add (w, v)
      }> (s0, x)
    }"""
    tables = [rng.integers(0, 4, (n, 6)).astype(np.float32) for n in (1, 2, 5, 30)]
    kept(text, *({"x": x} for x in tables))


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_a_result_is_carried_and_the_old_value_too(n, rng):
    text = """g (int64 n, int64[A] x, int64[B] y) => (int64[C] p, int64[D] q, int64[T] sizes) {
      p, q, sizes = Loop (n, "", x, y) <body = f (int64 i, bool go, int64[A] a, int64[B] b)
        => (bool on, int64[B] c, int64[D] d, int64 size) {
        on = Identity (go)
        both = Concat <axis = 0> (a, b)
        one = Constant <value = int64 {1}> ()
        k = Add (i, one)
        m = Constant <value = int64 {17}> ()
        mixed = Mul (both, k)
        rest = Mod (mixed, m)
        d = Unique (rest)
        c = Identity (b)
        size = Size (d)
      }>
    }"""
    values = [rng.integers(0, 9, k).astype(np.int64) for k in (3, 5)]
    kept(text, {"n": np.array(n), "x": values[0], "y": values[1]})


def test_inside_inner_loops_and_branches(rng: np.random.Generator):
    text = """g (int64 n, float[A] x) => (float[B] r, float[T] s) {
      r, s = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a)
        => (bool on, float[B] c, float t) {
        on = Identity (go)
        two = Constant <value = int64 {2}> ()
        odd = Mod (i, two)
        is_odd = Cast <to = 9> (odd)
        b = Loop (i, "", a) <body = h (int64 j, bool g2, float[A] d) => (bool o2, float[B] e) {
          o2 = Identity (g2)
          half = Constant <value = float {0.5}> ()
          w = Mul (d, half)
          v = Floor (w)
          e = Unique (v)
        }>
        c = If (is_odd) <then_branch = y () => (float[P] u) { u = Unique (b) },
                         else_branch = z () => (float[Q] v) { v = Concat <axis = 0> (b, x) }>
        t = ReduceSum <keepdims = 0> (c)
      }>
    }"""
    x = rng.integers(0, 50, 12).astype(np.float32)
    kept(text, *({"n": np.array(n), "x": x} for n in (1, 2, 5)))


def test_boxes_that_do_not_overlap(rng: np.random.Generator):
    text = """g (int64 n, float[1,30,4] boxes, float[1,1,30] scores) => (int64[T] c, int64[T] s) {
      c, s = Loop (n, "") <body = f (int64 i, bool go) => (bool on, int64 c, int64 s) {
        on = Identity (go)
        few = Constant <value = int64 {5}> ()
        zero = Constant <value = int64[1] {0}> ()
        more = Add (i, few)
        most = Unsqueeze (more, zero)
        tenth = Constant <value = float {0.1}> ()
        k = Cast <to = 1> (i)
        part = Mul (k, tenth)
        over = Unsqueeze (part, zero)
        kept = NonMaxSuppression (boxes, scores, most, over)
        shape = Shape (kept)
        first = Gather (shape, zero)
        c = Squeeze (first)
        s = ReduceSum <keepdims = 0> (kept)
      }>
    }"""
    low = rng.uniform(0, 1, (1, 30, 2))
    boxes = np.concatenate([low, low + rng.uniform(0.1, 0.5, (1, 30, 2))], -1)
    scores = rng.uniform(0, 1, (1, 1, 30))
    kept(text, {"n": np.array(8), "boxes": boxes.astype(np.float32),
                "scores": scores.astype(np.float32)})  # fmt: skip


OPENED = {
    "LRN": ("float[1,4,A,5]", "y = LRN <size = 3> (w)", (1, 4, 6, 5)),
    "MaxPool": ("float[1,2,A,5]", "y, at = MaxPool <kernel_shape = [2, 2]> (w)", (1, 2, 7, 5)),
    "GridSample": ("float[A,1,4,4]", "y = GridSample (w, grid)", (3, 1, 4, 4)),
    "Det": ("float[A,3,3]", "y = Det (w)", (5, 3, 3)),
    "Unique": ("float[A,3]", "y = Unique <axis = 0> (w)", (5, 3)),
    "DequantizeLinear": (
        "float[A,3]",
        "half = Constant <value = float {0.5}> () q = Cast <to = 3> (w)"
        " y = DequantizeLinear (q, half)",
        (5, 3),
    ),
}


NATIVE = ["DequantizeLinear"]


@pytest.mark.parametrize("op", OPENED)
def test_operands_whose_extents_the_run_tells(op, rng):
    word, call, shape = OPENED[op]
    axis = word.strip("float[]").split(",").index("A")
    text = f"""g (int64 n, {word} x, bool[A] mask, float[A,2,2,2] all_grid) => (float[T] s) {{
      s = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float s) {{
        on = Identity (go)
        limit = NonZero (mask)
        one = Constant <value = int64 {{1}}> ()
        k = Add (i, one)
        ks = Unsqueeze (k, zeros)
        w = Slice (x, zeros, ks, along)
        grid = Slice (all_grid, zeros, ks, zeros)
        {call}
        s = ReduceSum <keepdims = 0> (y)
      }}>
    }}""".replace("limit =", f"zeros = Constant <value = int64[1] {{0}}> ()"
                  f" along = Constant <value = int64[1] {{{axis}}}> () limit =")  # fmt: skip
    count = shape[axis]
    feed = {"x": rng.uniform(-3, 3, shape).astype(np.float32), "mask": np.ones(count, bool),
            "all_grid": rng.uniform(-1, 1, (count, 2, 2, 2)).astype(np.float32)}  # fmt: skip
    least = 2 if op == "MaxPool" else 1
    if op == "MaxPool":
        text = text.replace("value = int64 {1}", "value = int64 {2}")
    feeds = ({**feed, "n": np.array(n)} for n in (1, 2, count + 1 - least))
    kept(text, *feeds, called=op not in NATIVE)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.integers(1, 6), st.integers(0, 1))
@settings(max_examples=25, deadline=None)
def test_any_length(elements, n, is_sorted):
    text = f"""g (int64 n, int64[A] x) => (int64[B] r, int64[T] c) {{
      r, c = Loop (n, "", x) <body = f (int64 i, bool go, int64[A] a)
        => (bool on, int64[B] b, int64 c) {{
        on = Identity (go)
        u, at, back, often = Unique <sorted = {is_sorted}> (a)
        grown = Concat <axis = 0> (u, often, back)
        b = Sub (grown, i)
        c = ReduceMax <keepdims = 0> (at)
      }}>
    }}"""
    check(text, {"n": np.array(n), "x": np.array(elements, np.int64)})


def test_memory_does_not_grow_with_iterations():
    text = """g (int64 n, int64[A] x) => (int64[B] r) {
      r = Loop (n, "", x) <body = f (int64 i, bool go, int64[A] a) => (bool on, int64[B] b) {
        on = Identity (go)
        m = Constant <value = int64 {1000}> ()
        both = Concat <axis = 0> (a, x)
        more = Add (both, i)
        rest = Mod (more, m)
        b = Unique (rest)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"x": np.arange(500)}
    session.run(None, {**feed, "n": np.array(100)})
    assert escapes(session) == ["Unique"]
    tracemalloc.start()
    try:
        session.run(None, {**feed, "n": np.array(500)})
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 200_000
    assert most < 1_000_000

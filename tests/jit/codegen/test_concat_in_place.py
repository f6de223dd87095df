"""Operands of a Concat are computed in place where possible."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import run_kernel
from tests.jit.native import check
from treadle.jit.codegen.ops import concat_in_place

BODIES = {
    "between borders": """
        m = Mul (inner, half)
        rows = Concat <axis = 0> (top, m, top)
        s = Concat <axis = 1> (side, rows, side)""",
    "twice in one": """
        m = Mul (inner, half)
        rows = Concat <axis = 0> (top, m, top)
        part = Slice (rows, zero, one, ax1)
        s = Concat <axis = 1> (part, rows, part)""",
    "the same twice": """
        m = Mul (inner, half)
        n = Slice (m, zero, three, ax0)
        k = Add (n, n)
        two = Concat <axis = 0> (k, k, top, top)
        s = Concat <axis = 1> (side, two, side)""",
    "read elsewhere": """
        m = Mul (inner, half)
        big = ReduceMax <keepdims = 1> (m)
        rows = Concat <axis = 0> (top, m, top)
        long = Concat <axis = 1> (side, rows, side)
        s = Sub (long, big)""",
    "of the same nest": """
        m = Mul (inner, half)
        n = Exp (m)
        o = Sub (m, n)
        rows = Concat <axis = 0> (top, o, top)
        s = Concat <axis = 1> (side, rows, side)""",
}


@pytest.mark.parametrize("name", BODIES)
def test_operands_are_written_into_the_concat(name, rng):
    text = f"""g (int64 n, float[8,34] x, float[1,32] top, float[8,1] side) => (float[8,34] y,
      float[N,8,34] all) {{
      half = Constant <value = float {{0.5}}> ()
      zero = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      three = Constant <value = int64[1] {{3}}> ()
      ax0 = Constant <value = int64[1] {{0}}> ()
      ax1 = Constant <value = int64[1] {{1}}> ()
      both = Constant <value = int64[2] {{0, 1}}> ()
      from = Constant <value = int64[2] {{1, 1}}> ()
      to = Constant <value = int64[2] {{7, 33}}> ()
      y, all = Loop (n, , x) <body = f (int64 i, bool go, float[8,34] a) => (bool on,
        float[8,34] b, float[8,34] c) {{
        on = Identity (go)
        inner = Slice (a, from, to, both)
        {BODIES[name]}
        b = Add (a, s)
        c = Identity (s)
      }}>
    }}"""
    feed = {"n": np.array(4), "x": rng.uniform(-1, 1, (8, 34)).astype(np.float32),
            "top": np.ones((1, 32), np.float32), "side": np.zeros((8, 1), np.float32)}  # fmt: skip
    check(text, feed)


def test_the_next_carried_value_is_a_concat(rng: np.random.Generator):
    text = """g (int64 n, float[40] x) => (float[40] y) {
      y = Loop (n, , x) <body = f (int64 i, bool go, float[40] a) => (bool on, float[40] b) {
        on = Identity (go)
        ax = Constant <value = int64[1] {0}> ()
        st = Constant <value = int64[1] {20}> ()
        en = Constant <value = int64[1] {40}> ()
        low = Slice (a, ax, st, ax)
        high = Slice (a, st, en, ax)
        p = Sub (low, high)
        q = Tanh (high)
        b = Concat <axis = 0> (q, p)
      }>
    }"""
    check(text, {"n": np.array(5), "x": rng.uniform(-1, 1, 40).astype(np.float32)})


REPEATED = {
    "written into": """
        rows = Concat <axis = 0> (top, m, top)
        b = ScatterND (rows, place, m0)""",
    "written into through another": """
        rows = Concat <axis = 0> (top, m)
        more = Concat <axis = 0> (rows, top)
        b = ScatterND (more, place, m0)""",
    "in an inner loop": """
        rim = Mul (top, a0)
        b = Loop (two, , a) <body = g (int64 k, bool go2, float[4,32] c) => (bool on2,
          float[4,32] d) {
          on2 = Identity (go2)
          inside = Slice (c, from, to, ax0)
          e = Sub (inside, half)
          d = Concat <axis = 0> (rim, e, top)
        }>""",
    "of what an inner loop carries on": """
        b = Loop (two, , a) <body = g (int64 k, bool go2, float[4,32] c) => (bool on2,
          float[4,32] d) {
          on2 = Identity (go2)
          inside = Slice (c, from, to, ax0)
          first = Slice (a, zero, from, ax0)
          d = Concat <axis = 0> (first, inside, top)
        }>""",
    "on one side of a branch": """
        odd = Mod (i, two)
        is_odd = Cast <to = 9> (odd)
        b = If (is_odd) <then_branch = t () => (float[4,32] p) {
            p = Concat <axis = 0> (top, m, top)
          }, else_branch = o () => (float[4,32] q) { q = Add (a, half) }>""",
}


@pytest.mark.parametrize("name", REPEATED)
def test_operands_that_are_the_same_in_every_iteration(name, rng):
    text = f"""g (int64 n, float[4,32] x, float[1,32] top, int64[1,1] places) => (float[4,32] y,
      float[N,4,32] all) {{
      half = Constant <value = float {{0.5}}> ()
      two = Constant <value = int64 {{2}}> ()
      zero = Constant <value = int64[1] {{0}}> ()
      from = Constant <value = int64[1] {{1}}> ()
      to = Constant <value = int64[1] {{3}}> ()
      ax0 = Constant <value = int64[1] {{0}}> ()
      y, all = Loop (n, , x) <body = f (int64 i, bool go, float[4,32] a) => (bool on,
        float[4,32] b, float[4,32] s) {{
        on = Identity (go)
        inner = Slice (a, from, to, ax0)
        a0 = Slice (a, from, two_, ax0)
        m = Mul (inner, half)
        m0 = Neg (a0)
        place = Add (places, i)
        {REPEATED[name]}
        s = Identity (b)
      }}>
    }}""".replace("ax0 = Con", "two_ = Constant <value = int64[1] {2}> ()\n ax0 = Con", 1)
    feed = {
        "x": rng.standard_normal((4, 32)).astype(np.float32),
        "top": rng.standard_normal((1, 32)).astype(np.float32),
        "places": np.array([[-1]]),
    }
    check(text, *({**feed, "n": np.array(n)} for n in (0, 1, 2, 4)))


@pytest.fixture
def interleavings(monkeypatch):
    """Whether each Concat in memory was written in one pass."""
    found = []
    write = concat_in_place.interleaved_into

    def written(context, join, buffer):
        found.append(write(context, join, buffer))
        return found[-1]

    monkeypatch.setattr(concat_in_place, "interleaved_into", written)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize(
    ("rows", "columns", "is_interleaved"),
    [((40,), (1, 1), True), ((5, 33), (2, 1), True), ((3, 20), (1, 1, 4, 2), True),
     ((40,), (5, 4), False)],
)  # fmt: skip
def test_short_rows_are_written_at_once(dtype, rows, columns, is_interleaved, interleavings, rng):
    shapes = [(*rows, extent) for extent in columns]
    texts = [",".join(map(str, shape)) for shape in shapes]
    whole = ",".join(map(str, (*rows, sum(columns))))
    given = "\n      ".join(f"%x{k}: {dtype}[{t}] = input {k}" for k, t in enumerate(texts))
    backwards = [f"(-1*i0+{shape[0] - 1}" for shape in shapes]
    views = "\n      ".join(
        f"%v{k}: {dtype}[{t}] = view {start}{''.join(f', i{a}' for a in range(1, len(shape)))})"
        f" of %x{k}"
        for k, (t, start, shape) in enumerate(zip(texts, backwards, shapes, strict=True))
    )
    names = ", ".join(f"%v{k}" for k in range(len(columns)))
    text = f"""
    kernel
      {given}
      {views}
      %r: {dtype}[{whole}] = concat along {len(rows)} {names}
      return %r
    """
    arrays = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
    (found,) = run_kernel(text, *arrays)
    np.testing.assert_array_equal(found, np.concatenate([a[::-1] for a in arrays], -1))
    assert interleavings == [is_interleaved]


def test_halves_that_alternate_in_a_loop(interleavings, rng):
    """A step of a Fourier transform: rows of two are written at once, in every iteration."""
    text = """g (int64 n, float[64] x, float[32] w) => (float[64] y) {
      last = Constant <value = int64[1] {1}> ()
      flat = Constant <value = int64[1] {-1}> ()
      y = Loop (n, , x) <body = f (int64 i, bool go, float[64] a) => (bool on, float[64] b) {
        on = Identity (go)
        low, high = Split <axis = 0, num_outputs = 2> (a)
        sum = Add (low, high)
        gap = Sub (low, high)
        turned = Mul (gap, w)
        even = Unsqueeze (sum, last)
        odd = Unsqueeze (turned, last)
        pairs = Concat <axis = 1> (even, odd)
        b = Reshape (pairs, flat)
      }>
    }"""
    x, w = rng.standard_normal(64, np.float32), rng.standard_normal(32, np.float32)
    check(text, *({"n": np.array(n), "x": x, "w": w} for n in (0, 1, 2, 5)))
    assert interleavings[0]


@pytest.mark.parametrize("kept", ["s", "Sin (v)"])
def test_an_operand_written_once_beside_iterations_that_run_together(kept, rng):
    """A recurrence that may run as a parallel prefix, and a map that may run in vectors."""
    value = f"kept = {kept}" if kept != "s" else "kept = Identity (s)"
    text = f"""g (float[N] x, float[24] k, float m0) => (float m, float[N,25] y) {{
      half = Constant <value = float {{0.5}}> ()
      axis = Constant <value = int64[1] {{0}}> ()
      m, y = Scan <num_scan_inputs = 1, body = b (float s, float v) => (float s1, float[25] r) {{
        part = Mul (s, half)
        s1 = Add (part, v)
        {value}
        last = Unsqueeze (kept, axis)
        r = Concat <axis = 0> (k, last)
      }}> (m0, x)
    }}"""
    k, m0 = rng.random(24, np.float32), np.float32(0.25)
    check(text, *({"x": rng.random(n, np.float32), "k": k, "m0": m0} for n in (0, 1, 2, 5, 200)))


HALVES = """g (float[n] x, float[m] y, float z, int64 cut) => (float[k] all, float last) {
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  end = Constant <value = int64[1] {4611686018427387904}> ()
  at = Reshape (cut, one)
  head = Slice (x, zero, at, zero, one)
  tail = Slice (x, at, end, zero, one)
  s, p = Scan (z, head) <num_scan_inputs = 1, body = f (float a, float i) => (float b, float c) {
    b = Sub (i, a)
    c = Identity (b)
  }>
  last, q = Scan (s, tail) <num_scan_inputs = 1, scan_output_directions = [DIRECTION],
    body = g (float a, float i) => (float b, float c) {
    b = Sub (a, i)
    c = Add (b, i)
  }>
  both = Concat <axis = 0> (p, q, y)
  all = END (both)
}"""


@pytest.mark.parametrize("direction", ["0", "1"])
@pytest.mark.parametrize("end", ["Identity", "Neg"])
def test_stacked_outputs_are_written_into_the_concat(direction, end, rng):
    text = HALVES.replace("DIRECTION", direction).replace("END", end)
    for rows in (9, 0, 70):
        x, y = (rng.integers(-9, 9, size).astype(np.float32) for size in (rows, 5))
        for cut in (0, 1, 3, 9, 100, -1):
            check(text, {"x": x, "y": y, "z": np.float32(1), "cut": np.array(cut)})


def test_stacked_outputs_in_the_iterations_of_a_loop(rng):
    text = """g (int64 n, int64 k, float[6] x) => (float[T, A] all) {
      all = Loop (n, "") <body = f (int64 t, bool go) => (bool on, float[A] rows) {
        on = Identity (go)
        one = Constant <value = float {1}> ()
        p = Loop (k, "") <body = g (int64 i, bool more) => (bool again, float e) {
          again = Identity (more)
          j = Cast <to = 1> (i)
          e = Add (j, one)
        }>
        q = Loop (t, "") <body = h (int64 i, bool more) => (bool again, float e) {
          again = Identity (more)
          j = Cast <to = 1> (i)
          e = Exp (j)
        }>
        long = Concat <axis = 0> (p, q, x)
        s = ReduceSum <keepdims = 0> (long)
        shape = Constant <value = int64[1] {3}> ()
        rows = Expand (s, shape)
      }>
    }"""
    for n, k in ((0, 3), (1, 0), (4, 5), (4, 80)):
        feed = {"n": np.array(n), "k": np.array(k), "x": rng.uniform(-1, 1, 6).astype(np.float32)}
        check(text, feed)

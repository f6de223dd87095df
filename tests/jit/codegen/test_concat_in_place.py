"""Operands of a Concat are computed in place where possible."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import check

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

"""In-place updates of carried arrays through branches and inner loops."""

from __future__ import annotations

import time

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, outcomes

SIZES = (3, 40)
HEADS = """
    on = Identity (go)
    zero = Constant <value = int64[1] {0}> ()
    two = Constant <value = int64 {2}> ()
    three = Constant <value = int64 {3}> ()
    part = Mod (i, three)
    j = Unsqueeze (part, zero)
    jj = Unsqueeze (j, zero)
    row = Gather (x, j)
    new = Neg (row)
    isodd = Mod (i, two)
    odd = Cast <to = 9> (isodd)
"""
BODIES = {
    "one side puts": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) { a = ScatterND (x, jj, new) },
                       else_branch = u () => (float[SIZE,4] b) { b = Identity (x) }>
        w = Identity (row)""",
    "both sides put": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) { a = ScatterND (x, jj, new) },
                       else_branch = u () => (float[SIZE,4] b) {
                         b = ScatterND <reduction = "add"> (x, jj, new) }>
        w = Identity (row)""",
    "a put before and one behind": """
        y = ScatterND (x, jj, new)
        z = If (odd) <then_branch = t () => (float[SIZE,4] a) { a = ScatterND (y, jj, row) },
                      else_branch = u () => (float[SIZE,4] b) { b = Identity (y) }>
        x1 = ScatterND <reduction = "mul"> (z, jj, new)
        w = Gather (z, j)""",
    "a side reads the old value behind the put": """
        x1, w = If (odd) <then_branch = t () => (float[SIZE,4] a, float[1,4] c) {
                            a = ScatterND (x, jj, new)
                            k = ReduceMax <keepdims = 1> (x)
                            c = Add (k, row) },
                          else_branch = u () => (float[SIZE,4] b, float[1,4] d) {
                            b = Identity (x)
                            d = Identity (row) }>""",
    "the branch gives the old value too": """
        x1, old = If (odd) <then_branch = t () => (float[SIZE,4] a, float[SIZE,4] c) {
                              a = ScatterND (x, jj, new)
                              c = Identity (x) },
                            else_branch = u () => (float[SIZE,4] b, float[SIZE,4] d) {
                              b = Identity (x)
                              d = Identity (x) }>
        m = Constant <value = int64[1] {0}> ()
        w = ReduceSum (old, m)""",
    "the old value is read behind the branch": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) { a = ScatterND (x, jj, new) },
                       else_branch = u () => (float[SIZE,4] b) { b = Identity (x) }>
        w = Gather (x, j)""",
    "a later branch reads the old value": """
        early = If (odd) <then_branch = t () => (float[1,4] a) { a = Sin (row) },
                          else_branch = u () => (float[1,4] b) { b = Cos (row) }>
        x1 = ScatterND (x, jj, early)
        w = If (odd) <then_branch = t () => (float[1,4] a) { a = ReduceMax (x, zero) },
                      else_branch = u () => (float[1,4] b) { b = ReduceMin (x, zero) }>""",
    "a view of the old value leaves the branch": """
        x1, turned = If (odd) <then_branch = t () => (float[SIZE,4] a, float[4,SIZE] c) {
                              a = ScatterND (x, jj, new)
                              c = Transpose (x) },
                            else_branch = u () => (float[SIZE,4] b, float[4,SIZE] d) {
                              b = Identity (x)
                              d = Transpose (x) }>
        m = Constant <value = int64[1] {1}> ()
        sums = ReduceSum <keepdims = 0> (turned, m)
        w = Unsqueeze (sums, zero)""",
    "one side computes every element": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) { a = Sub (x, row) },
                       else_branch = u () => (float[SIZE,4] b) { b = Identity (x) }>
        w = Identity (row)""",
    "one side computes every element, without the old ones": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) { a = Identity (x) },
                       else_branch = u () => (float[SIZE,4] b) {
                         like = Shape (x)
                         b = Expand (new, like) }>
        w = Identity (row)""",
    "one side computes every element of others": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) {
                         none = Constant <value = int64[1] {0}> ()
                         back = Constant <value = int64[1] {-1}> ()
                         far = Constant <value = int64[1] {-9999}> ()
                         turned = Slice (x, back, far, none, back)
                         a = Add (turned, row) },
                       else_branch = u () => (float[SIZE,4] b) { b = Identity (x) }>
        w = Identity (row)""",
    "one side computes every element, the other puts": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) { a = Mul (x, new) },
                       else_branch = u () => (float[SIZE,4] b) { b = ScatterND (x, jj, new) }>
        w = Identity (row)""",
    "one side computes every element and its sum": """
        x1, w = If (odd) <then_branch = t () => (float[SIZE,4] a, float[1,4] c) {
                            a = Sub (x, row)
                            c = ReduceMax (x, zero) },
                          else_branch = u () => (float[SIZE,4] b, float[1,4] d) {
                            b = Identity (x)
                            d = Identity (row) }>""",
    "a value before the next one": """
        decayed = Mul (x, row)
        most = ReduceMax (decayed, zero)
        x1 = Sub (decayed, most)
        w = Identity (row)""",
    "a value before the next one, also read behind it": """
        decayed = Mul (x, row)
        most = ReduceMax (decayed, zero)
        x1 = Sub (decayed, most)
        w = Gather (decayed, j)""",
    "a value before the next one, of which a view is stacked": """
        decayed = Mul (x, row)
        most = ReduceMax (decayed, zero)
        x1 = Sub (decayed, most)
        end = Constant <value = int64[1] {1}> ()
        w = Slice (decayed, zero, end)""",
    "a value before the next one, and the old one behind it": """
        decayed = Mul (x, row)
        most = ReduceMax (decayed, zero)
        x1 = Sub (decayed, most)
        w = Gather (x, j)""",
    "a value before the next one, read at other places": """
        decayed = Mul (x, row)
        most = ReduceMax (decayed, zero)
        back = Constant <value = int64[1] {-1}> ()
        far = Constant <value = int64[1] {-9999}> ()
        turned = Slice (decayed, back, far, zero, back)
        moved = Sub (decayed, most)
        x1 = Add (moved, turned)
        w = Identity (row)""",
    "branches in branches": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) {
                         first = Less (part, two)
                         a = If (first) <
                           then_branch = v () => (float[SIZE,4] c) { c = ScatterND (x, jj, new) },
                           else_branch = q () => (float[SIZE,4] d) { d = Identity (x) }> },
                       else_branch = u () => (float[SIZE,4] b) {
                         b = ScatterND <reduction = "max"> (x, jj, new) }>
        w = Identity (row)""",
    "an inner loop": """
        x1 = Loop (three, , x) <body = f2 (int64 i2, bool go2, float[SIZE,4] y)
          => (bool on2, float[SIZE,4] y1) {
          on2 = Identity (go2)
          k = Unsqueeze (i2, zero)
          kk = Unsqueeze (k, zero)
          own = Gather (y, k)
          more = Add (own, row)
          y1 = ScatterND (y, kk, more)
        }>
        w = Identity (row)""",
    "an inner loop that computes every element": """
        y = Loop (three, , x) <body = f2 (int64 i2, bool go2, float[SIZE,4] y)
          => (bool on2, float[SIZE,4] y1) {
          on2 = Identity (go2)
          y1 = Add (y, row)
        }>
        x1 = ScatterND (y, jj, new)
        w = Gather (y, j)""",
    "an inner loop that reads the old value": """
        x1 = Loop (three, , x) <body = f2 (int64 i2, bool go2, float[SIZE,4] y)
          => (bool on2, float[SIZE,4] y1) {
          on2 = Identity (go2)
          k = Unsqueeze (i2, zero)
          kk = Unsqueeze (k, zero)
          own = Gather (x, zero)
          y1 = ScatterND <reduction = "add"> (y, kk, own)
        }>
        w = Identity (row)""",
    "two inner loops begin with the old value": """
        x1, other = Loop (three, , x, x) <body = f2 (int64 i2, bool go2, float[SIZE,4] y,
          float[SIZE,4] z) => (bool on2, float[SIZE,4] y1, float[SIZE,4] z1) {
          on2 = Identity (go2)
          y1 = Add (y, row)
          z1 = Sub (z, y)
        }>
        w = Gather (other, j)""",
    "a loop inside a branch": """
        x1 = If (odd) <then_branch = t () => (float[SIZE,4] a) {
          a = Loop (three, , x) <body = f2 (int64 i2, bool go2, float[SIZE,4] y)
            => (bool on2, float[SIZE,4] y1) {
            on2 = Identity (go2)
            y1 = ScatterND <reduction = "add"> (y, jj, new)
          }> },
          else_branch = u () => (float[SIZE,4] b) { b = Identity (x) }>
        w = Identity (row)""",
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("body", BODIES)
def test_in_place_updates_equal_copies(body, size, rng):
    lines = (HEADS + BODIES[body]).replace("SIZE", str(size))
    text = f"""g (int64 n, float[{size},4] p) => (float[{size},4] a, float[T,1,4] s) {{
      a, s = Loop (n, , p) <body = f (int64 i, bool go, float[{size},4] x)
        => (bool on, float[{size},4] x1, float[1,4] w) {{ {lines} }}>
    }}"""
    p = rng.uniform(-1, 1, (size, 4)).astype(np.float32)
    before = p.copy()
    check(text, {"n": np.array(7), "p": p})
    assert np.array_equal(p, before)


def seconds(lines: str) -> float:
    """How long 4,096 iterations over a state of 8 MB take; copying it takes a millisecond."""
    text = f"""g (int64 n, float[8192,256] p) => (float[8192,256] a) {{
      a = Loop (n, , p) <body = f (int64 i, bool go, float[8192,256] x)
        => (bool on, float[8192,256] x1) {{ {lines} }}>
    }}"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"n": np.array(1), "p": np.ones((8192, 256), np.float32)}
    session.run(None, feed)
    started = time.perf_counter()
    session.run(None, {**feed, "n": np.array(4096)})
    return time.perf_counter() - started


def test_a_branch_updates_one_state_and_returns_another_unchanged(rng: np.random.Generator):
    text = f"""g (float[40,4] p, float[40,4] q, float[40,4] r)
      => (float[40,4] a, float[40,4] b, float[40,4] c) {{
      n = Constant <value = int64 {{5}}> ()
      a, b, c = Loop (n, , p, q, r) <body = f (int64 i, bool go, float[40,4] x, float[40,4] y,
        float[40,4] z) => (bool on, float[40,4] x1, float[40,4] y1, float[40,4] z1) {{
        {HEADS}
        x1, y1, z1 = If (odd) <then_branch = t () =>
                       (float[40,4] tx, float[40,4] ty, float[40,4] tz) {{
                         tx = ScatterND (x, jj, new)
                         ty = ScatterND (y, jj, new)
                         tz = Identity (y) }},
                     else_branch = u () => (float[40,4] ux, float[40,4] uy, float[40,4] uz) {{
                         ux = Identity (x)
                         uy = Identity (y)
                         uz = Identity (z) }}>
      }}>
    }}"""
    check(text, {name: rng.normal(size=(40, 4)).astype(np.float32) for name in "pqr"})


def test_an_inner_loop_updates_the_outer_state_in_place(rng: np.random.Generator):
    text = f"""g (int64 n, float[40,4] p) => (float[40,4] a) {{
      a = Loop (n, , p) <body = f (int64 i, bool go, float[40,4] x)
        => (bool on, float[40,4] x1) {{
        {HEADS}
        x1, last = Loop (three, , x, row) <body = f2 (int64 i2, bool go2, float[40,4] y,
          float[1,4] r) => (bool on2, float[40,4] y1, float[1,4] r1) {{
          on2 = Identity (go2)
          r1 = Sin (r)
          y1 = ScatterND (y, jj, r1)
        }}>
      }}>
    }}"""
    feed = {"n": np.array(5), "p": rng.normal(size=(40, 4)).astype(np.float32)}
    check(text, feed)
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, feed)
    (made,) = outcomes(session)
    assert dict(made.code.counts)["copied"] == 0


UPDATES = {
    "a branch": """
        x1 = If (odd) <then_branch = t () => (float[8192,256] a) { a = ScatterND (x, jj, new) },
                       else_branch = u () => (float[8192,256] b) { b = Identity (x) }>
    """,
    "an inner loop": """
        x1 = Loop (three, , x) <body = f2 (int64 i2, bool go2, float[8192,256] y)
          => (bool on2, float[8192,256] y1) {
          on2 = Identity (go2)
          y1 = ScatterND <reduction = "add"> (y, jj, new)
        }>
    """,
}


@pytest.mark.parametrize("case", UPDATES)
def test_an_update_costs_only_the_rows_it_writes(case):
    assert seconds(HEADS + UPDATES[case]) < 1


GROWS_INSIDE = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 t) => (int64[n] v) {
    one = Constant <value_ints = [1]> ()
    none = Constant <value = int64[0] {}> ()
    v = Loop <body = outer (int64 i, bool go, int64[n] acc) => (bool on, int64[m] more) {
        on = Identity (go)
        two = Constant <value_int = 2> ()
        rest = Mod (i, two)
        odd = Cast <to = 9> (rest)
        more = If (odd) <
            then_branch = a () => (int64[n] same) { same = Identity (acc) },
            else_branch = b () => (int64[m] grown) {
                grown = Loop (i, , acc)
                    <body = inner (int64 j, bool g, int64[k] s) => (bool o, int64[l] longer) {
                        o = Identity (g)
                        row = Reshape (j, one)
                        longer = Concat <axis = 0> (s, row)
                    }>
            }
        >
    }> (t, , none)
}"""


def test_a_value_that_an_inner_loop_extends_is_not_in_place():
    native = treadle.InferenceSession(GROWS_INSIDE, engines=["jit"])
    interp = treadle.InferenceSession(GROWS_INSIDE, engines=["interp"])
    for trips in (0, 1, 4, 9):
        feeds = {"t": np.array(trips)}
        assert native.run(None, feeds)[0].tolist() == interp.run(None, feeds)[0].tolist()


def test_a_value_before_the_next_one_takes_the_same_memory(rng: np.random.Generator):
    text = f"""g (int64 n, float[40,4] p) => (float[40,4] a) {{
      a = Loop (n, , p) <body = f (int64 i, bool go, float[40,4] x)
        => (bool on, float[40,4] x1) {{
        {HEADS}
        decayed = Mul (x, row)
        most = ReduceMax (decayed, zero)
        x1 = Sub (decayed, most)
      }}>
    }}"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, {"n": np.array(5), "p": rng.normal(size=(40, 4)).astype(np.float32)})
    assert session.explain("schedule").count("in place of carried 0") == 2


def test_two_inner_loops_update_what_the_other_reads(rng: np.random.Generator):
    """The second inner loop reads the array that the first has updated a copy of."""

    def inner(name: str, updated: str, read: str, function: str) -> str:
        return f"""
        {name} = Loop (three, go, {updated}) <body = b_{name} (int64 j, bool e, float[40] r)
            => (bool e1, float[40] r1) {{
          e1 = Identity (e)
          sum = Add (i, j)
          place = Mod (sum, size)
          at = Reshape (place, one)
          index = Reshape (place, matrix)
          v = Gather ({read}, at)
          u = {function} (v)
          r1 = ScatterND (r, index, u)
        }}>"""

    text = f"""g (float[40] x, int64 n) => (float[40] z, float[40] w) {{
      three = Constant <value = int64 {{3}}> ()
      size = Constant <value = int64 {{40}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      matrix = Constant <value = int64[2] {{1,1}}> ()
      z, w = Loop (n, , x, x) <body = b (int64 i, bool go, float[40] p, float[40] q)
          => (bool on, float[40] p2, float[40] q2) {{
        on = Identity (go)
        {inner("p1", "p", "q", "Exp")}
        {inner("q1", "q", "p", "Neg")}
        p2 = Identity (q1)
        q2 = Identity (p1)
      }}>
    }}"""
    check(text, *({"x": rng.random(40, np.float32), "n": np.array(n)} for n in (0, 1, 2, 5, 9)))

"""Carried arrays that lose rows at one end and get computed ones at the other slide in memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import HEAD, check
from treadle import InferenceSession

ENDS = {True: ("rows, end", "kept, new"), False: ("none, minus", "new, kept")}


def text(shape: tuple[int, ...], axis: int, rows: int, is_forward: bool, more: str = "") -> str:
    """A Loop that computes the rows which enter from the first and the last ones."""
    bounds, joined = ENDS[is_forward]
    state = f"float[{','.join(map(str, shape))}]"
    return f"""g (int64 n, {state} line0, float gain) => ({state} last, float[N,M] ys) {{
      yes = Constant <value = bool {{1}}> ()
      none = Constant <value_ints = [0]> ()
      rows = Constant <value_ints = [{rows}]> ()
      minus = Constant <value_ints = [-{rows}]> ()
      end = Constant <value_ints = [1000000]> ()
      axis = Constant <value_ints = [{axis}]> ()
      flat = Constant <value_ints = [-1]> ()
      last, ys = Loop (n, yes, line0) <body = b (int64 i, bool c, {state} line)
        => (bool go, {state} next, float[M] y) {{
        go = Identity (c)
        kept = Slice (line, {bounds}, axis)
        oldest = Slice (line, none, rows, axis)
        newest = Slice (line, minus, end, axis)
        both = Sub (oldest, newest)
        new = Mul (both, gain)
        next = Concat <axis = {axis}> ({joined})
        y = Reshape ({more or "newest"}, flat)
      }}>
    }}"""


def feed(n: int, shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A line to start from."""
    line = rng.uniform(-1, 1, shape).astype(np.float32)
    return {"n": np.array(n), "line0": line, "gain": np.float32(0.7)}


@pytest.mark.parametrize("is_forward", ENDS)
@pytest.mark.parametrize(
    ("shape", "axis", "rows"),
    [((70,), 0, 1), ((97,), 0, 3), ((20, 5), 0, 2), ((4, 40), 1, 1), ((3, 30, 2), 1, 5)],
)
def test_windows_slide(
    shape: tuple[int, ...], axis: int, rows: int, is_forward: bool, rng: np.random.Generator
) -> None:
    lengths = (0, 1, 2, shape[axis] // rows, shape[axis] // rows + 1, 3 * shape[axis])
    for more in ("", "line", "next"):
        source = text(shape, axis, rows, is_forward, more)
        check(source, *(feed(n, shape, rng) for n in lengths))
        session = InferenceSession(HEAD + source, engines=("jit", "interp"))
        session.run(None, feed(9, shape, rng))
        (made,) = session.plan.main.regions[0].runnable.cache.compiled.values()
        counts = dict(made.code.counts)
        assert (counts["sliding"], counts["copied"]) == (1, 0)


def test_a_window_that_enters_faster_than_it_leaves_is_copied(rng: np.random.Generator) -> None:
    source = text((80,), 0, 30, True)
    check(source, *(feed(n, (80,), rng) for n in (0, 1, 7)))
    session = InferenceSession(HEAD + source, engines=("jit", "interp"))
    session.run(None, feed(3, (80,), rng))
    (made,) = session.plan.main.regions[0].runnable.cache.compiled.values()
    assert "sliding" not in dict(made.code.counts)


def test_two_windows_read_each_other_until_a_condition_ends_them(
    rng: np.random.Generator,
) -> None:
    check(
        """g (float[2,50] a0, float[66] b0, float most) => (float[2,50] a, float[66] b, float s) {
          zero = Constant <value_ints = [0]> ()
          one = Constant <value_ints = [1]> ()
          two = Constant <value_ints = [2]> ()
          minus = Constant <value_ints = [-1]> ()
          end = Constant <value_ints = [1000000]> ()
          row = Constant <value_ints = [2, 1]> ()
          null = Constant <value = float {0}> ()
          yes = Constant <value = bool {1}> ()
          a, b, s = Loop (, yes, a0, b0, null) <body = body (int64 i, bool c, float[2,50] x,
              float[66] y, float t) => (bool go, float[2,50] x1, float[66] y1, float t1) {
            kept = Slice (x, one, end, one)
            first = Slice (y, zero, two, zero)
            absolute = Abs (first)
            new = Reshape (absolute, row)
            x1 = Concat <axis = 1> (kept, new)
            rest = Slice (y, zero, minus, zero)
            x_max = ReduceMax <keepdims = 0> (x)
            x_one = Unsqueeze (x_max, zero)
            y1 = Concat <axis = 0> (x_one, rest)
            step = ReduceSum <keepdims = 0> (x1)
            step1 = Abs (step)
            t1 = Add (t, step1)
            go = Less (t1, most)
          }>
        }""",
        *(
            {
                "a0": rng.uniform(-1, 1, (2, 50)).astype(np.float32),
                "b0": rng.uniform(-1, 1, 66).astype(np.float32),
                "most": np.float32(most),
            }
            for most in (0, 60, 9000)
        ),
    )

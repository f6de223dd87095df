"""Carried values whose extents a model declares to stay: guards check that they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, outcomes
from tests.jit.schedule.test_schedule import TARGET
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

KNAPSACK = """g (int64[N] w, int32[N] v, int32[C] first) => (int32[D] best) {
  n = Size (w)
  yes = Constant <value = bool {1}> ()
  best = Loop (n, yes, first) <body = f (int64 i, bool go, int32[PARAM] a)
    => (bool on, int32[NEXT] b) {
    on = Identity (go)
    zero = Constant <value = int64[1] {0}> ()
    far = Constant <value = int64[1] {9999}> ()
    i0 = Unsqueeze (i, zero)
    weight = Gather (w, i0)
    value = Gather (v, i)
    extent = Shape (a)
    rest = Sub (extent, weight)
    below = Slice (a, zero, weight)
    above = Slice (a, weight, far)
    shifted = Slice (a, zero, rest)
    with = Add (shifted, value)
    better = Max (above, with)
    b = Concat <axis = 0> (below, better)
  }>
}"""
STAYS = KNAPSACK.replace("PARAM", "C").replace("NEXT", "C")
OPEN = KNAPSACK.replace("PARAM", "P").replace("NEXT", "Q")


def feed(items: int, capacity: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "w": rng.integers(1, capacity + 1, items),
        "v": rng.integers(0, 99, items).astype(np.int32),
        "first": np.zeros(capacity, np.int32),
    }


def kernel_of(text: str, feeds: dict[str, Any]) -> CompiledKernel:
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, feeds)
    (made,) = outcomes(session)
    assert isinstance(made, CompiledKernel)
    return made


@pytest.mark.parametrize(("items", "capacity"), [(5, 16), (40, 100), (3, 2000), (0, 7)])
def test_slices_that_together_are_whole(items: int, capacity: int, rng) -> None:
    check(STAYS, feed(items, capacity, rng))


def test_the_array_is_not_reallocated(rng) -> None:
    declared, unknown = (kernel_of(text, feed(9, 64, rng)).kernel for text in (STAYS, OPEN))
    assert declared.assumes
    shown = show_schedule(schedule_kernel(declared, TARGET))
    assert "resizable" not in shown
    assert "computed in the memory of its concat: max" in shown
    assert "resizable" in show_schedule(schedule_kernel(unknown, TARGET))


GROWS = """g (int64 n, float[2] x) => (float[N] y) {
  yes = Constant <value = bool {1}> ()
  y = Loop (n, yes, x) <body = f (int64 i, bool go, float[2] a) => (bool on, float[2] b) {
    on = Identity (go)
    zero = Constant <value = int64[1] {0}> ()
    one = Constant <value = int64[1] {1}> ()
    end = Unsqueeze (i, zero)
    taken = Add (end, one)
    last = Slice (a, zero, taken)
    b = Concat <axis = 0> (a, last)
  }>
}"""


@pytest.mark.parametrize("trips", [0, 1, 2, 6])
def test_a_wrong_declaration_changes_nothing(trips: int, rng) -> None:
    x = rng.random(2, np.float32)
    session = treadle.InferenceSession(HEAD + GROWS, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + GROWS, engines=("interp",))
    for _ in range(2):
        feeds = {"n": np.array(trips), "x": x}
        found, wanted = (each.run(None, feeds)[0] for each in (session, interp))
        np.testing.assert_array_equal(found, wanted)


def test_parts_that_are_too_long_have_no_room_in_the_memory_of_the_whole(rng) -> None:
    """Three parts, whose extents are data: a guard stands before what they are written to."""
    text = KNAPSACK.replace("PARAM", "C").replace("NEXT", "C")
    text = text.replace(
        "b = Concat <axis = 0> (below, better)",
        """one = Constant <value = int64[1] {1}> ()
    twice = Mul (weight, one)
    head = Slice (a, zero, twice)
    turned = Neg (head)
    tail = Slice (better, zero, far)
    b = Concat <axis = 0> (turned, tail)""",
    )
    for capacity in (5, 40):
        given = feed(6, capacity, rng)
        check(text, given)
    wrong = text.replace("int64[1] {1}> ()\n    twice", "int64[1] {2}> ()\n    twice")
    session = treadle.InferenceSession(HEAD + wrong, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + wrong, engines=("interp",))
    given = feed(3, 40, rng) | {"w": np.array([3, 2, 1])}
    for _ in range(2):
        found, wanted = (each.run(None, given)[0] for each in (session, interp))
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("width", [4, 20])
def test_sides_of_a_branch_whose_extents_become_equal(width: int, rng) -> None:
    """Open extents, which guards make numbers: those of the branch's result are asked for, too."""
    text = f"""g (float[3, W] s, int64 n) => (float[3, W] last) {{
      w = Constant <value = float[1, {width}] {{{", ".join(["0.5"] * width)}}}> ()
      last = Loop (n, "", s) <body = f (int64 i, bool go, float[3, {width}] h)
        => (bool on, float[3, {width}] t) {{
        on = Identity (go)
        one = Constant <value = int64[1] {{1}}> ()
        zero = Constant <value = int64[1] {{0}}> ()
        end = Constant <value = int64[1] {{999}}> ()
        two = Constant <value = int64 {{2}}> ()
        head = Slice (w, zero, one, one)
        heads = Expand (head, three)
        tail = Slice (h, one, end, one)
        u = Concat <axis = 1> (heads, tail)
        rest = Mod (i, two)
        odd = Cast <to = 9> (rest)
        v = If (odd) <then_branch = a () => (float[a, b] x) {{
          rear = Slice (u, one, end, one)
          x = Concat <axis = 1> (heads, rear)
        }}, else_branch = c () => (float[a, b] y) {{ y = Neg (u) }}>
        t = Sub (h, v)
      }}>
    }}""".replace("heads = Expand (head, three)", "k = Constant <value = int64[2] {3, 1}> ()\n"
                  "        heads = Expand (head, k)")  # fmt: skip
    options = treadle.SessionOptions()
    options.compile = "eager"
    session = treadle.InferenceSession(HEAD + text, options, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    feeds = {"s": rng.random((3, width), np.float32), "n": np.array(3)}
    for each in (session, session):
        np.testing.assert_array_equal(each.run(None, feeds)[0], interp.run(None, feeds)[0])
    assert all(isinstance(made, CompiledKernel) for made in outcomes(session))

"""Maxima and minima over a few stacked rows are functions of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import check_uncalled
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.reductions.stacked_rows import with_separate_rows

STEP = """kernel
  %x: float32[7,20] = input 0
  %first: float32[20] = input 1
  %weights: float32[3,1] = constant 1.0 2.0 3.0
  %1 = loop length 7 extent 7 carries %s = %first
    %s: float32[20] = carried 0
    %item: float32[20] = scan slice along 0 of %x
    %n: float32[20] = neg %s
    %a: float32[1,20] = view (i1) of %s
    %b: float32[1,20] = view (i1) of %n
    %c: float32[1,20] = view (i1) of %item
    %rows: float32[3,20] = concat along 0 %a, %b, %c
    %scaled: float32[3,20] = mul %rows, %weights
    %next: float32[20] = reduce max over (0) of %scaled
    yield %next
  %last: float32[20] = result 0 of %1
  return %last"""


def separate(text: str) -> str:
    made = with_separate_rows(kernel_of(text))
    verify_kernel(made)
    return show_kernel(made)


def test_rows_are_not_stacked(rng: np.random.Generator) -> None:
    shown = separate(STEP)
    assert "concat" not in shown
    assert "reduce" not in shown
    assert shown.count("= max") == 2
    x, first = rng.normal(size=(7, 20)).astype(np.float32), np.ones(20, np.float32)
    first[3] = np.nan
    for one, other in zip(run_kernel(shown, x, first), run_kernel(STEP, x, first), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("reduce max over (0)", "reduce add over (0)"),  # has an order, and a first 0
        ("20]", "4]"),  # no vector
        ("%a, %b, %c", "%d, %d"),
    ],
)
def test_other_reductions_stay(old: str, new: str) -> None:
    text = STEP.replace(old, new)
    if new == "%d, %d":  # rows of more than one
        rows = "    %d: float32[2,20] = concat along 0 %a, %b\n    %rows"
        text = text.replace("    %rows", rows, 1).replace("[3,", "[4,")
        text = text.replace("constant 1.0 2.0 3.0", "constant 1.0 2.0 3.0 4.0")
    assert separate(text) == show_kernel(kernel_of(text))


@pytest.mark.parametrize("function", ["ReduceMin", "ReduceMax", "ArgMin", "ArgMax"])
def test_candidates_of_a_table(function: str, rng: np.random.Generator) -> None:
    """The cheapest of three ways to each cell, and which one it was."""
    argument = "axis = 0, keepdims = 0" if function.startswith("Arg") else "keepdims = 0"
    axes = "" if function.startswith("Arg") else ", zero"
    text = f"""g (float[N, 30] costs, float[30] first) => (float[30] last, TYPE[N, 30] found) {{
      last, found = Scan <num_scan_inputs = 1, body = f (float[30] s, float[30] cost)
        => (float[30] next, TYPE[30] y) {{
        zero = Constant <value = int64[1] {{0}}> ()
        one = Constant <value = int64[1] {{1}}> ()
        far = Constant <value = int64[1] {{999}}> ()
        back = Constant <value = int64[1] {{-1}}> ()
        big = Constant <value = float[1] {{1e9}}> ()
        head = Slice (s, zero, back)
        left = Concat <axis = 0> (big, head)
        tail = Slice (s, one, far)
        right = Concat <axis = 0> (tail, big)
        a = Unsqueeze (left, zero)
        b = Unsqueeze (s, zero)
        c = Unsqueeze (right, zero)
        all = Concat <axis = 0> (a, b, c)
        least = ReduceMin <keepdims = 0> (all, zero)
        next = Add (least, cost)
        y = {function} <{argument}> (all{axes})
      }}> (first, costs)
    }}""".replace("TYPE", "int64" if function.startswith("Arg") else "float")
    costs = rng.integers(0, 4, (9, 30)).astype(np.float32)
    check_uncalled(text, {"costs": costs, "first": costs[0]})


@pytest.mark.parametrize(("kernel", "pads"), [
    ("3, 1", "1, 0, 1, 0"), ("3, 1", "2, 0, 0, 0"), ("1, 3", "0, 1, 0, 1"), ("1, 3", "0, 2, 0, 0"),
    ("3, 3", "1, 1, 1, 1"), ("3, 3", "0, 2, 1, 0"), ("2, 2", "0, 0, 1, 1"), ("2, 2", "0, 0, 0, 0"),
    ("4, 2", "1, 1, 2, 0"), ("1, 5", "0, 2, 0, 2"),
])  # fmt: skip
@pytest.mark.parametrize("reduction", ["MaxPool", "-MaxPool"])
def test_windows_over_a_padded_grid(
    kernel: str, pads: str, reduction: str, rng: np.random.Generator
) -> None:
    sides = [int(each) for each in pads.split(", ")]
    rows, columns = (int(each) for each in kernel.split(", "))
    high, wide = 12 + sides[0] + sides[2] - rows + 1, 20 + sides[1] + sides[3] - columns + 1
    sign = "m = Neg (p)" if reduction.startswith("-") else "m = Identity (p)"
    text = f"""g (float[N, 1, 2, 12, 20] x, float[1, 2, 12, 20] first)
      => (float[1, 2, 12, 20] last, float[N, 1, 2, {high}, {wide}] y) {{
      last, y = Scan <num_scan_inputs = 1, body = f (float[1, 2, 12, 20] s, float[1, 2, 12, 20] a)
        => (float[1, 2, 12, 20] t, float[1, 2, {high}, {wide}] m) {{
        t = Sub (a, s)
        u = Abs (t)
        p = MaxPool <kernel_shape = [{kernel}], pads = [{pads}]> (u)
        {sign}
      }}> (first, x)
    }}"""
    x = rng.integers(-5, 6, (4, 1, 2, 12, 20)).astype(np.float32)
    check_uncalled(text, {"x": x, "first": x[0]})


WINDOWS = """kernel
  %x: float32[64] = input 0
  %pad: float32[1] = constant -1.0
  %1 = loop length 9 extent 9 carries %s = %x
    %s: float32[64] = carried 0
    %wide: float32[66] = concat along 0 %pad, %s, %pad
    %w: float32[3,64] = view (i0+i1) of %wide
    %next: float32[64] = reduce max over (0) of %w
    yield %next
  %last: float32[64] = result 0 of %1
  return %last"""


@pytest.mark.parametrize(
    ("old", "new", "is_changed"),
    [("", "", True), ("float32[3,64]", "float32[2,64]", True), ("i0+i1", "2*i0+i1", False)],
)
def test_which_windows_are_rows(
    old: str, new: str, is_changed: bool, rng: np.random.Generator
) -> None:
    text = WINDOWS.replace(old, new) if old else WINDOWS
    text = text.replace("%pad, %s, %pad", "%pad, %pad, %s, %pad, %pad") if "2*" in new else text
    text = text.replace("float32[66]", "float32[68]") if "2*" in new else text
    shown = separate(text)
    assert (shown != show_kernel(kernel_of(text))) == is_changed
    x = rng.random(64, np.float32)
    for one, other in zip(run_kernel(shown, x), run_kernel(text, x), strict=True):
        np.testing.assert_array_equal(one, other)

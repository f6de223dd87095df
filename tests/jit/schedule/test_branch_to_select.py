"""Branches of few scalar functions become selects; long ones where no later iteration waits."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of
from tests.jit.native import HEAD, check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.branch_to_select import with_selects
from treadle.report import show_code

BRANCH = """kernel
  %n: int64[] = input 0
  %x: float32[] = input 1
  %zero: int64[] = constant 0
  %e as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %s = %x
    %s: float32[] = carried 0
    %c: bool[] = less %s, %x
    %2 = if %c
      %a: float32[] = mul %s, %x
      yield %a
    else
      yield %s
    %v: float32[] = result 0 of %2
    %next: float32[] = add %s, %x
    yield %next
    stack %v along 0
  %y: float32[e0] = result 1 of %1
  return %y"""


@pytest.mark.parametrize("function", ["mul %s, %x", "pow %s, %x", "exp %s"])
def test_no_later_iteration_waits(function: str) -> None:
    made = with_selects(kernel_of(BRANCH.replace("mul %s, %x", function)))
    verify_kernel(made)
    assert "if" not in show_kernel(made)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add %s, %x", "add %s, %v"),
        ("    %next:", "    %d: bool[] = less %x, %v\n    %next:"),
    ],
)
def test_later_iterations_wait(old: str, new: str) -> None:
    text = BRANCH.replace("mul %s, %x", "exp %s").replace(old, new)
    text = text.replace("add %s, %x\n", "where %d, %x, %s\n") if "%d" in text else text
    kernel = kernel_of(text)
    assert with_selects(kernel) is kernel


def test_another_branch_reads_it_for_the_next_value() -> None:
    text = BRANCH.replace("mul %s, %x", "exp %s").replace(
        "    %next: float32[] = add %s, %x\n",
        "    %3 = if %c\n      %b: float32[] = add %v, %x\n      %f: float32[] = tanh %b\n"
        "      yield %f\n    else\n      yield %s\n    %next: float32[] = result 0 of %3\n",
    )
    kernel = kernel_of(text)
    assert with_selects(kernel) is kernel


def test_long_functions_outside_of_loops_stay() -> None:
    kernel = kernel_of("""kernel
  %x: float32[] = input 0
  %c: bool[] = less %x, %x
  %1 = if %c
    %a: float32[] = exp %x
    yield %a
  else
    yield %x
  %y: float32[] = result 0 of %1
  return %y""")
    assert with_selects(kernel) is kernel


COMPRESSOR = """g (float[N] x, float limit) => (float last, float[M] y) {
  start = Constant <value = float {0}> ()
  last, y = Scan <num_scan_inputs = 1, body = f (float s, float xi) => (float next, float yi) {
    quick = Constant <value = float {0.7}> ()
    slow = Constant <value = float {0.99}> ()
    one = Constant <value = float {1}> ()
    power = Constant <value = TYPE {0.75}> ()
    level = Abs (xi)
    rises = Greater (level, s)
    next = If (rises) <then_branch = a () => (float up) { d = Sub (s, level)
        e = Mul (d, quick)  up = Add (level, e) },
      else_branch = b () => (float down) { f = Sub (s, level)
        g = Mul (f, slow)  down = Add (level, g) }>
    is_loud = Greater (next, limit)
    gain = If (is_loud) <then_branch = c () => (float less) { q = Div (limit, next)
        less = Pow (q, power) }, else_branch = d () => (float same) { same = Identity (one) }>
    yi = Mul (xi, gain)
  }> (start, x)
}"""


@pytest.mark.parametrize("element", ["float", "double"])
def test_functions_that_only_some_iterations_compute(element: str, rng) -> None:
    kind = np.float32 if element == "float" else np.float64
    feeds = [
        {"x": rng.normal(size=count).astype(kind), "limit": np.array(limit, kind)}
        for count in (0, 1, 100, 3000) for limit in (0.0, 0.5, -1.0, np.nan)
    ]  # fmt: skip
    text = COMPRESSOR.replace("TYPE", "float").replace("float", element)
    with np.errstate(all="ignore"):
        check(text, *feeds)


COMMON = """g (int64[T] a, int64[N] b, int64[M] row0) => (int64[M] row, int64[T,N] all) {
  none = Constant <value = int64[1] {0}> ()
  count = Constant <value = int64 {TRIPS}> ()
  row, all = Scan <num_scan_inputs = 1, body = f (int64[M] before, int64 x)
    => (int64[M] after, int64[N] cells) {
    yes = Constant <value = bool {1}> ()
    zero = Constant <value = int64 {0}> ()
    last, cells = Loop (count, yes, zero) <body = h (int64 j, bool go, int64 left)
      => (bool on, int64 cell, int64 out) {
      on = Identity (go)
      one = Constant <value = int64 {1}> ()
      y = Gather (b, j)
      same = Equal (x, y)
      cell = If (same) <then_branch = t () => (int64 more) { p = PLACE
          corner = Gather (before, p)  more = Add (corner, one) },
        else_branch = e () => (int64 most) { next = Add (j, one)
          above = Gather (before, next)  most = Max (above, left) }>
      out = Identity (cell)
    }>
    after = Concat <axis = 0> (none, cells)
  }> (row0, a)
}"""


@pytest.mark.parametrize("count", [0, 1, 7, 40])
def test_elements_at_places_in_range_are_read_for_both_sides(
    count: int, rng: np.random.Generator
) -> None:
    b = rng.integers(0, 3, count)
    feeds = [
        {"a": rng.integers(0, 3, rows), "b": b, "row0": np.zeros(count + 1, np.int64)}
        for rows in (0, 1, 2, 33)
    ]
    check(COMMON.replace("TRIPS", str(count)).replace("PLACE", "Identity (j)"), *feeds)


def test_an_element_that_only_one_side_may_read_is_read_there(rng: np.random.Generator) -> None:
    text = COMMON.replace("TRIPS", "9").replace("PLACE", "Mul (j, y)")  # beyond where y is large
    b = np.array([1, 7, 1, 7, 0, 7, 1, 1, 0])
    check(text, {"a": rng.integers(0, 2, 12), "b": b, "row0": np.zeros(10, np.int64)})


TAKES = BRANCH.replace(
    "      %a: float32[] = mul %s, %x\n",
    "      %i: int64[] = PLACE\n      %a: float32[] = take along 0 of %table, %i\n",
).replace("  %zero: int64", "  %table: float32[8] = input 2\n  %zero: int64")


@pytest.mark.parametrize(
    ("place", "is_select"), [("and %n, %seven", True), ("max %n, %seven", False)]
)
def test_a_take_is_in_range_by_its_bits(place: str, is_select: bool) -> None:
    text = TAKES.replace("PLACE", place)
    kernel = kernel_of(text.replace("  %e as", "  %seven: int64[] = constant 7\n  %e as"))
    made = with_selects(kernel)
    assert (made is not kernel) is is_select
    verify_kernel(made)


def _of_functions(count: int, *, in_a_row: bool) -> str:
    """A branch with this number of functions on one side."""
    lines, last = [], "%s"
    for number in range(count):
        read = last if in_a_row else "%s"
        lines.append(f"      %a{number}: float32[] = add {read}, %x\n")
        last = f"%a{number}"
    sums = [f"%a{number}" for number in range(count)] if not in_a_row else [last]
    text = BRANCH.replace("      %a: float32[] = mul %s, %x\n", "".join(lines))
    text = text.replace("yield %a", "yield " + ", ".join(sums[:8]))
    return text.replace(
        "else\n      yield %s", "else\n      yield " + ", ".join(["%s"] * len(sums[:8]))
    )


@pytest.mark.parametrize(
    ("count", "in_a_row", "is_select"),
    [(8, True, True), (9, True, False), (16, False, True), (17, False, False)],
)
def test_many_functions_are_computed_if_few_wait(
    count: int, in_a_row: bool, is_select: bool
) -> None:
    kernel = kernel_of(_of_functions(count, in_a_row=in_a_row))
    made = with_selects(kernel)
    assert (made is not kernel) is is_select
    verify_kernel(made)


SWITCH = """g (float[N] x, int64[N] codes, float s0) => (float s, float[M] all) {
  s, all = Scan <num_scan_inputs = 2, body = f (float a, float v, int64 code)
    => (float next, float out) {
    one = Constant <value = int64 {1}> ()
    two = Constant <value = int64 {2}> ()
    low = Less (code, two)
    next = If (low) <then_branch = t () => (float y) { first = Less (code, one)
        y = If (first) <then_branch = tt () => (float p) { p = Add (a, v) },
          else_branch = te () => (float q) { q = Mul (a, v) }> },
      else_branch = e () => (float z) { third = Equal (code, two)
        z = If (third) <then_branch = et () => (float r) { r = Neg (a) },
          else_branch = ee () => (float w) { w = Sub (v, a) }> }>
    out = Identity (next)
  }> (s0, x, codes)
}"""


def test_branches_in_branches_become_selects(rng: np.random.Generator) -> None:
    x, codes = rng.normal(size=100).astype(np.float32), rng.integers(0, 4, 100)
    check(SWITCH, {"x": x, "codes": codes, "s0": np.float32(0.5)})
    session = treadle.InferenceSession(HEAD + SWITCH)
    session.run(None, {"x": x, "codes": codes, "s0": np.float32(0.5)})
    assert " = if " not in show_code(session.plan, "kernel")

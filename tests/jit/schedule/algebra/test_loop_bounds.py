"""Iterations that change nothing are not run: what an If or a Where masks from a number on."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.loop_bounds import with_tight_bounds

MASKED = """kernel
  %n: int64[] = input 0
  %m: int64[] = input 1
  %x: float32[4] = input 2
  %zero: int64[] = constant 0
  %e as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %s = %x, %t = %x
    %i: int64[] = induction variable
    %s: float32[4] = carried 0
    %t: float32[4] = carried 1
    %c: bool[] = less %i, %m
    %d: bool[4] = less %t, %s
    %a: float32[4] = tanh %s
    %b: float32[4] = add %t, %s
    %2 = if %c
      %f: float32[4] = mul %a, %s
      yield %f
    else
      yield %s
    %next: float32[4] = result 0 of %2
    %last: float32[4] = where %c, %b, %t
    yield %next, %last
  %y: float32[4] = result 0 of %1
  %z: float32[4] = result 1 of %1
  return %y, %z"""


def test_the_loop_ends_where_the_mask_does() -> None:
    shown = show_kernel(with_tight_bounds(kernel_of(MASKED)))
    assert "if" not in shown
    assert "where" not in shown
    assert "min" in shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("less %i, %m", "less %m, %i"),  # the first iterations change nothing
        ("where %c, %b, %t", "where %c, %t, %b"),
        ("where %c, %b, %t", "where %c, %b, %s"),
        ("where %c, %b, %t", "add %b, %t"),
        ("      yield %s", "      %g: float32[4] = neg %s\n      yield %g"),
        ("    yield %next, %last", "    yield %next, %last\n    stack %a along 0"),
        ("where %c, %b, %t", "where %d, %b, %t"),  # another condition, of each element
        ("    %a:", "    %u: bool[] = guard %c\n    %a:"),  # it may fail in any iteration
    ],
)
def test_loops_that_need_their_other_iterations_stay(old: str, new: str) -> None:
    kernel = kernel_of(MASKED.replace(old, new))
    assert with_tight_bounds(kernel) is kernel


OPEN = """kernel
  %n: int64[] = input 0
  %m: int64[] = input 1
  %x: float32[d2_0] = input 2
  %zero: int64[] = constant 0
  %e as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %s = %x
    %i: int64[] = induction variable
    %d as e1: int64[] = dim 0 of value 0
    %s: float32[e1] = carried 0
    %c: bool[] = less %i, %m
    %2 = if %c
      %f: float32[e1] = tanh %s
      yield %f
    else
      yield %s
    %k as e2: int64[] = dim 0 of value 0 of %2
    %next: float32[e2] = result 0 of %2
    yield %next
  %l as e3: int64[] = dim 0 of value 0 of %1
  %y: float32[e3] = result 0 of %1
  return %y"""


def test_extents_of_a_choice_are_those_of_its_side() -> None:
    made = with_tight_bounds(kernel_of(OPEN))
    verify_kernel(made)
    assert "if" not in show_kernel(made)


STEPS = """g (int64 n, int64 m, float[4] x) => (float[4] y, float[4] z) {
  y, z = Loop (n, "", x, x) <body = f (int64 i, bool go, float[4] s, float[4] t)
    => (bool on, float[4] a, float[4] b) {
    on = Identity (go)
    two = Constant <value = int64 {2}> ()
    j = ADD
    c = CONDITION
    a = If (c) <then_branch = p () => (float[4] u) { v = Tanh (s)  u = Add (v, t) },
                else_branch = q () => (float[4] w) { w = Identity (s) }>
    d = Sub (t, s)
    b = Where (c, d, t)
  }>
}"""


@pytest.mark.parametrize("moved", ["Identity (i)", "Add (i, two)", "Sub (i, two)", "Add (i, n)"])
@pytest.mark.parametrize("condition", ["Less (j, m)", "LessOrEqual (j, m)", "Greater (m, j)"])
def test_lengths_on_both_sides_of_the_trip_count(moved: str, condition: str, rng) -> None:
    text = STEPS.replace("ADD", moved).replace("CONDITION", condition)
    x = rng.uniform(-1, 1, 4).astype(np.float32)
    check(text, *({"n": np.array(n), "m": np.array(m), "x": x} for n in (0, 1, 5) for m in
                  (-(2**63), -9, -1, 0, 1, 3, 5, 6, 2**63 - 1)))  # fmt: skip


WRAPPING = """g (int64 n, int32 k, float x) => (float y) {
  one = Constant <value = int32 {1}> ()
  y = Loop (n, "", x) <body = f (int64 i, bool go, float s) => (bool on, float next) {
    on = Identity (go)
    j = Cast <to = 6> (i)
    limit = Sub (k, one)
    c = Less (j, limit)
    more = Add (s, x)
    next = Where (c, more, s)
  }>
}"""
MOVED = """g (int64 n, int64 m, int64 k, float x) => (float y) {
  y = Loop (n, "", x) <body = f (int64 i, bool go, float s) => (bool on, float next) {
    on = Identity (go)
    j = Add (i, k)
    c = Less (j, m)
    more = Add (s, x)
    next = Where (c, more, s)
  }>
}"""


def test_numbers_wrap_around_as_in_the_program() -> None:
    x = np.float32(1.5)
    with np.errstate(over="ignore"):
        for k in (-(2**31), 2**31 - 1, 0, 3):
            check(WRAPPING, {"n": np.array(5), "k": np.int32(k), "x": x})
        for k, m in ((2**63 - 2, 0), (-(2**63), -(2**63) + 2), (3, 5)):
            check(MOVED, {"n": np.array(5), "m": np.array(m), "k": np.array(k), "x": x})


ENDLESS = """g (int64 n, int64 m, bool go, float x) => (float y) {
  y = Loop (n, go, x) <body = f (int64 i, bool on, float s) => (bool more, float next) {
    more = CONDITION (i, m)
    next = Add (s, x)
  }>
}"""


@pytest.mark.parametrize("condition", ["Less", "LessOrEqual"])
def test_a_limit_that_no_counter_reaches(condition: str) -> None:
    text = ENDLESS.replace("CONDITION", condition)
    for m in (2**63 - 1, 2**63 - 2, 3, 0, -1, -(2**63)):
        check(text, {"n": np.array(5), "m": np.array(m), "go": np.array(True), "x": np.float32(2)})


def test_rows_stacked_by_a_loop_whose_condition_counts(rng) -> None:
    text = """g (float[35] q, int64 n) => (float[35] last, float[T, Q] all) {
      true = Constant <value = bool {1}> ()
      most = Constant <value = int64 {33}> ()
      end = Constant <value = int64 {31}> ()
      last, all = Loop (n, "", q) <body = outer (int64 k, bool go, float[35] u)
        => (bool on, float[35] v, float[Q] row) {
        on = Identity (go)
        v, row = Loop (most, true, u) <body = f (int64 i, bool more, float[35] s)
          => (bool again, float[35] t, float e) {
          e = Gather (s, i)
          t = Add (s, e)
          again = Less (i, end)
        }>
      }>
    }"""
    q = rng.integers(-1, 2, 35).astype(np.float32)
    check(text, *({"n": np.array(n), "q": q} for n in (1, 2)))

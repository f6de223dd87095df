"""Loops of which some iterations keep all states are two: those that do, and the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of
from tests.jit.native import HEAD, check, outcomes
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.schedule.algebra.masked_iterations import with_split_masks

MASKED = """kernel
  %x: float32[n0,3] = input 0
  %m: int64[] = input 1
  %z: float32[3] = input 2
  %1 = loop length n0 extent n0 carries %s = %z, %t = %z
    %i: int64[] = induction variable
    %s: float32[3] = carried 0
    %t: float32[3] = carried 1
    %row: float32[3] = scan slice along 0 of %x
    %c: bool[] = less %i, %m
    %a: float32[3] = add %s, %row
    %b: float32[3] = mul %t, %a
    %next: float32[3] = where %c, %a, %s
    %2 = if %c
      yield %b
    else
      yield %t
    %last: float32[3] = result 0 of %2
    yield %next, %last
    stack %b along 0
    stack %next along 1 from the last
  %y: float32[3] = result 0 of %1
  %all: float32[n0,3] = result 2 of %1
  %kept: float32[3,n0] = result 3 of %1
  return %y, %all, %kept"""


def test_the_loop_is_cut_where_the_mask_ends() -> None:
    made = with_split_masks(kernel_of(MASKED))
    verify_kernel(made)
    shown = show_kernel(made)
    assert shown.count(" = loop") == 2
    assert shown.count(" carries ") == 1
    assert "where" not in shown
    assert "if " not in shown


PARTS = {
    "a mask of the iterations before": ("less %i, %m", "less %m, %i", 2),
    "sides the other way round": ("less %i, %m", "greater_equal %i, %m", 2),
    "stacks that no iteration behind changes": ("stack %b along 0", "stack %next along 0", 1),
}


@pytest.mark.parametrize("case", PARTS)
def test_other_masks(case: str) -> None:
    old, new, loops = PARTS[case]
    text = MASKED.replace(old, new)
    if case == "sides the other way round":
        text = text.replace("%c, %a, %s", "%c, %s, %a")
        text = text.replace(
            "yield %b\n    else\n      yield %t", "yield %t\n    else\n      yield %b"
        )
    made = with_split_masks(kernel_of(text))
    verify_kernel(made)
    shown = show_kernel(made)
    assert "where" not in shown
    assert shown.count(" = loop") == loops


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("where %c, %a, %s", "where %c, %a, %t"),  # another state is not kept
        ("where %c, %a, %s", "add %a, %s"),
        ("      yield %t", "      %g: float32[3] = neg %t\n      yield %g"),
        ("less %i, %m", "equal %i, %m"),  # it does not hold up to an iteration only
        ("loop length n0 extent n0", "loop length n0"),
    ],
)
def test_loops_whose_states_always_change_stay(old: str, new: str) -> None:
    kernel = kernel_of(MASKED.replace(old, new))
    assert with_split_masks(kernel) is kernel


def test_kernels_that_count_what_loops_do_stay() -> None:
    kernel = kernel_of(MASKED)
    for each in ("limits_iterations", "limits_memory", "is_profiled", "is_recorded"):
        counting = replace(kernel, **{each: True})
        assert with_split_masks(counting) is counting


STEPS = """g (float[n,3] x, float[n,3] w, int64 m, float[3] z) => (float[3] last, float[3] sum,
  float[n,3] all, float[k,j] kept, float[n] sums) {
  one = Constant <value = int64 {1}> ()
  nothing = Constant <value = int64 {0}> ()
  count, last, sum, all, kept, sums = Scan (nothing, z, z, x, w) <num_scan_inputs = 2,
    scan_input_directions = [0, REVERSE], scan_output_directions = [0, REVERSE, 0],
    scan_output_axes = [0, 1, 0],
    body = f (int64 i, float[3] s, float[3] t, float[3] row, float[3] other)
    => (int64 j, float[3] a, float[3] b, float[3] y, float[3] k, float q) {
    j = Add (i, one)
    c = CONDITION
    u = Add (s, row)
    a = CHOICE
    v = Sub (t, other)
    b = If (c) <then_branch = p () => (float[3] d) { d = FIRST (SIDE) },
                else_branch = q () => (float[3] e) { e = Identity (REST) }>
    y = Add (u, v)
    k = Identity (a)
    g = ReduceSum <keepdims = 0> (k)
    q = Where (c, g, g)
  }>
}"""
CONDITIONS = {
    "Less (i, m)": True, "LessOrEqual (j, m)": True, "Greater (m, i)": True,
    "GreaterOrEqual (i, m)": False, "Less (m, j)": False,
}  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("keeps_first", [False, True])
@pytest.mark.parametrize("reverse", ["0", "1"])
def test_lengths_on_both_sides_of_the_rows(condition, keeps_first, reverse, rng) -> None:
    changes = CONDITIONS[condition] != keeps_first
    text = STEPS.replace("CONDITION", condition).replace("REVERSE", reverse)
    text = text.replace("CHOICE", "Where (c, u, s)" if changes else "Where (c, s, u)")
    text = text.replace("FIRST (SIDE)", "Identity (v)" if changes else "Identity (t)")
    text = text.replace("Identity (REST)", "Identity (t)" if changes else "Identity (v)")
    for rows in (9, 0):
        x, w = (rng.integers(-9, 9, (rows, 3)).astype(np.float32) for _ in range(2))
        z = np.array([-0.0, np.nan, np.inf], np.float32)
        counts = (-(2**63), 0, 4, 9, 2**63 - 1)
        check(text, *({"x": x, "w": w, "m": np.array(m), "z": z} for m in counts))


def test_one_kernel_for_all_lengths(rng) -> None:
    text = """g (float[50] x, float z, int32 m) => (float last, float[50] all) {
      n = Constant <value = int64 {50}> ()
      last, all = Loop (n, "", z) <body = f (int64 i, bool go, float s)
        => (bool on, float t, float y) {
        on = Identity (go)
        row = Gather (x, i)
        k = Cast <to = 6> (i)
        c = Less (k, m)
        u = Sub (row, s)
        t = Where (c, u, s)
        y = Mul (u, u)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    x = rng.integers(-9, 9, 50).astype(np.float32)
    for m in (50, 20, 3, 1, -1):
        s, rows = np.float32(2), []
        for i in range(50):
            rows.append((x[i] - s) ** 2)
            s = x[i] - s if i < m else s
        last, all_rows = session.run(None, {"x": x, "z": np.float32(2), "m": np.int32(m)})
        assert last == s
        assert np.array_equal(all_rows, np.array(rows, np.float32))
    (made,) = outcomes(session)
    assert isinstance(made, CompiledKernel)
    assert sum(isinstance(node.op, Loop) for node in all_nodes(made.kernel.main)) == 2


def test_few_rows_that_are_joined_are_in_memory(rng) -> None:
    text = """g (float[8] x, float z, int64 m) => (float[8] all, float[8] more) {
      n = Constant <value = int64 {8}> ()
      last, all = Loop (n, "", z) <body = f (int64 i, bool go, float s)
        => (bool on, float t, float y) {
        on = Identity (go)
        row = Gather (x, i)
        c = Less (i, m)
        u = Sub (row, s)
        t = Where (c, u, s)
        y = Mul (u, u)
      }>
      more = Add (all, x)
    }"""
    x = rng.integers(-9, 9, 8).astype(np.float32)
    check(text, *({"x": x, "z": np.float32(2), "m": np.array(m)} for m in (0, 3, 8)))


INNER = """g (int64 n, int64 m, float z) => (float last, float[k] all) {
  last, all = Loop (n, "", z) <body = f (int64 i, bool go, float s)
    => (bool on, float t, float y) {
    on = Identity (go)
    c = Less (i, m)
    u = Loop (i, "", s) <body = h (int64 j, bool more, float a) => (bool again, float b) {
      again = Identity (more)
      k = Add (i, j)
      e = Cast <to = 1> (k)
      d = Sub (e, a)
      b = Neg (d)
    }>
    t = Where (c, u, s)
    y = Add (u, s)
  }>
}"""


def test_inner_loops_whose_extents_the_iteration_tells() -> None:
    for text in (INNER, INNER.replace(", float[k] all", "").replace("last, all", "last, rows")):
        feeds = ({"n": np.array(n), "m": np.array(m)} for n in (0, 9, 20) for m in (0, 5, 30))
        check(text, *({**feed, "z": np.float32(2)} for feed in feeds))

"""Extents that guards compare become one, and what has them is computed together."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check_uncalled
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.equal_extents import with_equal_extents

SLICES = """kernel
  %x: float32[9] = input 0
  %y: float32[9] = input 1
  %a: int64[] = input 2
  %b: int64[] = input 3
  %zero: int64[] = constant 0
  %n as e1: int64[] = max %a, %zero
  %m as e2: int64[] = max %b, %zero
  %u: float32[e1] = view (i0) of %x
  %v: float32[e2] = view (i0+1) of %y
  %w: float32[e2] = neg %v
  %same: bool[] = equal %n, %m
  %1: bool[] = guard of shapes %same
  %sum: float32[e1] = add %u, %w
  return %sum"""


def test_nodes_have_the_extent_that_is_known_first() -> None:
    made = with_equal_extents(kernel_of(SLICES))
    verify_kernel(made)
    shown = show_kernel(made)
    assert "e2" not in shown
    assert shown.count("[e1]") == 4
    assert shown.index("guard of shapes") < shown.index("neg")


@pytest.mark.parametrize(
    ("old", "new"), [("equal %n, %m", "less_equal %n, %m"), ("equal %n, %m", "equal %a, %b")]
)
def test_other_guards_stay(old: str, new: str) -> None:
    kernel = kernel_of(SLICES.replace(old, new))
    assert with_equal_extents(kernel) is kernel


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_slices_of_three_arrays(count: int, rng: np.random.Generator) -> None:
    """Sums over the first items in an iteration: slices of rows, of columns, from the end."""
    text = """g (int64 n, float[N, N] m, float[N] p) => (float[T] sums) {
      zero = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64[1] {1}> ()
      back = Constant <value = int64[1] {-1}> ()
      far = Constant <value = int64[1] {-9999}> ()
      yes = Constant <value = bool {1}> ()
      sums = Loop (n, yes) <body = f (int64 i, bool go) => (bool on, float s) {
        on = Identity (go)
        end = Unsqueeze (i, zero)
        behind = Add (end, one)
        row = Gather <axis = 0> (m, i)
        column = Gather <axis = 1> (m, i)
        a = Slice (row, zero, behind)
        b = Slice (column, zero, behind, zero)
        c = Slice (p, end, far, zero, back)
        ab = Mul (a, b)
        abc = Mul (ab, c)
        s = ReduceMax <keepdims = 0> (abc)
      }>
    }"""
    feed = {"m": rng.random((count, count), np.float32), "p": rng.random(count, np.float32)}
    check_uncalled(text, *({"n": np.array(n), **feed} for n in (0, 1, count)))


def test_an_extent_that_must_be_a_number_is_that_number() -> None:
    text = SLICES.replace("%m as e2", "%five: int64[] = constant 5\n  %m as e2")
    text = text.replace("equal %n, %m", "equal %m, %five").replace(
        "%u: float32[e1]", "%u: float32[5]"
    )
    text = text.replace("view (i0) of %x", "view (i0) of %x", 1).replace(
        "%sum: float32[e1]", "%sum: float32[5]"
    )
    made = with_equal_extents(kernel_of(text))
    verify_kernel(made)
    shown = show_kernel(made)
    assert "e2" not in shown
    assert "guard of shapes" in shown

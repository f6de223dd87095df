"""Carried values and outputs that nothing needs, and equal ones."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel

COPIED = """kernel
  %0: float32[300] = input 0
  %1: int64[] = input 1
  %2: int64[] = constant 0
  %3: int64[] = max %1, %2
  %4 = loop trip %3 carries %5 = %0, %6 = %0, %7 = {third}
    %5: float32[300] = carried 0
    %6: float32[300] = carried 1
    %7: float32[300] = carried 2
    %8: float32[300] = add %5, %6
    %9: float32[300] = {of_third}
    yield %8, %8, {next}
    stack %9 along 0
  %10: float32[300] = result {result} of %4
  return %10
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("result", [0, 1])
def test_copies_and_unread_values_are_not_carried(trips, result, rng):
    text = COPIED.format(third="%0", of_third="neg %7", next="%5", result=result)
    made = canonical_text(text)
    assert "carried 0" in made
    assert "carried 1" not in made
    assert "stack" not in made
    x = rng.standard_normal(300, np.float32)
    for each in (text, made):
        (found,) = run_kernel(each, x, np.int64(trips))
        np.testing.assert_array_equal(found, x * 2**trips)


def test_values_that_begin_apart_stay_apart(rng):
    text = COPIED.format(third="%0", of_third="neg %7", next="%7", result=0)
    text = text.replace("%6 = %0", "%6 = %11")
    text = text.replace("  %4 = loop", "  %11: float32[300] = neg %0\n  %4 = loop")
    made = canonical_text(text)
    assert "carried 1" in made
    x = rng.standard_normal(300, np.float32)
    (found,) = run_kernel(made, x, np.int64(1))
    np.testing.assert_array_equal(found, x * 0)


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_a_value_that_only_a_read_one_needs_is_carried(trips, rng):
    text = COPIED.format(third="%0", of_third="neg %5", next="%9", result=2)
    made = canonical_text(text)
    assert "carried 1" in made
    x = rng.standard_normal(300, np.float32)
    (found,) = run_kernel(made, x, np.int64(trips))
    np.testing.assert_array_equal(found, -x * 2 ** (trips - 1) if trips else x)


EQUAL = """kernel
  %0: float32[] = input 0
  %1: int64[] = constant 4
  %2 = loop trip %1 extent 4 carries %3 = %0, %4 = %0
    %3: float32[] = carried 0
    %4: float32[] = carried 1
    %5: float32[] = exp %3
    %6: float32[] = exp %4
    %7: float32[] = add %5, %0
    %8: float32[] = {function} %6, %0
    yield %7, %8
  %9: float32[] = result 0 of %2
  %10: float32[] = result 1 of %2
  return %9, %10
"""


def test_values_that_are_computed_alike_are_one():
    assert "carried 1" not in canonical_text(EQUAL.format(function="add"))
    assert "carried 1" in canonical_text(EQUAL.format(function="sub"))
    one, other = run_kernel(canonical_text(EQUAL.format(function="add")), np.float32(-2))
    assert one == other == run_kernel(EQUAL.format(function="add"), np.float32(-2))[0]


def test_what_branches_yield_stays():
    text = """kernel
  %0: bool[] = input 0
  %1: float32[3] = input 1
  %2: int64[] = constant 0
  %3 = if %0
    %4 = loop length 3 extent 3
      %5: float32[] = scan slice along 0 of %1
      %6: float32[] = neg %5
      stack %6 along 0
    %7: float32[3] = result 0 of %4
    yield %7
  else
    yield %1
  %8: float32[3] = result 0 of %3
  return %1
"""
    (found,) = run_kernel(canonical_text(text), np.bool_(1), np.ones(3, np.float32))
    np.testing.assert_array_equal(found, np.ones(3))

"""Choices of the first iteration."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel

CHOSEN = """kernel
  %0: float32[300] = input 0
  %1: float32[300] = input 1
  %2: int64[] = constant 0
  %3: bool[] = constant true
  %4: bool[] = constant false
  %5: int64[] = input 2
  %6: int64[] = max %5, %2
  %7 = loop trip %6 carries %8 = {initial}, %9 = %3
    %10: int64[] = induction variable
    %8: float32[300] = carried 0
    %9: bool[] = carried 1
    %11: bool[] = {condition}
    %12 = if %11
      yield {sides[0]}
    else
      yield {sides[1]}
    %13: float32[300] = result 0 of %12
    %14: float32[300] = add %13, %1
    yield %14, %4
  %15: float32[300] = result 0 of %7
  return %15
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize(
    ("condition", "sides"),
    [
        ("equal %10, %2", ("%0", "%8")),
        ("greater %10, %2", ("%8", "%0")),
        ("and %9, %3", ("%0", "%8")),
        ("not %9", ("%8", "%0")),
    ],
)
def test_a_branch_that_begins_with_the_initial_value_is_the_carried_one(
    trips, condition, sides, rng
):
    text = CHOSEN.format(initial="%0", condition=condition, sides=sides)
    made = canonical_text(text)
    assert " if " not in made
    x, y = rng.standard_normal((2, 300), np.float32)
    for each in (text, made):
        (found,) = run_kernel(each, x, y, np.int64(trips))
        np.testing.assert_allclose(found, x + trips * y, rtol=1e-4)


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_another_initial_value_stays_where_no_iteration_may_run(trips, rng):
    text = CHOSEN.format(initial="%1", condition="equal %10, %2", sides=("%0", "%8"))
    made = canonical_text(text)
    assert " if " in made
    x, y = rng.standard_normal((2, 300), np.float32)
    (found,) = run_kernel(made, x, y, np.int64(trips))
    np.testing.assert_allclose(found, x + trips * y if trips else y, rtol=1e-4)


def test_another_initial_value_is_replaced_where_an_iteration_runs(rng):
    text = CHOSEN.format(initial="%1", condition="equal %10, %2", sides=("%0", "%8"))
    text = text.replace("max %5, %2", "constant 5").replace("trip %6", "trip %6 extent 5")
    made = canonical_text(text)
    assert " if " not in made
    x, y = rng.standard_normal((2, 300), np.float32)
    (found,) = run_kernel(made, x, y, np.int64(5))
    np.testing.assert_allclose(found, x + 5 * y, rtol=1e-4)


def test_a_condition_of_later_iterations_stays():
    text = CHOSEN.format(initial="%0", condition="equal %10, %5", sides=("%0", "%8"))
    assert " if " in canonical_text(text)


@pytest.mark.parametrize(
    "condition",
    [
        "%20: int64[] = and %10, %21\n    %11: bool[] = equal %20, %2",
        "%20: int8[] = cast %10\n    %22: int8[] = cast %2\n    %11: bool[] = equal %20, %22",
        "%20: float32[] = cast %10\n    %22: float32[] = add %20, %23\n"
        "    %11: bool[] = equal %22, %23",
    ],
    ids=["a bit", "a cast that wraps", "a sum that rounds"],
)
def test_a_condition_that_may_hold_again_stays(condition):
    text = CHOSEN.format(initial="%0", condition="equal %10, %2", sides=("%0", "%8"))
    text = text.replace("%11: bool[] = equal %10, %2", condition)
    constants = "  %21: int64[] = constant 1\n  %23: float32[] = constant 1e8\n  %7 = loop"
    assert " if " in canonical_text(text.replace("  %7 = loop", constants))

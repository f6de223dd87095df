"""Counters that loops carry, and conditions that count."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, kernel_of, run_kernel
from treadle.jit.kernel.printer import show_kernel

COUNTED = """kernel
  %0: float32[9] = input 0
  %1: int64[] = constant 5
  %2: {dtype}[] = constant {first}
  %3: {dtype}[] = constant {step}
  %4: float32[] = constant 0.0
  %5 = loop trip %1 extent 5 carries %6 = %2, %7 = %4
    %6: {dtype}[] = carried 0
    %7: float32[] = carried 1
    %8: float32[] = take along 0 of %0, %6
    %9: float32[] = add %7, %8
    %10: {dtype}[] = {function} %6, %3
    yield %10, %9
  %11: {dtype}[] = result 0 of %5
  %12: float32[] = result 1 of %5
  return %11, %12
"""
"""A counter that is carried, read, and a result."""


@pytest.mark.parametrize(
    ("first", "function", "step", "dtype"),
    [
        (2, "add", 1, "int64"),
        (7, "sub", 1, "int64"),
        (0, "add", 2, "int32"),
        (-9, "add", 1, "int32"),
    ],
)
def test_a_carried_counter_is_a_function_of_the_iteration_number(first, function, step, dtype, rng):
    text = COUNTED.format(first=first, function=function, step=step, dtype=dtype)
    made = canonical_text(text)
    assert f"{dtype}[] = carried" not in made
    x = rng.standard_normal(9, np.float32)
    sign = 1 if function == "add" else -1
    places = first + sign * step * np.arange(5)
    for each in (text, made):
        last, total = run_kernel(each, x)
        assert last == first + sign * step * 5
        np.testing.assert_allclose(total, x[places].sum(), rtol=1e-5)


WHILE = """kernel
  %0: int64[] = input 0
  %1: int64[] = constant 0
  %2: int64[] = constant {step}
  %3: float32[] = input 1
  %4: bool[] = {before}
  %5 = loop while %4 carries %6 = %1, %7 = %3
    %6: int64[] = carried 0
    %7: float32[] = carried 1
    %8: float32[] = add %7, %7
    %9: int64[] = add %6, %2
    %10: bool[] = {after}
    while %10
    yield %9, %8
    stack %8 along 0
  %11: int64[] = result 0 of %5
  %12: float32[] = result 1 of %5
  %13 as e0: int64[] = dim 0 of value 2 of %5
  %14: float32[e0] = result 2 of %5
  return %11, %12, %14
"""


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 5])
@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize(
    ("before", "after", "goes_on"),
    [
        ("less %1, %0", "less %9, %0", lambda k, n: k < n),
        ("less_equal %1, %0", "greater_equal %0, %9", lambda k, n: k <= n),
        ("less %0, %1", "less %9, %0", lambda k, n: k < n),
    ],
)
def test_a_condition_that_counts_is_a_trip_count(n, step, before, after, goes_on):
    text = WHILE.format(step=step, before=before, after=after)
    made = canonical_text(text)
    assert "while" not in made
    assert "int64[] = carried" not in made
    begins = n < 0 if before == "less %0, %1" else goes_on(0, n)
    count = 0
    while (begins if count == 0 else goes_on(count * step, n)) and count < 20:
        count += 1
    for each in (text, made):
        k, x, xs = run_kernel(each, np.int64(n), np.float32(1))
        assert (k, x, xs.shape) == (count * step, 2.0**count, (count,))


def test_a_limit_that_the_body_computes_stays_a_condition():
    text = WHILE.format(step=1, before="less %1, %0", after="less %9, %6")
    assert "while" in canonical_text(text)


def test_a_value_that_follows_the_iteration_number_from_elsewhere_is_carried():
    """It is 7 in the first iteration, and the number of the iteration before in others."""
    text = """kernel
  %0: int64[] = constant 7
  %1: int64[] = constant 4
  %2 = loop trip %1 extent 4 carries %3 = %0
    %4: int64[] = induction variable
    %3: int64[] = carried 0
    yield %4
    stack %3 along 0
  %5: int64[4] = result 1 of %2
  return %5
"""
    assert canonical_text(text) == show_kernel(kernel_of(text))
    (found,) = run_kernel(text)
    np.testing.assert_array_equal(found, [7, 0, 1, 2])

"""Carried values in the shape in which the body computes them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel

NARROW = """kernel
  %0: float32[300] = input 0
  %1: int64[] = constant 5
  %2 = loop trip %1 extent 5 carries %3 = %0
    %3: float32[300] = carried 0
    %4: float32[1,300] = view (i1) of %3
    %5: float32[1,300] = add %4, %4
    %6: float32[1] = reduce max over (1) of %5
    %7: float32[1,1] = view (i0) of %6
    %8: float32[1,300] = sub %5, %7
    %9: float32[300] = view (0, i0) of %8
    yield %9
  %10: float32[300] = result 0 of %2
  return %10
"""


def test_a_value_is_carried_in_the_shape_of_its_computation(rng):
    made = canonical_text(NARROW)
    assert "float32[1,300] = carried 0" in made
    x = rng.standard_normal(300, np.float32)
    (found,) = run_kernel(NARROW, x)
    for _ in range(5):
        x = x + x - (x + x).max()
    np.testing.assert_allclose(found, x, rtol=1e-5)


TURNS = """kernel
  %0: float32[1,300] = input 0
  %1: float32[300] = input 1
  %2: int64[] = input 2
  %3 = loop trip %2 carries %4 = %0, %5 = %1
    %4: float32[1,300] = carried 0
    %5: float32[300] = carried 1
    %6: float32[300] = view (0, i0) of %4
    %7: float32[1,300] = view (i1) of %5
    yield %7, %6
  %8: float32[1,300] = result 0 of %3
  %9: float32[300] = result 1 of %3
  return %8, %9
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_values_that_take_turns_have_one_shape(rng, trips):
    assert "float32[1,300] = carried" not in canonical_text(TURNS)
    one, other = rng.standard_normal((2, 300), np.float32)
    first, second = run_kernel(TURNS, one[None], other, np.int64(trips))
    wanted = (other, one) if trips % 2 else (one, other)
    np.testing.assert_array_equal(first, wanted[0][None])
    np.testing.assert_array_equal(second, wanted[1])

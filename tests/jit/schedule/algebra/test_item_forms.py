"""Items and stacked outputs as they lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel

REVERSED = """kernel
  %0: int64[] = constant 1
  %1: int64[] = input dim n0
  %2: float32[n0,4] = input 0
  %3: float32[4] = input 1
  %4 as e0: int64[] = sub %1, %0
  %5: float32[n0,4] = view (-1*i0+e0, i1) of %2
  %6 = loop length n0 extent n0 carries %7 = %3
    %7: float32[4] = carried 0
    %8: float32[4] = scan slice along 0{item} of %5
    %9: float32[4] = tanh %7
    %10: float32[4] = add %8, %9
    yield %10
    stack %10 along 0{output}
  %11: float32[n0,4] = result 1 of %6
  %12: float32[n0,4] = view (-1*i0+e0, i1) of %11
  return {results}
"""
BACK = " from the last"


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("item", ["", BACK])
@pytest.mark.parametrize("output", ["", BACK])
@pytest.mark.parametrize("results", ["%12", "%11, %12"])
def test_reversed_data_is_sliced_in_the_other_order(rows, item, output, results, rng):
    text = REVERSED.format(item=item, output=output, results=results)
    made = canonical_text(text)
    assert ("scan slice along 0 from the last" in made) is not bool(item)
    if output and results == "%12":
        assert "stack" in made
        assert "view (-1" not in made
    x, h = rng.standard_normal((rows, 4), np.float32), rng.standard_normal(4, np.float32)
    for one, other in zip(run_kernel(text, x, h), run_kernel(made, x, h), strict=True):
        np.testing.assert_array_equal(one, other)


SINGLE = """kernel
  %0: float32[n0,1] = input 0
  %1: float32[1] = input 1
  %2 = loop length n0 extent n0 carries %3 = %1
    %3: float32[1] = carried 0
    %4: float32[1] = scan slice along 0 of %0
    %5: float32[1] = tanh %3
    %6: float32[1] = add %4, %5
    yield %6
    stack %6 along 0
  %7: float32[n0,1] = result 1 of %2
  return %7
"""


@pytest.mark.parametrize("rows", [1, 5])
def test_items_of_one_element_are_scalars(rows, rng):
    made = canonical_text(SINGLE)
    assert "float32[] = scan slice" in made
    x, h = rng.standard_normal((rows, 1), np.float32), rng.standard_normal(1, np.float32)
    (one,), (other,) = run_kernel(SINGLE, x, h), run_kernel(made, x, h)
    np.testing.assert_array_equal(one, other)
    assert one.shape == (rows, 1)


def test_items_across_rows_stay_as_they_are():
    text = REVERSED.format(item="", output="", results="%12")
    text = text.replace("view (-1*i0+e0, i1) of %2", "view (i1, i0) of %2")
    text = text.replace("%2: float32[n0,4] = input 0", "%2: float32[4,n0] = input 0")
    assert "scan slice along 0 of" in canonical_text(text)

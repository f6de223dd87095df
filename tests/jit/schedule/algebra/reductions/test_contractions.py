"""Sums of products with a matrix."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel

SUMMED = """kernel
  %0: float32[{shape}] = input 0
  %1: float32[{n}] = input 1
  %2: int64[] = constant 3
  %3 = loop trip %2 extent 3 carries %4 = %1
    %4: float32[{n}] = carried 0
    %5: float32[{row}] = view ({axis}) of %4
    %6: float32[{shape}] = mul %5, %0
    %7: float32[{n}] = reduce add over ({over}) of %6
    %8: float32[{n}] = tanh %7
    yield %8
  %9: float32[{n}] = result 0 of %3
  return %9
"""


@pytest.mark.parametrize("over", [0, 1])
def test_a_sum_over_an_axis_of_a_matrix_is_a_product(over, rng):
    n = 40
    row, axis = ("40,1", "i0") if over == 0 else ("1,40", "i1")
    text = SUMMED.format(shape="40,40", n=n, row=row, axis=axis, over=over)
    made = canonical_text(text)
    assert "matmul" in made
    assert "reduce" not in made
    w, h = rng.standard_normal((n, n), np.float32) / 8, rng.standard_normal(n, np.float32)
    for each in (text, made):
        (found,) = run_kernel(each, w, h)
        wanted = h
        for _ in range(3):
            wanted = np.tanh(wanted @ w if over == 0 else w @ wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_small_matrices_and_products_that_others_read_stay():
    small = SUMMED.format(shape="4,4", n=4, row="4,1", axis="i0", over=0)
    assert "matmul" not in canonical_text(small)
    read = SUMMED.format(shape="40,40", n=40, row="40,1", axis="i0", over=0)
    read = read.replace("yield %8", "yield %8\n    stack %6 along 0")
    read = read.replace("return %9", "%10: float32[3,40,40] = result 1 of %3\n  return %9, %10")
    assert "matmul" not in canonical_text(read)

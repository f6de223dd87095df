"""Functions between views that add and remove axes of extent 1."""

from __future__ import annotations

import numpy as np

from tests.jit.kernel_text import canonical_text, kernel_of, run_kernel
from treadle.jit.kernel.printer import show_kernel

WRAPPED = """kernel
  %0: float32[{n},3] = input 0
  %1: float32[3] = input 1
  %2: float32[1,1,{n},3] = view (i2, i3) of %0
  %3: float32[1,1,3] = view (i2) of %1
  %4: float32[1,1,{n},3] = mul %2, %3
  %5: float32[1,1,{n},3] = exp %4
  %6: float32[{n},3] = view (0, 0, i0, i1) of %5
  %7: float32[{n},3] = mul %6, %0
  return {results}
"""


def test_functions_have_the_shape_in_which_they_are_read(rng):
    text = WRAPPED.format(n=5, results="%7")
    made = canonical_text(text)
    assert "float32[5,3] = mul" in made
    assert "float32[5,3] = exp" in made
    x, y = rng.standard_normal((5, 3), np.float32), rng.standard_normal(3, np.float32)
    (found,) = run_kernel(text, x, y)
    np.testing.assert_allclose(found, np.exp(x * y) * x, rtol=1e-6)


def test_a_function_that_is_read_in_two_shapes_keeps_its_own(rng):
    text = WRAPPED.format(n=5, results="%5, %7")
    assert canonical_text(text) == show_kernel(kernel_of(text))
    x, y = rng.standard_normal((5, 3), np.float32), rng.standard_normal(3, np.float32)
    whole, found = run_kernel(text, x, y)
    np.testing.assert_allclose(whole, np.exp(x * y)[None, None], rtol=1e-6)
    np.testing.assert_allclose(found, np.exp(x * y) * x, rtol=1e-6)


COLUMN = """kernel
  %0: float32[1,40] = input 0
  %1: float32[1,1,1] = input 1
  %2: float32[1,1,40] = view (i1, i2) of %0
  %3: float32[1,1,40] = mul %2, %1
  %4: float32[40] = view (0, 0, i0) of %3
  %5: float32[40] = neg %4
  return %5
"""


def test_numbers_of_more_axes_do_not_add_axes(rng):
    assert "float32[40] = mul" in canonical_text(COLUMN)
    x, y = rng.standard_normal((1, 40), np.float32), rng.standard_normal((1, 1, 1), np.float32)
    (found,) = run_kernel(COLUMN, x, y)
    np.testing.assert_allclose(found, -(x * y[0]).ravel(), rtol=1e-6)


CONCAT = """kernel
  %0: float32[40] = input 0
  %1: float32[40] = neg %0
  %2: float32[40,1] = view (i0) of %1
  %3: float32[40,1] = view (i0) of %0
  %4: float32[40,2] = concat along 1 %2, %3
  return %4
"""


def test_a_function_whose_view_no_function_reads_keeps_its_shape():
    assert canonical_text(CONCAT) == show_kernel(kernel_of(CONCAT))

"""Divisions of whole numbers by other numbers than constants: in floats, where these are exact."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.schedule.algebra.integers.float_divisions import with_float_divisions

DIVISION = """kernel
  %x: TYPE[96] = input 0
  %d0: TYPE[] = input 1
  %one: TYPE[] = constant 1
  %most: TYPE[] = constant MOST
  %low: TYPE[] = constant LOW
  %d1: TYPE[] = max %d0, %one
  %d: TYPE[] = min %d1, %most
  %up: TYPE[96] = min %x, %most
  %n: TYPE[96] = max %up, %low
  %q: TYPE[96] = FUNCTION %n, %d
  return %q"""


def _text(dtype: str, function: str, most: int, low: int) -> str:
    names = {"TYPE": dtype, "FUNCTION": function, "MOST": str(most), "LOW": str(low)}
    text = DIVISION
    for name, value in names.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize(
    ("most", "floats"), [(1 << 21, "float32"), (1 << 40, "float64"), (1 << 53, None)]
)
def test_numbers_that_floats_hold_exactly(most: int, floats: str | None) -> None:
    kernel = kernel_of(_text("int64", "div", most, 0))
    made = with_float_divisions(kernel)
    assert (f"{floats}[96] = div" in show_kernel(made)) if floats else made is kernel


def test_a_divisor_that_may_be_zero_stays() -> None:
    text = _text("int64", "div", 1000, 0).replace("max %d0, %one", "max %d0, %low")
    kernel = kernel_of(text)
    assert with_float_divisions(kernel) is kernel


@pytest.mark.parametrize("function", ["div", "mod", "fmod"])
@pytest.mark.parametrize("low", [0, -1])
@pytest.mark.parametrize(("dtype", "bits"), [("int32", 20), ("int64", 21), ("int64", 50)])
def test_quotients_are_exact(
    dtype: str, bits: int, function: str, low: int, rng: np.random.Generator
) -> None:
    most = 1 << bits
    text = _text(dtype, function, most, low * most)
    wanted = kernel_of(text)
    text = show_kernel(with_float_divisions(wanted))
    assert "float" in text
    for divisor in (1, 2, 3, 7, 641, most - 1, most, *rng.integers(1, most, 40)):
        near = rng.integers(-3, 4, 96) + divisor * rng.integers(0, most // divisor + 1, 96)
        x = np.where(rng.random(96) < 0.5, near, rng.integers(-most, most, 96)).astype(dtype)
        n = np.clip(x, low * most, most)
        rest = np.fmod(n, np.array(divisor, dtype))
        exact = {"div": (n - rest) // divisor, "mod": n % divisor, "fmod": rest}[function]
        (found,) = run_kernel(text, x, np.array(divisor, dtype))
        np.testing.assert_array_equal(found, exact)

"""Powers of float64 by whole numbers and halves of them, against wider floats."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.codegen.test_scalar_functions import assert_within, sweep
from tests.jit.kernel_text import run_kernel


@pytest.mark.parametrize(
    "exponent", [-0.5, -1.0, -1.5, -2.0, -3.0, -7.0, 2.5, 3.0, 4.0, 7.0, 16.0, -16.0, 31.5, -31.5]
)
def test_powers_by_halves_of_whole_numbers(exponent, rng: np.random.Generator):
    near = 10.0 ** (rng.uniform(-305, 305, 20_000) / max(1.0, abs(exponent)))
    numbers = np.concatenate([sweep(rng, np.float64), near, -near, 1 / near, [5e-324, -5e-324]])
    text = f"""kernel
  %x: float64[{numbers.size}] = input 0
  %p: float64[] = constant {exponent}
  %y: float64[{numbers.size}] = pow %x, %p
  return %y"""
    (found,) = run_kernel(text, numbers)
    with np.errstate(all="ignore"):
        exact = np.power(numbers.astype(np.longdouble), np.longdouble(exponent))
    assert_within(1.5, found, exact, lambda worst: f"{numbers[worst]!r} ** {exponent}")
    is_normal = np.isfinite(exact) & (np.abs(exact) > 1e-290) & (np.abs(exact) < 1e300)
    wanted = exact[is_normal].astype(np.float64)
    error = np.abs(found[is_normal] - exact[is_normal]) / np.spacing(np.abs(wanted))
    assert error.max() <= 0.51

"""Remainders of floats in native code: exact, in vectors and alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import run_kernel

REMAINDERS = {
    "rows": """kernel
  %x: T[n0,32] = input 0
  %y: T[n0,32] = input 1
  %z: T[n0,32] = FUNCTION %x, %y
  return %z""",
    "items": """kernel
  %x: T[n0,SIZE] = input 0
  %y: T[n0,SIZE] = input 1
  %s0: T[SIZE] = input 2
  %1 = loop length n0 extent n0 carries %s = %s0
    %s: T[SIZE] = carried 0
    %left: T[SIZE] = scan slice along 0 of %x
    %right: T[SIZE] = scan slice along 0 of %y
    %next: T[SIZE] = FUNCTION %left, %right
    yield %next
    stack %next along 0
  %all: T[n0,SIZE] = result 1 of %1
  return %all""",
}


@pytest.mark.parametrize("name", ["mod", "fmod"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("form", "size"), [("rows", 32), ("items", 32), ("items", 1)])
def test_remainders_are_exact(name, dtype, form, size, rng):
    special = [0.0, -0.0, 1.0, -7.0, 0.1, np.inf, -np.inf, np.nan, 1e-45, 1e38, 2.0**28, 2.0**60]
    pairs = np.array([(x, y) for x in special for y in special])
    powers = 10.0 ** rng.uniform(-30, 30, (4000, 2)) * rng.choice([-1, 1], (4000, 2))
    usual = np.stack([rng.uniform(-20, 20, 4000), rng.uniform(-3, 3, 4000)], -1)
    whole = np.stack([rng.integers(-99, 99, 4000) * 0.3, np.full(4000, 0.3)], -1)
    tiny = whole * 1e-200 if dtype is np.float64 else whole * 1e-38
    x, y = np.concatenate([pairs, powers, usual, whole, tiny]).astype(dtype).T
    x, y = (np.ascontiguousarray(each[: each.size // 32 * 32].reshape(-1, size)) for each in (x, y))
    text = REMAINDERS[form].replace("T[", f"{np.dtype(dtype)}[").replace("SIZE", str(size))
    (found,) = run_kernel(text.replace("FUNCTION", name), x, y, *[x[0]][: form == "items"])
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x, y)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(wanted)[found == 0])

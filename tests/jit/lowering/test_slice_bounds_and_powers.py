"""Slices with negative steps and integer powers, exactly as their numpy kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.leaves import leaf, native_leaf, natively
from treadle import ops

BOUNDS = (-(2**63), -100, -5, -1, 0, 3, 4, 100, 2**31 - 1, 2**63 - 1)
WHOLE = ("int32", "int64", "uint32", "uint64")


@pytest.mark.parametrize("fixed", [(1, 2, 3, 4), (3, 4), (3,)])
@pytest.mark.parametrize("step", [-1, 3, -(2**63)])
def test_slices(fixed, step):
    words = leaf("Slice", 13, 5, 1)
    kernel = ops.bind_kernel(words)
    for extent in (0, 5):
        x, run = np.arange(extent, dtype=np.float32), None
        for start in BOUNDS if fixed == (3, 4) else BOUNDS[::4]:
            for end in BOUNDS if fixed == (3, 4) else BOUNDS[1::4]:
                feeds = [x, *(np.array([each]) for each in (start, end, 0, step))]
                if run is None or 1 in fixed:
                    run, is_native = native_leaf(words, feeds, fixed)
                    assert is_native
                (found,) = run(feeds)
                assert np.array_equal(found, kernel(feeds)[0]), (extent, start, end, step)


@pytest.mark.parametrize("exponent", WHOLE)
@pytest.mark.parametrize("base", [*WHOLE, "float32", "float64"])
def test_powers(base, exponent):
    limits = np.iinfo(exponent)
    numbers = [1, 2, 3, 7] if base.startswith("u") else [1, -1, 2, -2, 3, -7]
    exponents = [0, 1, 2, 5, limits.max, limits.max - 1, limits.min, limits.min + 1]
    pairs = [(b, e) for b in numbers for e in exponents if abs(b) == 1 or e < 64]
    bases = np.array([b for b, _ in pairs])
    feeds = [bases.astype(base), np.array([e for _, e in pairs], exponent)]
    (found,), is_native = natively(leaf("Pow", 15, 2, 1), feeds)
    assert is_native
    units = np.abs(bases) == 1
    wanted = [b if int(e) % 2 else 1 for b, e in pairs if abs(b) == 1]
    assert found[units].tolist() == wanted
    kernel = ops.bind_kernel(leaf("Pow", 15, 2, 1))
    assert np.array_equal(found, kernel(feeds)[0])

"""Operands that do not fit: native code gives what interp's kernel gives, or declines."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.leaves import leaf, natively
from treadle import ops
from treadle.errors import KernelError
from treadle.jit.kernel.declined import Declined
from treadle.plan import FallbackRequired

X = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
TURNED = {"batch_axis": 0, "time_axis": 1}
ONES = np.ones(4, np.float32)


def whole(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


REFUSED = {
    "lengths below 0": ("ReverseSequence", 10, (X, whole(-1, 2)), TURNED),
    "lengths beyond": ("ReverseSequence", 10, (X, whole(5, 2)), TURNED),
    "lengths of nothing": ("ReverseSequence", 10, (X[:, :0], whole(-1, 0)), TURNED),
    "too few lengths": ("ReverseSequence", 10, (X, whole(1)), TURNED),
    "k": ("TopK", 11, (X, whole(2**32 + 1)), {}),
    "pads below nothing": ("Pad", 19, (X, whole(0, -3, 0, 0, -2, 0)), {}),
    "groups": ("GroupNormalization", 21, (X, ONES, ONES), {"num_groups": 3}),
    "scale": ("GroupNormalization", 21, (X, ONES[:1], ONES[:1]), {"num_groups": 2}),
    "scale of groups": ("GroupNormalization", 18, (X, ONES[:1], ONES[:1]), {"num_groups": 2}),
}
SAME = {
    "pads that move all in": ("Pad", 19, (X, whole(0, -5, 0, 0, 5, 0)), {}),
    "pads that move all out": ("Pad", 19, (X, whole(0, 3, 0, 0, -5, 0)), {}),
    "pads that move some": ("Pad", 19, (X, whole(0, -1, 1, 0, 2, -2)), {}),
    "lengths": ("ReverseSequence", 10, (X, whole(0, 4)), TURNED),
    "a statistic's axis twice": ("MeanVarianceNormalization", 13, (X,), {"axes": [1, -2]}),
    "an axis twice": ("ReduceMean", 18, (X, whole(1, -2)), {}),
}


def constants(operands):
    return [(), tuple(range(1, len(operands)))]


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("are_known", [0, 1])
def test_it_declines(case, are_known):
    op, version, operands, attributes = REFUSED[case]
    step = leaf(op, version, len(operands), 1, **attributes)
    with pytest.raises(KernelError):
        ops.bind_kernel(step)(operands)
    with pytest.raises((Declined, FallbackRequired)):
        natively(step, operands, constants(operands)[are_known])


@pytest.mark.parametrize("case", SAME)
@pytest.mark.parametrize("are_known", [0, 1])
def test_it_gives_the_same_or_declines(case, are_known):
    op, version, operands, attributes = SAME[case]
    step = leaf(op, version, len(operands), 1, **attributes)
    (wanted,) = ops.bind_kernel(step)(operands)
    try:
        (found,), _ = natively(step, operands, constants(operands)[are_known])
    except (Declined, FallbackRequired):
        return
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_statistics_of_layers_are_of_the_stash_type(dtype):
    step = leaf("LayerNormalization", 17, 2, 3)
    operands = X.astype(dtype), np.ones(3, dtype)
    wanted = ops.bind_kernel(step)(operands)
    found, is_native = natively(step, operands)
    assert is_native
    assert [each.dtype for each in found] == [dtype, np.float32, np.float32]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2 if dtype == np.float16 else 1e-5)

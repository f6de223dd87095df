"""Operators of ai.onnx.ml and of treadle's domain in native code, against their kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.leaves import leaf, natively
from tests.values import assert_same
from treadle import ops
from treadle.jit.kernel.declined import Declined
from treadle.plan import FallbackRequired

TABLE = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "data", [TABLE.astype(np.float32), TABLE[0], TABLE[0, 0].astype(np.float64), TABLE[1] > 14]
)
@pytest.mark.parametrize(
    ("indices", "fixed"),
    [([0, 3], ()), ([[1, 0, 2]], (1,)), ([[0, 1], [-1, -4]], ()), ([-2], (1,)), (3, ())],
)
def test_items_along_the_last_axis(data, indices, fixed) -> None:
    step = leaf("ArrayFeatureExtractor", 1, 2, 1, "ai.onnx.ml")
    inputs = (data, np.array(indices, np.int64))
    found, is_native = natively(step, inputs, fixed)
    assert is_native
    assert_same(found, ops.bind_kernel(step)(inputs), ["y0"])


@pytest.mark.parametrize("fixed", [(), (1,)])
@pytest.mark.parametrize("index", [4, -5])
def test_an_index_out_of_range_is_left_to_another_engine(fixed, index) -> None:
    step = leaf("ArrayFeatureExtractor", 1, 2, 1, "ai.onnx.ml")
    with pytest.raises((Declined, FallbackRequired)):
        natively(step, (TABLE, np.array([0, index])), fixed)


@pytest.mark.parametrize("length", [0, 2, 3])
def test_the_length_of_a_row(length) -> None:
    step = leaf("SequenceLength", 1, 3, 1, "treadle")
    inputs = (np.array(length), np.array([3]), np.array([3]))
    found, is_native = natively(step, inputs)
    assert is_native
    assert_same(found, ops.bind_kernel(step)(inputs), ["y0"])


@pytest.mark.parametrize("lengths", [(-1, 3, 3), (4, 3, 3), (2, 3, 2)])
def test_a_length_beyond_the_row_is_left_to_another_engine(lengths) -> None:
    step = leaf("SequenceLength", 1, 3, 1, "treadle")
    length, *extents = lengths
    with pytest.raises((Declined, FallbackRequired)):
        natively(step, (np.array(length), *(np.array([extent]) for extent in extents)))

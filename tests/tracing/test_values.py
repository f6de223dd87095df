"""Values as text, and their size."""

import ml_dtypes
import numpy as np
import pytest

from treadle.tracing import show_value, size_of


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.array(1.5, np.float32), "float32[] 1.5"),
        (np.array(1 / 3), "float64[] 0.3333"),
        (np.array([[1, 2], [3, 4]]), "int64[2,2] [[1, 2], [3, 4]]"),
        (np.arange(9.0), "float64[9] 0, 1, 2, ... 8"),
        (np.zeros((0, 2), np.int8), "int8[0,2] []"),
        (np.array([True, False]), "bool[2] [True, False]"),
        (np.array(["ab", "c"], object), "string[2] ['ab', 'c']"),
        (np.array("ab", object), "string[] 'ab'"),
        (np.array([np.nan, -np.inf, 1e30], np.float32), "float32[3] [nan, -inf, 1e+30]"),
        (np.array(1 + 2j), "complex128[] (1+2j)"),
        (np.array([1.5], ml_dtypes.bfloat16), "bfloat16[1] [1.5]"),
        (np.array([-3, 7], ml_dtypes.int4), "int4[2] [-3, 7]"),
        (np.array(10**12), "int64[] 1000000000000"),
        ([], "seq of 0"),
        ([np.array(1), np.array(2)], "seq of 2: int64[] 1; int64[] 2"),
        ([np.array(1)] * 5, "seq of 5: int64[] 1; int64[] 1; int64[] 1; ..."),
        (None, "absent"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_a_value_in_words(value, words):
    assert show_value(value) == words


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (np.zeros((2, 3), np.float32), 24), (np.array(["ab", "c"], object), 19), (None, 0),
        ([np.zeros(2, np.int8), np.zeros(3, np.int8)], 5), ([], 0),
    ],
)  # fmt: skip
def test_the_size_of_a_value(value, size):
    assert size_of(value) == size

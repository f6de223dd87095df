"""Comparison of outputs: integers exactly, floats by dtype, all differences listed."""

import ml_dtypes
import numpy as np
import pytest

from treadle.report import compare, show_differences


def message(actual: object, expected: object, **options: float) -> str:
    return show_differences(compare({"y": actual}, {"y": expected}, **options))


SAME = [
    (np.array([1.0], np.float32), np.array([1.00001], np.float32)),
    (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
    (np.array(["a"], object), np.array(["a"])),
    (np.array([1.0], ml_dtypes.bfloat16), np.array([1.01], ml_dtypes.bfloat16)),
    (np.zeros((0, 2)), np.zeros((0, 2))),
    ([np.array(1)], [np.array(1)]),
    (None, None),
    ({1: 0.5}, {1: 0.5}),
    ([], []),
]


@pytest.mark.parametrize(("actual", "expected"), SAME)
def test_values_that_agree(actual: object, expected: object) -> None:
    assert compare({"y": actual}, {"y": expected}) == []


@pytest.mark.parametrize(
    ("actual", "expected", "words"),
    [
        (
            np.array([1, 2, 3]),
            np.array([1, 5, 3]),
            "y: 1 of 3 elements differ, at [1] is 2, expected 5; largest error 3",
        ),
        (
            np.array([[1.0, 2.0]]),
            np.array([[2.0, 4.0]]),
            "y: 2 of 2 elements differ; the first at [0, 0] is 1.0, expected 2.0; largest error 2",
        ),
        (np.array(2**53 + 1), np.array(2**53), "y: it differs, is 9007199254740993"),
        (np.array([1.0], np.float32), np.array([1.0]), "y: float32[1], expected float64[1]"),
        (np.zeros((2, 1)), np.zeros((1, 2)), "y: float64[2,1], expected float64[1,2]"),
        (np.array([True]), np.array([False]), "y: it differs, at [0] is True, expected False"),
        (np.array(["a"], object), np.array(["b"]), "y: it differs, at [0] is a, expected b"),
        (np.array([np.nan]), np.array([0.0]), "y: it differs, at [0] is nan, expected 0.0"),
        (None, np.array(1), "y: absent, expected int64[] 1"),
        ([np.array(1)], np.array(1), "y: seq of 1: int64[] 1, expected int64[] 1"),
        ([], [np.array(1)], "y: a sequence of 0 items, expected 1"),
        ({1: 0.5}, {1: 0.25}, "y: {1: 0.5}, expected {1: 0.25}"),
    ],
)
def test_values_that_differ(actual: object, expected: object, words: str) -> None:
    assert message(actual, expected).startswith(words)


def test_every_difference_is_listed() -> None:
    actual = {"a": np.array(1), "s": [np.array(1), np.array(2)]}
    expected = {"a": np.array(2), "s": [np.array(0), np.array(3)], "gone": np.array(1)}
    names = [difference.name for difference in compare(actual, expected)]
    assert names == ["a", "s[0]", "s[1]", "gone"]


def test_tolerances_of_the_caller_are_for_floats_only() -> None:
    assert compare({"y": np.array([1.0])}, {"y": np.array([1.5])}, relative=0.5) == []
    assert compare({"y": np.array([1.0])}, {"y": np.array([1.5])}, absolute=0.6) == []
    assert compare({"y": np.array([1])}, {"y": np.array([2])}, 10, 10) != []
    assert compare({"y": np.array([1.0])}, {"y": np.array([1.0 + 1e-9])}, 0, 0) != []


def test_errors_are_measured() -> None:
    (difference,) = compare({"y": np.array([1.0, 9.0])}, {"y": np.array([2.0, 10.0])})
    assert difference.largest == 1.0
    assert difference.largest_relative == 0.5

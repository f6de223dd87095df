"""The report of run-time values, as text and as data."""

import json

import ml_dtypes
import numpy as np
import pytest

from treadle.report import as_data, plural, show_bytes, show_seconds, show_values, table


@pytest.mark.parametrize(
    ("value", "type_", "elements"),
    [
        (np.float32(0.1), "float32[]", "0.1"),
        (np.arange(4.0).reshape(2, 2), "float64[2,2]", "0, 1, 2, 3"),
        (np.arange(6.0), "float64[6]", "0, 1, 2, 3, ..."),
        (np.arange(9), "int64[9]", "0, 1, 2, 3, 4, 5, 6, 7, ..."),
        (np.array([True, False]), "bool[2]", "True, False"),
        (np.array(["a", "b"], object), "string[2]", "'a', 'b'"),
        (np.array([1, 2], ml_dtypes.bfloat16), "bfloat16[2]", "1, 2"),
        (np.array([1, -2], ml_dtypes.int4), "int4[2]", "1, -2"),
        (np.array([1 + 2j], np.complex64), "complex64[1]", "(1+2j)"),
        (np.zeros((0, 3), np.int64), "int64[0,3]", ""),
        (None, "absent", ""),
        ([], "sequence of 0 values", ""),
        ({1: 0.5}, "map of 1 entry", "1: 0.5"),
    ],
)
def test_a_line_of_the_table(value: object, type_: str, elements: str) -> None:
    line = show_values({"y": value}).splitlines()[1]
    assert line.startswith(f"y     {type_}")
    assert line.endswith(elements)


def test_a_table_of_values() -> None:
    shown = show_values(
        {"y": np.array([1, np.nan, 3], np.float32), "s": [np.array([True])], "none": None}
    )
    assert [line.split() for line in shown.splitlines()] == [
        ["name", "type", "min", "max", "mean", "first", "elements"],
        ["y", "float32[3]", "1", "3", "2", "1,", "nan,", "3", "(1", "not", "finite)"],
        ["s", "sequence", "of", "1", "value"],
        ["s[0]", "bool[1]", "True"],
        ["none", "absent"],
    ]


def test_data_that_json_has_no_word_for() -> None:
    given = {"x": np.array([1.5, np.inf]), "t": (np.int64(3), b"raw"), 4: {"set"}, "n": np.nan}
    assert json.loads(json.dumps(as_data(given))) == {
        "x": [1.5, "inf"],
        "t": [3, "b'raw'"],
        "4": ["set"],
        "n": "nan",
    }


def test_words_for_counts_sizes_and_times() -> None:
    assert [plural(1, "loop"), plural(2, "branch", "branches")] == ["1 loop", "2 branches"]
    assert [show_bytes(n) for n in (1, 2048, 3 << 20)] == ["1 byte", "2.0 KiB", "3.0 MiB"]
    assert [show_seconds(t) for t in (2.5, 0.0123, 4.5e-4, 2e-7)] == [
        "2.50 s",
        "12.3 ms",
        "450 µs",
        "0.20 µs",
    ]


def test_a_table_has_no_trailing_blanks() -> None:
    assert table([("a", "b"), ("ccc", "")], ("x", "y"), indent=2) == "  x    y\n  a    b\n  ccc"

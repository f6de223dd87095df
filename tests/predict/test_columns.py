"""Whole columns: numbers are read, run and written without Python work for each row."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle
from tests.predict.test_predictor import FILTER, HEAD, filtered, ragged
from treadle.predict.columns import Loose, Ragged, Stacked, cells_of, column_of

A = np.float32(0.25)
FEW, MANY = 200, 3000


def arrow_of(batch: dict[str, Any]) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    listed = {name: list(column) for name, column in batch.items()}
    lists = pyarrow.list_(pyarrow.float32())
    return pyarrow.table(
        {n: pyarrow.array(cells, lists if n == "x" else None) for n, cells in listed.items()}
    )


def frame_of(batch: dict[str, Any]) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: list(column) for name, column in batch.items()})


def calls(function: Callable[[], object]) -> int:
    """The number of Python functions that a call enters."""
    entered = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return entered


def stacked(count: int) -> dict[str, Any]:
    return {"x": np.ones((count, 3), np.float32), "a": np.full(count, A)}


def uneven(count: int) -> dict[str, Any]:
    return {"x": [np.ones(1 + k % 4, np.float32) for k in range(count)], "a": np.full(count, A)}


@pytest.mark.parametrize(
    ("rows", "kind"), [(stacked, dict), (stacked, arrow_of), (uneven, arrow_of)]
)
def test_ten_times_the_rows_take_no_more_calls(
    rows: Callable[[int], dict[str, Any]], kind: Callable[[dict[str, Any]], Any]
) -> None:
    predict = treadle.Predictor(FILTER)
    few, many = kind(rows(FEW)), kind(rows(MANY))
    predict(few)
    predict(many)
    assert calls(lambda: predict(many)) <= calls(lambda: predict(few)) + 40


def test_a_column_of_numbers_in_a_frame_takes_no_more_calls() -> None:
    pandas = pytest.importorskip("pandas")
    predict = treadle.Predictor(HEAD + DOUBLE)
    few, many = (pandas.DataFrame({"x": np.arange(n, dtype=np.float64)}) for n in (FEW, MANY))
    predict(few)
    assert predict(many)["y"].tolist() == [2 * k for k in range(MANY)]
    assert calls(lambda: predict(many)) <= calls(lambda: predict(few)) + 40


DOUBLE = "main (float[N] x) => (float[N] y) { y = Add(x, x) }"


@pytest.mark.parametrize("kind", [dict, frame_of, arrow_of])
def test_every_kind_of_column_equals_a_loop_over_rows(
    kind: Callable[[dict[str, Any]], Any], rng: np.random.Generator
) -> None:
    rows = ragged(rng, 40)
    cells = np.empty(40, object)
    cells[:] = rows
    made = treadle.Predictor(FILTER)(kind({"x": cells, "a": np.full(40, A)}))
    found = made.to_pydict() if kind is arrow_of else made
    for row, y, last in zip(rows, found["y"], found["last"], strict=True):
        np.testing.assert_allclose(y, filtered(row), rtol=1e-6)
        np.testing.assert_allclose(last, filtered(row)[-1], rtol=1e-6)


def test_rows_that_share_an_input_run_by_its_value() -> None:
    gains = np.array([0.25, 0.5, 0.25, 0.75, 0.5], np.float32)
    made = treadle.Predictor(FILTER)({"x": np.ones((5, 2), np.float32), "a": gains})
    np.testing.assert_array_equal(made["last"], gains * (2 - gains))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1.0, 2.0], Stacked),
        ([1, 2.0], Loose),
        ([1, None], Loose),
        ([2**70, 1], Loose),
        (["a", "b"], Loose),
        ([[1.0], [2.0]], Stacked),
        ([[1.0], [2.0, 3.0]], Ragged),
        ([[1.0], [[2.0]]], Loose),
        ([np.ones(2), np.ones(3)], Ragged),
        ([np.ones((2, 3)), np.ones((1, 3))], Ragged),
        ([np.ones((3, 2)), np.ones((3, 1))], Loose),
        ([np.ones(2), np.ones(2, np.float32)], Loose),
        ([], Loose),
    ],
)
def test_a_column_keeps_its_cells(cells: list[Any], kind: type) -> None:
    column = column_of(cells)
    assert type(column) is kind
    for cell, given in zip(cells_of(column), cells, strict=True):
        np.testing.assert_array_equal(np.asarray(cell, object), np.asarray(given, object))


def test_arrow_columns_of_every_form_are_read(rng: np.random.Generator) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    model = HEAD + "main (float[N, T, 2] x) => (float[N, T, 2] y) {y = Neg(x)}"
    cells = [rng.standard_normal((k % 3, 2)).astype(np.float32).tolist() for k in range(12)]
    pairs = pyarrow.list_(pyarrow.float32(), 2)
    types = [
        pyarrow.list_(pyarrow.list_(pyarrow.float32())),
        pyarrow.large_list(pairs),
        pyarrow.list_(pairs),
    ]
    predict = treadle.Predictor(model)
    for type_ in types:
        whole = pyarrow.table({"x": pyarrow.array([*cells, None, *cells], type_)})
        for table in (whole, whole.slice(3, 20), pyarrow.concat_tables([whole, whole.slice(5)])):
            made, given = predict(table).column("y").to_pylist(), table.column("x").to_pylist()
            assert [cell is None for cell in made] == [cell is None for cell in given]
            for y, x in zip(made, given, strict=True):
                np.testing.assert_array_equal(np.array(y or []), -np.array(x or []))


def test_arrow_gets_floats_of_the_outputs_dtype_and_nulls() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    model = HEAD + (
        "main (int32[N] k) => (float[N, 2] y, float16[N] h)"
        " <int64[2] two = {1, 2}, int64[1] axis = {1}> {"
        " f = Cast<to = 1>(k)  c = Unsqueeze(f, axis)  y = Expand(c, two)  h = Cast<to = 10>(k)}"
    )
    table = pyarrow.table({"k": pyarrow.array([1, None, 3, 2**40])})
    made = treadle.Predictor(model)(table)
    assert made.schema.field("y").type == pyarrow.list_(pyarrow.float32())
    assert made.schema.field("h").type == pyarrow.float16()
    assert made.column("y").to_pylist() == [[1, 1], None, [3, 3], None]
    assert [error is None for error in made.column("error").to_pylist()] == [True, False] * 2


def test_an_output_without_the_rows_that_were_fed_fails_them() -> None:
    model = HEAD + "main (float[N] x) => (float[M] y) { p = Greater(x, x)  y = Compress(x, p) }"
    made = treadle.Predictor(model, batch_axis=0)({"x": np.ones(3, np.float32)})
    assert all("0 rows along axis 0, not 1" in text for text in made["error"])

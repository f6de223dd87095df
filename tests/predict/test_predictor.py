"""Batches of rows: the results of a plain loop over rows, in order, for every kind of batch."""

import pickle
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import treadle

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
FILTER = (
    HEAD
    + """main (float[N, T] x, float a) => (float[N, T] y, float[N] last) {
    time = Transpose(x)
    zero = Constant<value = float {0}>()
    k = Constant<value = int64 {0}>()
    first = Gather(time, k)
    start = Mul(first, zero)
    last, ys = Scan <num_scan_inputs = 1, body = step (float[N] s, float[N] item)
        => (float[N] n, float[N] o) {
        d = Sub(item, s)
        g = Mul(d, a)
        n = Add(s, g)
        o = Identity(n)
    }>(start, time)
    y = Transpose(ys)
}"""
)
MIXING = HEAD + "main (float[N, 2] x) => (float[N, 2] y) { y = Softmax<axis = 0>(x) }"
LSTM = (
    HEAD
    + """main (float[T, N, 3] x, int32[N] n) => (float[T, D, N, 2] y, float[D, N, 2] h)
<float[1, 8, 3] w, float[1, 8, 2] r> {
    y, h, c = LSTM<hidden_size = 2>(x, w, r, , n)
}"""
)
A = np.float32(0.25)


def filtered(row: np.ndarray) -> np.ndarray:
    """The recurrence of FILTER in numpy."""
    state, found = np.float32(0), []
    for item in row:
        state = np.float32(state + np.float32(np.float32(item - state) * A))
        found.append(state)
    return np.array(found, np.float32)


def ragged(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    return [rng.standard_normal(1 + k % 5).astype(np.float32) for k in range(count)]


def test_rows_of_equal_length_run_together_and_ragged_ones_keep_their_order(
    rng: np.random.Generator,
) -> None:
    predict = treadle.Predictor(FILTER, {"x": "signal", "a": "gain"})
    assert predict.layout.axes.most is None
    assert "together" in repr(predict)
    rows = np.empty(23, object)
    rows[:] = ragged(rng, 23)
    batch = {"signal": rows, "gain": np.full(23, A), "id": np.arange(23)}
    made = predict(batch)
    assert list(made) == ["signal", "gain", "id", "y", "last", "error"]
    for row, y, last in zip(rows, made["y"], made["last"], strict=True):
        np.testing.assert_allclose(y, filtered(row), rtol=1e-6)
        np.testing.assert_allclose(last, filtered(row)[-1], rtol=1e-6)
    assert set(made["error"]) == {None}
    assert list(made["id"]) == list(range(23))


def test_equal_shapes_give_a_plain_array() -> None:
    made = treadle.Predictor(FILTER, outputs={"last": "end"})(
        {"x": np.ones((4, 3), np.float64), "a": [A] * 4}
    )
    assert made["end"].dtype == np.float32
    assert made["end"].shape == (4,)
    assert "y" not in made


def test_rows_of_a_model_that_mixes_them_run_one_by_one() -> None:
    predict = treadle.Predictor(MIXING)
    assert predict.layout.axes.most == 1
    assert "normalises over the rows" in predict.layout.axes.reason
    made = predict({"x": np.array([np.ones((2, 2), np.float32)] * 3)})
    assert made["y"].shape == (3, 2, 2)


def test_a_given_batch_axis_is_used() -> None:
    made = treadle.Predictor(MIXING, batch_axis=0)({"x": np.zeros((4, 2), np.float32)})
    np.testing.assert_allclose(made["y"], np.full((4, 2), 0.25))


def test_a_failed_row_has_nulls_and_a_reason() -> None:
    predict = treadle.Predictor(FILTER)
    rows = np.empty(4, object)
    rows[:] = [np.ones(2), None, np.ones((2, 2)), ["a", "b"]]
    made = predict({"x": rows, "a": [A] * 4})
    assert [error is None for error in made["error"]] == [True, False, False, False]
    assert "null" in made["error"][1]
    assert (
        "float32[2, 2]" in made["error"][2]
        or "(2, 2)" in made["error"][2]
        or "2" in made["error"][2]
    )
    assert made["y"][1] is None
    strict = treadle.Predictor(FILTER, errors="raise")
    with pytest.raises(treadle.RunError, match="row 1 failed"):
        strict({"x": rows, "a": [A] * 4})


def weights(rng: np.random.Generator) -> Mapping[str, np.ndarray]:
    return {
        "w": rng.standard_normal((1, 8, 3)).astype(np.float32),
        "r": rng.standard_normal((1, 8, 2)).astype(np.float32),
    }


def lstm(rng: np.random.Generator) -> bytes:
    """The LSTM with real weights."""
    import onnx
    from onnx import numpy_helper, parser

    text = LSTM.replace("<float[1, 8, 3] w, float[1, 8, 2] r>", "")
    model = parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in weights(rng).items())
    onnx.checker.check_model(model)
    return model.SerializeToString()


def test_lengths_pad_rows_and_cut_outputs(rng: np.random.Generator) -> None:
    rows = np.empty(9, object)
    rows[:] = [rng.standard_normal((1 + k % 4, 3)).astype(np.float32) for k in range(9)]
    model = lstm(rng)
    made = treadle.Predictor(model, {"x": "x"}, lengths="n")({"x": rows})
    session = treadle.InferenceSession(model)
    for row, y, h in zip(rows, made["y"], made["h"], strict=True):
        feed = {"x": row[:, None], "n": np.array([len(row)], np.int32)}
        wanted_y, wanted_h = session.run(["y", "h"], feed)
        np.testing.assert_allclose(y, wanted_y[:, :, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h, wanted_h[:, 0], rtol=1e-5, atol=1e-6)


def test_pandas_frames_keep_their_index_and_columns(rng: np.random.Generator) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": ragged(rng, 6), "a": [0.25] * 6}, index=list("uvwxyz"))
    made = treadle.Predictor(FILTER)(frame)
    assert list(made.columns) == ["x", "a", "y", "last", "error"]
    assert list(made.index) == list("uvwxyz")
    assert made["last"].dtype == np.float32
    for row, y in zip(frame["x"], made["y"], strict=True):
        np.testing.assert_allclose(y, filtered(row), rtol=1e-6)


def test_arrow_tables_have_list_columns_and_nulls() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    cells = [[1.0, 2.0], None, [3.0]]
    table = pyarrow.table(
        {"x": pyarrow.array(cells, pyarrow.list_(pyarrow.float32())), "a": [A] * 3}
    )
    made = treadle.Predictor(FILTER)(table)
    assert made.schema.field("y").type == pyarrow.list_(pyarrow.float32())
    assert made.column("y").to_pylist()[1] is None
    assert "null" in made.column("error").to_pylist()[1]
    np.testing.assert_allclose(
        made.column("y").to_pylist()[0], filtered(np.array([1, 2], np.float32)), rtol=1e-6
    )


def test_a_pickled_predictor_runs_in_another_process() -> None:
    predict = pickle.loads(pickle.dumps(treadle.Predictor(FILTER)))
    batch = {"x": np.ones((4, 3), np.float32), "a": np.full(4, A)}
    wanted = predict(batch)["y"]
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        np.testing.assert_array_equal(pool.submit(predict, batch).result()["y"], wanted)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"columns": {"z": "z"}}, "z"),
        ({"outputs": ["nope"]}, "nope"),
        ({"errors": "ignore"}, "errors"),
        ({"lengths": "x"}, "not an input with one axis"),
        ({"batch_axis": 9}, "batch_axis is 9"),
    ],
)
def test_settings_that_do_not_fit_the_model_are_errors(settings: dict, told: str) -> None:
    with pytest.raises(treadle.InputError, match=told):
        treadle.Predictor(FILTER, **settings)


def test_a_batch_of_another_kind_or_without_a_column_is_said() -> None:
    predict = treadle.Predictor(FILTER)
    with pytest.raises(treadle.InputError, match="wanted a dict of numpy arrays"):
        predict([1, 2])
    with pytest.raises(treadle.InputError, match='no column "a"'):
        predict({"x": np.ones((1, 2))})
    with pytest.raises(treadle.InputError, match="different lengths"):
        predict({"x": np.ones((1, 2)), "a": [A] * 2})

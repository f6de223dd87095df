"""Recording: the same values from the exposed model and from events; windows; files."""

import numpy as np
import pytest

import treadle
from tests.passes.test_exposing import FEEDS, INNER, NESTED, RAGGED
from treadle.errors import InputError, RunError

FAILS = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n] x, int64 t) => (float s) {
    zero = Constant <value_float = 0.0> ()
    s = Loop <body = b (int64 i, bool go, float h) => (bool on, float h2) {
        on = Identity (go)
        item = Gather (x, i)
        h2 = Add (h, item)
    }> (t, , zero)
}"""
GROWS = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 t) => (float s) {
    one = Constant <value_float = 1.0> ()
    s = Loop <body = b (int64 i, bool go, float h) => (bool on, float h2) {
        on = Identity (go)
        ten = Constant <value_float = 1e10> ()
        h1 = Mul (h, ten)
        h2 = Sub (h1, one)
    }> (t, , one)
}"""


def recorded(model, feeds, engines=None, **options):
    recorder = treadle.Recorder(**options)
    outputs = treadle.InferenceSession(model, engines=engines).run(None, feeds, listener=recorder)
    return recorder, outputs


def plain(recorder):
    return {
        key: {at: np.asarray(value).tolist() for at, value in values.items()}
        for key, values in recorder.values.items()
    }


@pytest.mark.parametrize(("model", "select"), [(NESTED, "*"), (RAGGED, ["r", "k2", "p"])])
def test_compiled_recordings_equal_events_of_interp(model, select):
    fast, outputs = recorded(model, FEEDS, select=select)
    heard, others = recorded(model, FEEDS, ["interp"], select=select, max_bytes=10**9)
    assert plain(fast) == plain(heard)
    assert [event.step for event in fast.of("k2")] == [event.step for event in heard.of("k2")]
    assert np.array_equal(outputs[0], others[0])


def test_values_by_name_and_stacked():
    recorder, _ = recorded(NESTED, FEEDS, select="k2")
    path = "main/loop_1.body/loop_1.body/k2"
    assert recorder.paths() == [path]
    assert recorder["k2"][3, 1].tolist() == recorder.stacked(path)[3, 1].tolist() == [9, 18]
    assert recorder.stacked("k2").shape == (4, 2, 2)
    assert len(recorder) == 8
    assert len(repr(recorder)) < 150
    with pytest.raises(InputError, match='nothing was recorded of "k3"; it has main'):
        recorder["k3"]
    ragged, _ = recorded(RAGGED, FEEDS, select="r")
    with pytest.raises(InputError, match="not a tensor of one shape"):
        ragged.stacked("r")


def test_a_failed_run_keeps_the_values_before_the_failure():
    recorder = treadle.Recorder(select="h2")
    session = treadle.InferenceSession(FAILS)
    feeds = {"x": np.float32([1, 2, 3]), "t": np.array(5)}
    with (
        pytest.warns(RuntimeWarning, match="recorded on interp"),
        pytest.raises(RunError, match="iteration 3"),
    ):
        session.run(None, feeds, listener=recorder)
    assert recorder.stacked("h2").tolist() == [1, 3, 6]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"iterations": slice(2, 5)}, [2, 3, 4]),
        ({"iterations": slice(None, None, 3)}, [0, 3, 6]),
        ({"last": 2}, [6, 7]),
        ({"around": "isinf", "margin": 1}, [2, 3, 4, 5, 6, 7]),
        ({"around": "> 1e25", "margin": 0}, [2, 3, 4, 5, 6, 7]),
    ],
)
def test_windows(options, wanted):
    recorder, _ = recorded(GROWS, {"t": np.array(8)}, select="h1", **options)
    assert [at[0] for at in recorder["h1"]] == wanted


def test_statistics_keep_no_values():
    recorder, _ = recorded(GROWS, {"t": np.array(6)}, select="h1", statistics=True)
    found = recorder.summary("h1")
    assert (found.count, found.nans, found.infs) == (6, 0, 3)
    assert found.minimum == pytest.approx(1e10)
    assert recorder.paths() == []


def test_a_file_has_iterations_first_and_their_numbers(tmp_path):
    recorder, _ = recorded(RAGGED, FEEDS, select=["r", "k2"])
    recorder.to_npz(tmp_path / "trace.npz")
    with np.load(tmp_path / "trace.npz") as data:
        assert data[f"{INNER}.body/k2"].tolist() == [3, 4]
        assert data[f"{INNER}.body/k2@at"].tolist() == [[2, 0], [2, 1]]
        assert data["main/loop_2.body/r[3]"].tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="cannot be written"):
        recorder.to_npz(tmp_path / "none" / "trace.npz")


def test_a_listener_of_the_constructor_hears_runs():
    recorder = treadle.Recorder(select="k2")
    treadle.InferenceSession(NESTED, listener=recorder).run(None, FEEDS)
    assert recorder.stacked("k2").shape == (4, 2, 2)


def test_invalid_conditions_of_a_recorder():
    with pytest.raises(InputError, match='around is "isnil", wanted "isnan"'):
        treadle.Recorder(select="h", around="isnil")

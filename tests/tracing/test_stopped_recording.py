"""A run of a long loop that ends early leaves everything recorded up to its end."""

import gc
import signal
import threading

import numpy as np
import pytest

import treadle
from tests.comparing.test_windows import FORMS
from treadle.recording import in_windows, loop_lengths
from treadle.recording.row_buffers import RunBuffers

FAILS_AT = 7
MODEL, FEEDS = FORMS["counted"]
TOO_LONG = {**FEEDS, "m": np.array(FAILS_AT + 2)}  # x has seven elements


pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Of a signal that falls into a finalizer."""


@pytest.fixture(autouse=True)
def windows(monkeypatch):
    monkeypatch.setattr(loop_lengths, "LONG", -1)
    monkeypatch.setattr(in_windows, "FIRST_SIZE", 2)
    monkeypatch.setattr(in_windows, "size_in_time", lambda size, seconds: 3)


def recorded(error, match, feeds, options=None, **kept):
    """What a recorder has in windows, and as it hears the events of interp."""
    session, recorders = treadle.InferenceSession(MODEL), []
    for bound in ({}, {"max_bytes": 10**9}):
        recorders.append(treadle.Recorder(select="*", **bound, **kept))
        with pytest.raises(error, match=match):
            session.run(None, feeds, options, listener=recorders[-1])
    return recorders


def plain(recorder):
    return {
        key: {at: np.asarray(value).tolist() for at, value in values.items()}
        for key, values in recorder.values.items()
    }


@pytest.mark.filterwarnings("ignore:recorded on interp")
@pytest.mark.parametrize("kept", [{}, {"last": 2}, {"iterations": slice(3, None)}])
def test_a_run_that_fails(kept):
    compiled, heard = recorded(treadle.RunError, f"iteration {FAILS_AT}", TOO_LONG, **kept)
    assert plain(compiled) == plain(heard)
    assert (FAILS_AT - 1,) in compiled["y"]


def test_only_the_window_that_fails_is_repeated():
    recorder = treadle.Recorder(select="y")
    with (
        pytest.warns(RuntimeWarning, match="on interp, from iteration 7 of main/loop_1 on"),
        pytest.raises(treadle.RunError),
    ):
        treadle.InferenceSession(MODEL).run(None, TOO_LONG, listener=recorder)
    assert recorder.stacked("y").shape == (FAILS_AT,)


@pytest.mark.filterwarnings("ignore:recorded on interp")
def test_a_run_that_reaches_a_limit():
    options = treadle.RunOptions(max_iterations=6)
    compiled, heard = recorded(treadle.LimitExceeded, "max_iterations", FEEDS, options)
    assert plain(compiled) == plain(heard)
    assert len(compiled["y"]) == 6


class Stops(treadle.RunOptions):
    """Stops a run once the recorder has something of the loop."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    @property
    def terminate(self):
        return any(len(column.at.T) for column in self.recorder.columns)

    @terminate.setter
    def terminate(self, value):
        pass


def test_a_run_that_is_stopped():
    recorder = treadle.Recorder(select="y")
    with pytest.raises(treadle.Terminated):
        treadle.InferenceSession(MODEL).run(None, FEEDS, Stops(recorder), listener=recorder)
    assert recorder.stacked("y").shape == (2,)


IN_A_FUNCTION = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (int64 m, float[T] x, float h0) => (float h) { h = local.sums (m, x, h0) }
<domain: "local", opset_import: ["" : 21]>
sums (m, x, h0) => (h) {
    h = Loop (m, , h0) <body = b (int64 i, bool go, float c) => (bool on, float y) {
        on = Identity (go)
        item = Gather (x, i)
        y = Add (c, item)
    }>
}"""


def test_a_loop_in_a_function_runs_in_windows_too():
    session = treadle.InferenceSession(IN_A_FUNCTION)
    heard, recorder = treadle.Recorder(select="y"), treadle.Recorder(select="y")
    wanted = session.run(None, FEEDS, listener=heard)
    assert session.run(None, FEEDS, treadle.RunOptions(), listener=recorder) == wanted
    assert plain(recorder) == plain(heard)
    with pytest.raises(treadle.Terminated):
        session.run(None, FEEDS, Stops(recorder := treadle.Recorder(select="y")), listener=recorder)
    assert recorder.stacked("y").shape == (2,)


LISTING = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[2] x) => (seq(float[2]) all) {
  empty = SequenceEmpty ()
  all = Loop (n, , empty)
  <body = b (int64 i, bool c, seq(float[2]) s) => (bool go, seq(float[2]) t) {
    go = Identity (c)
    t = SequenceInsert (s, x)
  }>
}"""


def test_a_sequence_that_a_loop_returns_is_recorded_as_one():
    session, feeds = treadle.InferenceSession(LISTING), {"n": np.int64(5), "x": np.float32([1, 2])}
    recorders = [treadle.Recorder(select="all", max_bytes=bound) for bound in (None, 10**9)]
    for recorder in recorders:
        session.run(None, feeds, treadle.RunOptions(), listener=recorder)
    (one,), (other,) = (recorder["all"].values() for recorder in recorders)
    assert isinstance(one, list)
    assert np.array_equal(one, other)


ENDLESS = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float x, float limit) => (float last) {
  last = Loop (n, , x) <body = b (int64 i, bool c, float h) => (bool go, float y) {
    go = CONDITION
    m = Mul (h, x)
    y = Add (m, x)
  }>
}"""


RAGGED = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n) => (int64 last) <int64 five = {5}, int64 none = {0}, int64 one = {1}> {
  last = Loop (n, , none) <body = b (int64 i, bool c, int64 h) => (bool go, int64 k) {
    go = Identity (c)
    size = Mod (i, five)
    r = Range (none, size, one)
    k = ReduceSum <keepdims = 0> (r)
  }>
}"""
SLOW = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[600,600] x) => (float[600,600] last) {
  last = Loop (n, , x) <body = b (int64 i, bool c, float[600,600] h)
  => (bool go, float[600,600] y) {
    go = Identity (c)
    m = MatMul (h, x)
    m2 = MatMul (m, x)
    m3 = MatMul (m2, x)
    m4 = MatMul (m3, x)
    y = Tanh (m4)
  }>
}"""


def interrupted(seconds, run):
    """Run until Ctrl-C; a signal that falls into a finalizer is lost, so more follow.

    Without the cycle collector: hypothesis has a callback there, in which signals would be lost.
    """
    is_over = threading.Event()

    def interrupt():
        wait = seconds
        while not is_over.wait(wait):
            signal.raise_signal(signal.SIGINT)
            wait = 5

    thread = threading.Thread(target=interrupt)
    gc.disable()
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        is_over.set()
        thread.join()
        gc.enable()


@pytest.mark.parametrize("engines", [None, ["onnxruntime"], ["interp"]])
@pytest.mark.parametrize("condition", ["Identity (c)", "Less (h, limit)"])
def test_ctrl_c_leaves_everything_before(condition, engines, monkeypatch):
    monkeypatch.undo()  # windows as they are
    session = treadle.InferenceSession(ENDLESS.replace("CONDITION", condition), engines=engines)
    feeds = {"n": np.int64(5000), "x": np.float32(0.5), "limit": np.float32(2)}
    whole = treadle.Recorder(select="y")
    session.run(None, feeds, listener=whole)
    recorder = treadle.Recorder(select="y")
    interrupted(0.3, lambda: session.run(None, {**feeds, "n": np.int64(10**9)}, listener=recorder))
    found, known = recorder.stacked("y"), whole.stacked("y")
    assert len(found) > 50
    assert np.array_equal(found[:5000], known[: len(found)])
    assert np.all(found[5000:] == known[-1])


@pytest.mark.parametrize("engines", [None, ["onnxruntime"]])
def test_ctrl_c_leaves_ragged_values(engines, monkeypatch):
    monkeypatch.undo()
    session, recorder = (
        treadle.InferenceSession(RAGGED, engines=engines),
        treadle.Recorder(select="r"),
    )
    session.run(None, {"n": np.int64(5000)}, listener=treadle.Recorder(select="r"))
    interrupted(0.5, lambda: session.run(None, {"n": np.int64(10**9)}, listener=recorder))
    assert len(recorder["r"]) > 50
    assert all(len(value) == at[0] % 5 for at, value in recorder["r"].items())


def test_ctrl_c_leaves_few_slow_iterations(monkeypatch):
    monkeypatch.undo()
    feeds = {"n": np.int64(50), "x": np.full((600, 600), 1e-3, np.float32)}
    session, recorder = (
        treadle.InferenceSession(SLOW, engines=["onnxruntime"]),
        treadle.Recorder(select="y"),
    )
    session.run(None, {**feeds, "n": np.int64(1)})
    interrupted(0.3, lambda: session.run(None, feeds, listener=recorder))
    assert 1 <= len(recorder["y"]) < 50


def test_native_code_writes_into_the_recorders_arrays(monkeypatch):
    monkeypatch.undo()
    buffers = []
    monkeypatch.setattr(RunBuffers, "wrote", lambda self, rows: buffers.append((self, dict(rows))))
    recorder = treadle.Recorder(select="y")
    session = treadle.InferenceSession(ENDLESS.replace("CONDITION", "Identity (c)"))
    feeds = {"n": np.int64(4000), "x": np.float32(0.5), "limit": np.float32(2)}
    session.run(None, feeds, listener=recorder)
    ((kept, rows),) = buffers
    assert rows["main/loop_0.body/y"] is None
    assert np.shares_memory(kept.arrays["main/loop_0.body/y"], recorder.stacked("y"))

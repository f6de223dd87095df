"""Long loops inside other loops and in branches are recorded in windows as interp's events are."""

import numpy as np
import pytest

import treadle
from tests.comparing.test_inner_windows import DEEP, FEEDS
from tests.comparing.test_windows import BRANCHED, INNER
from tests.tracing.test_statistics import assert_equal, compiled_and_heard
from tests.tracing.test_stopped_recording import plain
from treadle.recording import StagedRun, in_windows, loop_lengths, window_size

FAILING = INNER.replace("float h0)", "float[k] x, float h0)").replace(
    "a2 = Sin (a)", "item = Gather (x, j) a2 = Add (a, item)"
)
FORMS = {
    "deep": (DEEP, FEEDS),
    "nested": (INNER, {"n": np.array(3), "m": np.array(9), "h0": np.float32(1)}),
    "branch": (BRANCHED, {"p": np.array(True), "m": np.array(9), "h0": np.float32(1)}),
}


@pytest.fixture(autouse=True)
def windows(monkeypatch):
    """Loops of more than six iterations run in windows; every body that is entered is counted."""
    monkeypatch.setattr(loop_lengths, "LONG", 6)
    monkeypatch.setattr(in_windows, "FIRST_SIZE", 2)
    monkeypatch.setattr(in_windows, "size_in_time", lambda size, seconds: 3)
    monkeypatch.setattr(window_size, "LARGEST_SIZE", 3)
    entered, enter = [], StagedRun.enter
    monkeypatch.setattr(StagedRun, "enter", lambda run: entered.append(run) or enter(run))
    yield
    assert entered


def recorders(select="*", **kept):
    yield treadle.Recorder(select=select, **kept)
    yield treadle.Recorder(select=select, max_bytes=10**9, **kept)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kept", "select"),
    [
        ({}, "*"),
        ({"last": 2}, "*"),
        ({"iterations": slice(1, None)}, "*"),
        ({}, "role:carried"),
        ({"last": 2}, "*body/?2"),
    ],
)
def test_values_are_those_of_events(form, kept, select):
    if form == "deep" and select != "*":
        select = "main/scan_0.body/*"
    model, feeds = FORMS[form]
    session, (compiled, heard) = treadle.InferenceSession(model), recorders(select, **kept)
    outputs = session.run(None, feeds, treadle.RunOptions(), listener=compiled)
    wanted = session.run(None, feeds, listener=heard)
    for one, other in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    got, events = plain(compiled), plain(heard)
    assert got.keys() == events.keys()
    for name, values in events.items():
        assert got[name].keys() == values.keys()
        for at, value in values.items():
            np.testing.assert_allclose(got[name][at], value, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_statistics(form):
    model, feeds = FORMS[form]
    got, wanted = compiled_and_heard(model, feeds)
    for name, numbers in wanted.items():
        assert (got[name].count, got[name].nans) == (numbers.count, numbers.nans)
        assert got[name].mean == pytest.approx(numbers.mean, rel=1e-5)


@pytest.mark.filterwarnings("ignore:recorded on interp")
def test_a_run_that_fails_in_an_inner_loop():
    x = np.arange(8, dtype=np.float32)
    feeds = {"n": np.array(2), "m": np.array(9), "x": x, "h0": np.float32(1)}
    compiled, heard = recorders()
    for recorder in (compiled, heard):
        with pytest.raises(treadle.RunError, match="iteration 0, iteration 8") as failure:
            treadle.InferenceSession(FAILING).run(None, feeds, listener=recorder)
        assert failure.value.iterations == (0, 8)
    assert plain(compiled) == plain(heard)


@pytest.mark.filterwarnings("ignore:recorded on interp")
def test_a_run_that_reaches_a_limit_in_an_inner_loop():
    options = treadle.RunOptions(max_iterations=15)
    model, feeds = FORMS["nested"]
    compiled, heard = recorders("a2")
    for recorder in (compiled, heard):
        with pytest.raises(treadle.LimitExceeded, match="max_iterations=15"):
            treadle.InferenceSession(model).run(None, feeds, options, listener=recorder)
    assert len(compiled["a2"]) == len(heard["a2"])


def test_equal_statistics_of_whole_numbers():
    model, feeds = FORMS["nested"]
    model = model.replace("a2 = Sin (a)", "k = Add (i, j) a2 = Sin (a)")
    got, wanted = compiled_and_heard(model, feeds)
    name = ("main/loop_0.body/loop_1.body", "k")
    assert_equal({name: got[name]}, {name: wanted[name]})

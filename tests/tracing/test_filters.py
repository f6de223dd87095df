"""Filters of a recorder keep the same values of a compiled loop as of interp's events."""

import numpy as np
import pytest

import treadle
from tests.comparing.test_windows import FORMS
from treadle.recording import in_windows, loop_lengths, window_size

FILTERS = {
    "range": {"iterations": slice(1, 6, 2)},
    "last": {"last": 3},
    "around": {"around": "> 4", "margin": 1},
    "around in a range": {"around": "> 4", "margin": 2, "iterations": slice(2, None)},
}


@pytest.fixture(params=["whole", "windows"])
def lengths(request, monkeypatch):
    if request.param == "windows":
        monkeypatch.setattr(loop_lengths, "LONG", -1)
        monkeypatch.setattr(in_windows, "FIRST_SIZE", 2)
        monkeypatch.setattr(window_size, "LARGEST_SIZE", 3)


def recorded(form, **options):
    """What a recorder keeps on the default engines, and of the events of interp."""
    model, feeds = FORMS[form]
    session = treadle.InferenceSession(model)
    compiled = treadle.Recorder(select="*", **options)
    heard = treadle.Recorder(select="*", max_bytes=10**9, **options)
    outputs = session.run(None, feeds, listener=compiled)
    wanted = session.run(None, feeds, listener=heard)
    assert [np.asarray(v).tolist() for v in outputs] == [np.asarray(v).tolist() for v in wanted]
    return compiled, heard


@pytest.mark.parametrize("form", ["counted", "while", "ragged", "reversed along the last axis"])
@pytest.mark.parametrize("options", FILTERS.values(), ids=list(FILTERS))
def test_compiled_and_interpreted_recordings_keep_the_same_iterations(form, options, lengths):
    compiled, heard = recorded(form, **options)
    got, wanted = compiled.values, heard.values
    assert set(got) == set(wanted)
    for name, times in wanted.items():
        assert {at: np.asarray(v).tolist() for at, v in got[name].items()} == {
            at: np.asarray(v).tolist() for at, v in times.items()
        }, name


def test_statistics_are_those_of_all_iterations(lengths):
    compiled, heard = recorded("counted", statistics=True)
    for name in ("y", "c2", "item", "h"):
        got, wanted = compiled.summary(name), heard.summary(name)
        assert (got.count, got.minimum, got.maximum) == (
            wanted.count,
            wanted.minimum,
            wanted.maximum,
        )
        assert got.mean == pytest.approx(wanted.mean)


def test_feeds_that_do_not_fit_are_named_by_the_inputs_of_the_model(lengths):
    model, feeds = FORMS["counted"]
    session, recorder = treadle.InferenceSession(model), treadle.Recorder(select="y", last=2)
    with pytest.raises(treadle.InputError, match="x"):
        session.run(None, {**feeds, "x": np.float32([[1]])}, listener=recorder)


def test_a_run_that_fails_in_a_later_window_is_repeated_on_interp(lengths):
    model, feeds = FORMS["counted"]
    session = treadle.InferenceSession(model)
    recorder = treadle.Recorder(select="y", iterations=slice(0, None))
    with (
        pytest.warns(RuntimeWarning, match="recorded on interp"),
        pytest.raises(treadle.RunError),
    ):
        session.run(None, {**feeds, "m": np.array(9)}, listener=recorder)
    assert [at for (at,) in recorder["y"]] == list(range(7))

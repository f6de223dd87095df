"""Progress: its output and its times."""

import io

import pytest

import treadle
from treadle.tracing import IterationStarted, LoopEnded, LoopStarted, progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def told(clock, trip, *times):
    stream = io.StringIO()
    listener = treadle.Progress(stream)
    listener(LoopStarted("main/loop_0", (), trip))
    for number, seconds in enumerate(times):
        clock[0] = seconds
        listener(IterationStarted("main/loop_0", (number,)))
        listener(LoopStarted("main/loop_0.body/loop_1", (number,), 5))
        listener(IterationStarted("main/loop_0.body/loop_1", (number, 0)))
        listener(LoopEnded("main/loop_0.body/loop_1", (number,), 5, "trip"))
    listener(LoopEnded("main/loop_0", (), len(times), "trip"))
    return stream.getvalue().split("\r")


def test_progress_has_the_time_left_where_a_trip_count_bounds_the_loop(clock):
    lines = told(clock, 5000, 0.0, 0.5, 1.0)
    assert lines[1] == "main/loop_0: 1 of 5,000 iterations, 2 a second, 41 min 40 s left"
    assert lines[2] == "main/loop_0: 2 of 5,000 iterations, 2 a second, 41 min 39 s left"
    assert lines[3].strip() == lines[4] == ""


def test_a_loop_without_a_bound_has_no_time_left(clock):
    assert told(clock, None, 0.0, 0.5)[1] == "main/loop_0: 1 iterations, 2 a second"


def test_the_line_is_written_ten_times_a_second_at_most(clock):
    assert len(told(clock, 9, 0.0, 0.2, 0.21, 0.22, 0.4)) == 5
    assert told(clock, 9, 0.4, 0.4) == [""]


def test_an_object_without_write_is_refused():
    with pytest.raises(treadle.InputTypeError, match="stream is an int, wanted a text stream"):
        treadle.Progress(3)


def test_the_line_of_a_stopped_run_is_erased(clock):
    stream = io.StringIO()
    listener = treadle.Progress(stream)
    listener(LoopStarted("main/loop_0", (), None))
    clock[0] = 1.0
    listener(IterationStarted("main/loop_0", (3,)))
    listener.close()
    assert stream.getvalue().endswith(" \r")

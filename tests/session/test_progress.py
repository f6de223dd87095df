"""Progress on compiled loops: the same outputs, and a line for each window of iterations."""

import io

import numpy as np
import pytest

import treadle
from treadle.recording import WatchedModel
from treadle.tracing import IterationStarted, LoopEnded, LoopStarted

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
COUNT = (
    HEAD
    + """main (int64 n, float[T] xs) => (float s, float[N] ys, float last) {
    zero = Constant<value = float {0}>()
    s, ys = Loop (n, "", zero) <body = b (int64 i, bool c, float a) => (bool go, float b, float y) {
        most = Constant<value = float {3000}>()
        step = Cast<to = 1>(i)
        b = Add(a, step)
        go = Less(step, most)
        y = Neg(b)
    }>
    last = Scan <num_scan_inputs = 1, body = scan (float a, float x) => (float b) {
        b = Add(a, x)
    }>(s, xs)
}"""
)


def feeds(trips, length):
    return {"n": np.int64(trips), "xs": np.ones(length, np.float32)}


@pytest.mark.parametrize(("trips", "length"), [(1000, 300), (5000, 100), (0, 65), (70, 3)])
def test_the_outputs_are_those_of_a_plain_run(trips, length):
    session = treadle.InferenceSession(COUNT)
    plain = session.run(None, feeds(trips, length))
    stream = io.StringIO()
    watched = session.run(None, feeds(trips, length), listener=treadle.Progress(stream))
    for found, wanted in zip(watched, plain, strict=True):
        np.testing.assert_array_equal(found, wanted)
    (last,) = session.run(["last"], feeds(trips, length), listener=treadle.Progress(stream))
    np.testing.assert_array_equal(last, plain[2])


def watched(model, feed):
    told = []
    session = treadle.InferenceSession(model)
    outputs = WatchedModel(session.model, treadle.InferenceSession, None).run(feed, told.append)
    return outputs, told


def test_each_window_is_an_event_between_those_of_the_loop():
    outputs, told = watched(COUNT, feeds(5000, 10))
    begin, *windows, end = told
    assert begin == LoopStarted("main/loop_1", (), 5000)
    assert end == LoopEnded("main/loop_1", (), 3001, "condition")
    assert windows[0] == IterationStarted("main/loop_1", (64,))
    assert windows[-1] == IterationStarted("main/loop_1", (3001,))
    assert len(outputs) == 3


def test_a_short_loop_and_random_numbers_run_in_no_windows():
    assert watched(COUNT, feeds(5, 10)) == (None, [])
    random = COUNT.replace("b = Add(a, step)", "r = RandomNormalLike(a)\n b = Add(step, r)")
    assert watched(random, feeds(5000, 10)) == (None, [])


def test_a_run_that_fails_says_where_as_a_plain_run_does():
    model = COUNT.replace("y = Neg(b)", "p = Gather(xs, i)\n y = Neg(p)")
    session = treadle.InferenceSession(model)
    with pytest.raises(treadle.RunError) as plain:
        session.run(None, feeds(1000, 300))
    with pytest.raises(treadle.RunError) as heard:
        session.run(None, feeds(1000, 300), listener=treadle.Progress(io.StringIO()))
    assert "iteration 300" in str(plain.value)
    assert str(heard.value) == str(plain.value)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def test_a_line_fits_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("treadle.tracing.progress._EVERY", 0)
    stream = Terminal()
    treadle.InferenceSession(COUNT).run(None, feeds(5000, 100), listener=treadle.Progress(stream))
    lines = stream.getvalue().split("\r")
    assert any(line.startswith("main/loop_1") for line in lines)
    assert max(map(len, lines)) < 40


def test_a_run_that_fails_in_windows_is_not_interpreted_again(monkeypatch):
    text = COUNT.replace("y = Neg(b)", "x = Gather(xs, i) y = Neg(x)")
    session = treadle.InferenceSession(text)
    heard = []
    monkeypatch.setattr(session, "_run", lambda *given: heard.append(given) or [])
    session.run(None, feeds(5000, 100), listener=treadle.Progress(io.StringIO()))
    ((_, _, options, listener),) = heard
    assert (options, listener) == (None, None)

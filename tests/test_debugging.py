"""Stepping through a run: by node, by iteration, out of a body, to a condition, and back."""

import gc
import threading

import numpy as np
import pytest

import treadle
from treadle.tracing import IterationStarted, LoopEnded

MODEL = """<ir_version: 10, opset_import: ["" : 21]>
smooth (float[T] x, float start) => (float[T] y, float twice) {
  last, y = Scan <num_scan_inputs = 1, body = step (float h, float item) => (float n, float o) {
    half = Constant <value_float = 0.5> ()
    sum = Add (h, item)
    n = Mul (sum, half)
    o = Identity (n)
  }> (start, x)
  twice = Add (last, last)
}"""
FEEDS = {"x": np.float32([1, 2, 3]), "start": np.float32(0)}


@pytest.fixture
def debugger():
    with treadle.InferenceSession(MODEL).debug(FEEDS) as made:
        yield made


def test_stepping_node_by_node_to_the_end(debugger):
    made = []
    while debugger.step():
        made.append(debugger.event.name)
    assert made[:4] == ["half", "sum", "n", "o"]
    assert made[-1] == "twice"
    wanted = treadle.InferenceSession(MODEL).run(None, FEEDS)
    assert debugger.outputs[0].tolist() == wanted[0].tolist()
    assert not debugger.step()


def test_running_to_a_condition(debugger):
    assert debugger.run_to("sum", when="> 2")
    assert debugger.event.iterations == (1,)
    assert debugger["sum"] == 2.5
    assert debugger["main/scan_0.body/h"] == 0.5
    assert "iteration 1 of main/scan_0" in repr(debugger)
    assert debugger.run_to("n", when=lambda value: value > 2)
    assert debugger.event.iterations == (2,)
    assert not debugger.run_to("sum")


def test_stepping_by_iteration_and_out_of_the_body(debugger):
    debugger.step()
    assert debugger.step_iteration()
    assert debugger.event == IterationStarted("main/scan_0", (1,))
    debugger.step()
    assert debugger.step_out()
    assert isinstance(debugger.event, LoopEnded)
    assert debugger.event.trips == 3
    assert debugger.run_to("twice")
    assert debugger["twice"] == 4.25


def test_stepping_back_and_forth(debugger):
    debugger.run_to("o")
    assert debugger.back(2)
    assert debugger.event.name == "sum"
    assert debugger.step()
    assert debugger.event.name == "n"
    assert debugger.step()
    assert debugger.step()
    assert debugger.event.iterations == (1,)
    assert not debugger.back(100)


def test_errors_of_a_run_are_raised_by_the_step():
    session = treadle.InferenceSession(MODEL)
    with session.debug({"x": np.float32([1])}) as debugger, pytest.raises(treadle.InputError):
        debugger.step()
    with session.debug(FEEDS) as debugger:
        with pytest.raises(treadle.InputError, match="nothing matches"):
            debugger.run_to("summ")
        debugger.run_to("sum")
        with pytest.raises(treadle.InputError, match="did you mean"):
            debugger["summ"]
    assert not debugger.step()


def test_the_history_is_bounded_in_bytes_and_reports_dropped_values():
    session = treadle.InferenceSession(MODEL)
    feeds = {**FEEDS, "x": np.arange(100, dtype=np.float32)}
    with session.debug(feeds, max_bytes=200) as debugger:
        while debugger.step():
            pass
        assert debugger.dropped > 300
        assert debugger["twice"] == debugger.outputs[1]
        assert not debugger.back(100)
    with session.debug(feeds) as debugger:
        while debugger.step():
            pass
        assert debugger.dropped == 0
    with pytest.raises(treadle.InputTypeError, match="max_bytes"):
        session.debug(feeds, max_bytes="much")


def test_an_unclosed_debugger_leaves_no_thread():
    before = threading.active_count()
    debugger = treadle.InferenceSession(MODEL).debug(FEEDS)
    assert debugger.step()
    assert threading.active_count() == before + 1
    del debugger
    gc.collect()
    assert threading.active_count() == before

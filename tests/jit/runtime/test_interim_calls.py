"""Calls of the whole model by another engine while its code is compiled in the background."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import treadle
from tests.jit.runtime.test_background_jobs import NEVER_ANSWERS, until
from tests.jit.runtime.test_compile_modes import PATIENCE, SCAN, fed, right, session_of
from treadle.jit.runtime import background, compiler_process
from treadle.session import interim


def interim_of(session: treadle.InferenceSession, feeds: dict[str, np.ndarray]) -> object:
    session.run(None, feeds)
    until(lambda: session._interim is not None)
    return session._interim


def test_a_brief_first_call_makes_the_program_of_later_ones(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", NEVER_ANSWERS)
    monkeypatch.setattr(interim, "_BRIEF", PATIENCE)
    session = session_of("background")
    session.run(None, fed(4, 2))
    assert session._interim is not None


def test_new_providers_end_the_calls_of_the_old_ones(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", NEVER_ANSWERS)
    session = session_of("background")
    beside = interim_of(session, fed(4, 2))
    session.set_providers(["CPUExecutionProvider"])
    assert session._interim is None
    assert beside.is_over
    until(lambda: worker.thread is None)


def test_a_larger_whole_number_is_no_short_call(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", NEVER_ANSWERS)
    model = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[2] x, int64 n) => (float[2] y) {
      y = Loop (n, , x) <body = b (int64 i, bool c, float[2] h) => (bool d, float[2] k) {
        d = Identity (c)
        k = Tanh (h)
      }>
    }"""
    options = treadle.SessionOptions(compile="background", cache_dir="")
    session = treadle.InferenceSession(model, options)
    feeds = {"x": np.ones(2, np.float32), "n": np.array(3)}
    beside = interim_of(session, feeds)
    assert beside.outputs(feeds) is not None
    assert beside.outputs({**feeds, "n": np.array(2)}) is not None
    assert beside.outputs({**feeds, "n": np.array(2**40)}) is None


SEQUENCES = """<ir_version: 10, opset_import: ["" : 21]>
g (seq(float[n]) s) => (seq(float[n]) y) {
  k = SequenceLength (s)
  e = SequenceEmpty ()
  y = Loop (k, , e) <body = b (int64 i, bool c, seq(float[n]) had) => (bool d, seq(float[n]) has) {
    d = Identity (c)
    x = SequenceAt (s, i)
    t = Tanh (x)
    has = SequenceInsert (had, t)
  }>
}"""


def test_lists_run_as_a_whole_beside_the_compiler(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", NEVER_ANSWERS)
    options = treadle.SessionOptions(compile="background", cache_dir="")
    session = treadle.InferenceSession(SEQUENCES, options)
    items = [np.ones(3, np.float32), np.zeros(2, np.float32)]
    beside = interim_of(session, {"s": items})
    (outputs,) = beside.outputs({"s": items[::-1]})
    assert [each.tolist() for each in outputs] == [[0, 0], np.tanh(items[0]).tolist()]
    assert beside.outputs({"s": items[:1]}) is not None
    for other in (
        [*items, np.zeros(0, np.float32)],
        [items[1][:1]] * 3,
        [np.ones(4, np.float32), items[1]],
        [[1.0], items[1]],
        tuple(items),
    ):
        assert beside.outputs({"s": other}) is None
        assert len(session.run(None, {"s": other})[0]) == len(other)
    wrong = {"s": [np.ones(3), items[1]]}
    assert beside.outputs(wrong) is None
    with pytest.raises(treadle.InputError):
        session.run(None, wrong)


def test_what_must_be_converted_is_not_called_as_it_is(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", NEVER_ANSWERS)
    session = session_of("background")
    feeds = fed(4, 2)
    assert right(session.run(None, {**feeds, "h": [0.0, 0.0]}), feeds)
    until(lambda: worker.process.process is not None)
    assert session._interim is None


def test_large_results_are_held_against_memory_beside_the_compiler(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", NEVER_ANSWERS)
    model = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,1] x, float[1,m] r, float[k,2] z, float[2] h) => (float s, float[2] y) {
      p = Add (x, r)
      s = ReduceMean <keepdims = 0> (p)
      y = Scan <num_scan_inputs = 1, body = b (h, q) => (t) { t = Add (h, q) }> (h, z)
    }"""
    options = treadle.SessionOptions(compile="background", cache_dir="")
    session = treadle.InferenceSession(model, options)
    feeds = {
        "x": np.ones((4, 1), np.float32), "r": np.ones((1, 5), np.float32),
        "z": np.ones((3, 2), np.float32), "h": np.zeros(2, np.float32),
    }  # fmt: skip
    assert session._programs.direct_without(("jit",), feeds) is not None
    large = {**feeds, "x": np.ones((5000, 1), np.float32), "r": np.ones((1, 5000), np.float32)}
    assert session._programs.direct_without(("jit",), large) is None


def test_a_fed_default_is_heeded_beside_the_compiler(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", NEVER_ANSWERS)
    model = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[4,2] x, float[1] unread, float[2] h = {5, 5}) => (float[2] y, float[4,2] ys) {
      y, ys = Scan <num_scan_inputs = 1, body = b (s, r) => (t, o) {
        t = Add (s, r)
        o = Tanh (t)
      }> (h, x)
    }"""
    options = treadle.SessionOptions(compile="background", cache_dir="")
    session = treadle.InferenceSession(model, options)
    feeds = {**fed(4, 2), "unread": np.zeros(1, np.float32)}
    session.run(None, feeds)
    until(lambda: worker.process.process is not None)
    assert right(session.run(None, feeds), feeds)
    del feeds["h"]
    assert np.allclose(session.run(None, feeds)[0], 6)


def test_a_profile_hears_every_call(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", NEVER_ANSWERS)
    options = treadle.SessionOptions(compile="background", cache_dir="")
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = treadle.InferenceSession(SCAN, options)
    session.run(None, fed(4, 2))
    until(lambda: worker.process.process is not None)
    assert session._interim is None

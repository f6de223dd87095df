"""`SessionOptions.compile`: when the code of a loop is made, and what runs meanwhile."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx.parser
import pytest

import treadle
from tests.jit.native import HEAD, natives
from treadle.jit.runtime import background, compilation, compiler_process
from treadle.session import interim

SCAN = (
    HEAD
    + """g (float[T,B] x, float[B] h) => (float[B] y, float[T,B] ys) {
  y, ys = Scan <num_scan_inputs = 1, body = b (float[B] s, float[B] r) => (float[B] t, float[B] o) {
    t = Add (s, r)
    o = Tanh (t)
  }> (h, x)
}"""
)
MEANWHILE = "compiled in the background"
PATIENCE = 60.0
"""Seconds for a process that compiles, on a machine under load."""


def session_of(mode: str, cache: object = "", **options: object) -> treadle.InferenceSession:
    made = treadle.SessionOptions(compile=mode, cache_dir=str(cache), **options)
    return treadle.InferenceSession(SCAN, made)


def fed(steps: int, width: int) -> dict[str, np.ndarray]:
    return {"x": np.full((steps, width), 0.25, np.float32), "h": np.zeros(width, np.float32)}


def right(outputs: list[np.ndarray], feeds: dict[str, np.ndarray]) -> bool:
    x = feeds["x"]
    return np.allclose(outputs[0], x.sum(0)) and np.allclose(outputs[1], np.tanh(x.cumsum(0)))


def native_runs(session: treadle.InferenceSession, feeds: dict[str, np.ndarray]) -> bool:
    """Run until the call finds its code; whether that was in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert right(session.run(None, feeds), feeds)
        if natives(session)[0].cache.by_shapes:
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(autouse=True)
def _own_worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A thread and a process of its own for each test, which have ended afterwards."""
    monkeypatch.setattr(background, "_worker", background._Worker())
    yield
    end = time.monotonic() + PATIENCE
    while background._worker.thread is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert background._worker.thread is None


def test_eager_compiles_for_the_declared_types(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "treadle"):
        session = session_of("eager")
    assert len([line for line in caplog.messages if "compiled in" in line]) == 1
    caplog.clear()
    with caplog.at_level(logging.INFO, "treadle"):
        for steps, width in ((3, 2), (7, 5), (0, 4)):
            feeds = fed(steps, width)
            outputs = session.run(None, feeds)
            assert outputs[1].shape == (steps, width)
            assert right(outputs, feeds)
    assert caplog.messages == []
    assert "float32[?,?]" in session.explain()


def test_an_eager_kernel_is_not_for_what_broadcasts() -> None:
    session = session_of("eager")
    for width in (1, 4, 1):
        feeds = fed(6, width)
        assert right(session.run(None, feeds), feeds)


def test_eager_leaves_vague_types_to_the_first_run(caplog: pytest.LogCaptureFixture) -> None:
    model = onnx.parser.parse_model(SCAN)
    for declared in model.graph.input:
        declared.type.tensor_type.ClearField("shape")
    options = treadle.SessionOptions(compile="eager", cache_dir="")
    with caplog.at_level(logging.INFO, "treadle"):
        session = treadle.InferenceSession(model.SerializeToString(), options)
    (line,) = caplog.messages
    assert line.startswith(
        "main: not compiled before its first run: they do not determine the rank"
    )
    feeds = fed(3, 2)
    assert right(session.run(None, feeds), feeds)
    assert natives(session)[0].cache.by_shapes


def test_eager_in_a_deterministic_session_compiles_no_open_extents() -> None:
    session = session_of("eager", use_deterministic_compute=True)
    assert natives(session)[0].cache.compiled == {}
    feeds = fed(3, 2)
    assert right(session.run(None, feeds), feeds)
    assert "float32[?,2]" in session.explain()


def test_the_limit_of_seconds_holds_for_eager_compiling() -> None:
    limits = treadle.LoadLimits(seconds=0.0)
    with pytest.raises(treadle.LoadLimitExceeded):
        session_of("eager", load_limits=limits)


def test_calls_run_on_onnxruntime_until_the_code_is_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = session_of("background")
    feeds = fed(4, 2)
    with caplog.at_level(logging.INFO, "treadle"):
        assert right(session.run(None, feeds), feeds)
        assert MEANWHILE in session.explain()
        assert natives(session)[0].cache.compiled == {}
        assert native_runs(session, feeds)
    assert "compiled in the background in" in session.explain()
    assert MEANWHILE in caplog.text
    assert "main: compiled in the background in" in caplog.text


def test_the_model_runs_as_a_whole_beside_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interim, "_SHORT", PATIENCE)  # a busy machine takes longer for any call
    session = session_of("background")
    feeds, others = fed(4, 2), fed(4, 3)
    session.run(None, feeds)
    end = time.monotonic() + PATIENCE
    while session._interim is None and time.monotonic() < end:
        time.sleep(0.001)
    beside = session._interim
    assert beside is not None
    outputs = beside.outputs(feeds)
    assert outputs is not None
    assert right(outputs, feeds)
    assert beside.outputs(others) is None
    assert right(session.run(None, others), others)
    assert native_runs(session, feeds)
    session.run(None, feeds)
    assert beside.is_over


def test_warm_up_waits_for_the_code() -> None:
    session = session_of("background")
    session.warm_up(dims={"B": 3})
    assert natives(session)[0].cache.by_shapes
    assert MEANWHILE not in session.explain()


def test_the_code_is_that_of_the_first_run() -> None:
    feeds = fed(5, 3)
    kept = []
    for mode in ("first_run", "background"):
        compilation._recent.clear()
        session = session_of(mode)
        session.run(None, feeds)
        assert native_runs(session, feeds)
        ((key, data),) = compilation._recent.items()
        kept.append((key, data))
    assert kept[0] == kept[1]


def test_a_long_call_waits_for_its_code() -> None:
    session = session_of("background")
    feeds = fed(200_000, 1)
    assert right(session.run(None, feeds), {**feeds, "x": feeds["x"].astype(np.float64)})
    assert natives(session)[0].cache.by_shapes


def test_no_call_is_interpreted_for_lack_of_code() -> None:
    options = treadle.SessionOptions(compile="background", cache_dir="")
    session = treadle.InferenceSession(SCAN, options, engines=["jit", "interp"])
    session.run(None, fed(4, 2))
    assert natives(session)[0].cache.by_shapes


def test_code_on_disk_is_used_at_once(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    treadle.save(treadle.load(SCAN), path)
    options = treadle.SessionOptions(compile="background", cache_dir=str(tmp_path / "kept"))
    feeds = fed(4, 2)
    treadle.InferenceSession(path, options).warm_up(feeds)
    compilation._recent.clear()
    session = treadle.InferenceSession(path, options)
    session.run(None, feeds)
    assert natives(session)[0].cache.by_shapes


def test_deterministic_sessions_refuse_the_background() -> None:
    with pytest.raises(treadle.InputError, match="use_deterministic_compute"):
        session_of("background", use_deterministic_compute=True)


def test_other_modes_are_refused() -> None:
    with pytest.raises(treadle.InputTypeError, match='wanted "first_run", "background" or "eager"'):
        treadle.SessionOptions(compile="lazy")


def test_a_pickled_session_keeps_its_mode() -> None:
    again = pickle.loads(pickle.dumps(session_of("background")))
    assert again.get_session_options().compile == "background"


def test_without_a_process_the_thread_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_process, "_is_python", lambda executable: False)
    session = session_of("background")
    feeds = fed(4, 2)
    assert right(session.run(None, feeds), feeds)
    assert native_runs(session, feeds)


def test_a_process_that_dies_is_replaced_by_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_process, "_PROGRAM", "raise SystemExit(1)")
    session = session_of("background")
    feeds = fed(4, 2)
    assert right(session.run(None, feeds), feeds)
    assert native_runs(session, feeds)


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="the system has no waitid")
def test_a_process_that_dies_before_it_is_written_to_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []

    class Dead(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            made.append(self)

    monkeypatch.setattr(compiler_process, "_PROGRAM", "raise SystemExit(1)")
    monkeypatch.setattr(subprocess, "Popen", Dead)
    found = compiler_process.CompilerProcess().compiled(1, contextlib.nullcontext, lambda: False)
    assert found is None
    (process,) = made
    assert process.returncode == 1
    assert process.stdin.closed


def test_a_dropped_session_leaves_no_thread_and_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        compiler_process, "_PROGRAM", "import sys, time; sys.stdin.read(9); time.sleep(600)"
    )
    session = session_of("background")
    known = weakref.ref(natives(session)[0])
    session.run(None, fed(4, 2))
    end = time.monotonic() + PATIENCE
    while background._worker.process.process is None and time.monotonic() < end:
        time.sleep(0.01)
    process = background._worker.process.process
    assert process is not None
    del session
    gc.collect()
    assert known() is None
    assert process.wait(PATIENCE) is not None


PROCESS = """
import os, sys, threading, time
import numpy as np
import treadle

text = sys.argv[1]
options = treadle.SessionOptions(compile="background", cache_dir="")
session = treadle.InferenceSession(text, options)
feeds = {"x": np.ones((4, 2), np.float32), "h": np.zeros(2, np.float32)}
session.run(None, feeds)
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        session.run(None, feeds)
        session.warm_up(feeds)
        assert np.all(session.run(None, feeds)[0] == 4)
        assert "compiled in" in session.explain()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
again = treadle.InferenceSession(text.replace("Tanh", "Cos"), options)
again.run(None, feeds)
print("done", flush=True)
"""


def test_a_process_forks_and_ends_while_code_is_compiled() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROCESS, SCAN],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
    assert "Traceback" not in ran.stderr


def test_threads_share_one_job() -> None:
    session = session_of("background")
    feeds = fed(4, 2)
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(right(session.run(None, feeds), feeds)))
        for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [True] * 8
    assert native_runs(session, feeds)
    assert len(natives(session)[0].cache.compiled) == 1

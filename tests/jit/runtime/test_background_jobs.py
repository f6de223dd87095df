"""Compiling in the background beside forks, dropped sessions, new providers and faults."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import treadle
from tests.jit.runtime.test_compile_modes import (
    PATIENCE,
    SCAN,
    fed,
    native_runs,
    right,
    session_of,
)
from treadle.errors import InternalCompilerWarning
from treadle.jit import internal_errors
from treadle.jit.runtime import background, compiler_process
from treadle.jit.runtime import region_compiler as compiler
from treadle.session import interim

ANSWERS_ONCE = """
import sys, time
sys.stdin.buffer.readline()
size = int.from_bytes(sys.stdin.buffer.read(8), "little")
sys.stdin.buffer.read(size)
sys.stdout.buffer.write(bytes(8))
sys.stdout.flush()
time.sleep(600)
"""
NEVER_ANSWERS = "import time; time.sleep(600)"


class Owner:
    """What code is for."""


def job_of(work: Callable[[], None], owner: Owner) -> background.Job:
    return background.Job(work, background.weakref.ref(owner))


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> background._Worker:
    """A thread and a process of its own for each test; all calls are short on a busy machine."""
    monkeypatch.setattr(interim, "_SHORT", PATIENCE)
    made = background._Worker()
    monkeypatch.setattr(background, "_worker", made)
    return made


def until(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_true() and time.monotonic() < end:
        time.sleep(0.001)
    assert is_true()


def interim_of(session: treadle.InferenceSession, feeds: dict[str, np.ndarray]) -> object:
    session.run(None, feeds)
    until(lambda: session._interim is not None)
    return session._interim


def test_a_finalizer_may_drop_a_job_while_another_is_submitted(worker: background._Worker) -> None:
    job = job_of(lambda: None, Owner())

    def finalize() -> None:
        with worker.lock:
            worker.cancel(job)

    thread = threading.Thread(target=finalize, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert job.is_over


def test_a_job_dropped_after_its_answer_leaves_the_process_to_others(
    worker: background._Worker,
) -> None:
    owner = Owner()
    made: list[object] = []

    def dropped() -> None:
        made.append(worker._compiled("no kernel", ()))
        worker.cancel(jobs[0])

    jobs = [
        job_of(dropped, owner),
        job_of(lambda: made.append(worker._compiled("no kernel", ())), owner),
    ]
    for job in jobs:
        job.start()
    until(lambda: worker.thread is None)
    assert made == [None, None]
    assert not worker.process.is_broken


def test_the_end_waits_for_the_work_at_hand_and_drops_the_rest(worker: background._Worker) -> None:
    owner, begun, may_end, done = Owner(), threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        may_end.wait(PATIENCE)
        done.append("first")

    for each in (work, lambda: done.append("second")):
        job_of(each, owner).start()
    assert begun.wait(PATIENCE)
    ending = threading.Thread(target=worker.finish, daemon=True)
    ending.start()
    ending.join(0.05)
    assert ending.is_alive()
    may_end.set()
    ending.join(PATIENCE)
    assert not ending.is_alive()
    assert done == ["first"]


def test_code_is_compiled_where_the_other_engine_fails(
    worker: background._Worker, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []
    job_of(lambda: done.append("compiled"), owner := Owner()).start(failing)
    until(lambda: worker.thread is None)
    assert done == ["compiled"]
    assert "preparing another engine meanwhile failed: LookupError: no such place" in caplog.text
    del owner


def test_what_no_import_uses_may_be_in_the_path(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("nowhere")])
    session = session_of("background")
    assert native_runs(session, fed(4, 2))
    assert not worker.process.is_broken


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_does_not_wait_for_a_process_after_another_failed() -> None:
    program = """
import os, sys, time, weakref
from treadle.jit.runtime import background, compiler_process

class Owner:
    pass

compiler_process._PROGRAM = sys.argv[1]
owner, worker = Owner(), background._worker
for number in range(2):
    job = background.Job(lambda: worker._compiled("no kernel", ()), weakref.ref(owner))
    job.start()
while worker.current is not job:
    time.sleep(0.01)
time.sleep(0.1)  # the thread waits for the process, which does not answer the second job
child = os.fork()
if child == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("done", flush=True)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, ANSWERS_ONCE],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_compiles_what_its_parent_was_at() -> None:
    program = """
import os, sys, time
import numpy as np
import treadle
from treadle.jit.runtime import compiler_process
from treadle.session import interim

interim._SHORT = 60  # also on a busy machine
compiler_process._PROGRAM = sys.argv[2]
options = treadle.SessionOptions(compile="background", cache_dir="")
feeds = {"x": np.ones((4, 2), np.float32), "h": np.zeros(2, np.float32)}
session = treadle.InferenceSession(sys.argv[1], options)
session.run(None, feeds)
while session._interim is None:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    session.run(None, feeds)
    os._exit(7 if session._interim is None else 8)
assert session._interim is not None
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
    ran = subprocess.run(
        [sys.executable, "-c", program, SCAN, NEVER_ANSWERS],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "7\n"), ran.stderr


def failing(*_: object) -> None:
    raise LookupError("no such place")


def met(session: treadle.InferenceSession) -> None:
    """A call that begins a job, and the end of the job."""
    session.run(None, fed(4, 2))
    until(lambda: background._worker.thread is None)


def test_a_fault_is_raised_by_the_next_call_when_debugging(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "compiled", failing)
    session = session_of("background")
    met(session)
    with pytest.raises(LookupError, match="no such place"):
        session.run(None, fed(4, 2))


def test_a_fault_is_a_warning_and_another_engine_answers(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_DEBUG", "0")
    monkeypatch.setattr(internal_errors, "_warned", set())
    monkeypatch.setattr(compiler, "compiled", failing)
    session = session_of("background")
    with pytest.warns(InternalCompilerWarning, match="no such place"):
        met(session)
    feeds = fed(4, 2)
    assert right(session.run(None, feeds), feeds)
    assert "no such place" in session.explain()


def test_a_fault_is_an_error_where_warnings_are(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_DEBUG", "0")
    monkeypatch.setattr(internal_errors, "_warned", set())
    monkeypatch.setattr(compiler, "compiled", failing)
    session = session_of("background")
    met(session)
    for _ in range(2):
        with pytest.raises(InternalCompilerWarning, match="no such place"):
            session.run(None, fed(4, 2))

"""Compiling in the background beside forks, dropped sessions, new providers and faults."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

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
from treadle.jit.runtime import background
from treadle.jit.runtime import region_compiler as compiler

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


def until(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_true() and time.monotonic() < end:
        time.sleep(0.001)
    assert is_true()


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


@pytest.mark.parametrize("at_once", [False, True])
def test_code_is_compiled_where_the_other_engine_fails(
    worker: background._Worker, caplog: pytest.LogCaptureFixture, at_once: bool
) -> None:
    done: list[str] = []
    job = job_of(lambda: done.append("compiled"), owner := Owner())
    job.start(failing, at_once=at_once)
    until(lambda: worker.thread is None)
    assert done == ["compiled"]
    assert "preparing another engine meanwhile failed: LookupError: no such place" in caplog.text
    del owner


@pytest.mark.parametrize("at_once", [False, True])
def test_what_comes_before_the_code_is_done_once(worker: background._Worker, at_once: bool) -> None:
    done: list[object] = []
    job = job_of(lambda: done.append("compiled"), owner := Owner())
    job.start(lambda: done.append(threading.current_thread()), at_once=at_once)
    job.start(lambda: done.append("again"), at_once=at_once)
    until(lambda: worker.thread is None)
    assert done[1:] == ["compiled"]
    assert (done[0] is threading.current_thread()) is at_once
    del owner


def test_ctrl_c_while_another_engine_is_prepared_leaves_the_code_to_be_compiled(
    worker: background._Worker,
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    done: list[str] = []
    job = job_of(lambda: done.append("compiled"), owner := Owner())
    with pytest.raises(KeyboardInterrupt):
        job.start(interrupted, at_once=True)
    until(lambda: worker.thread is None)
    assert done == ["compiled"]
    del owner


def test_what_no_import_uses_may_be_in_the_path(
    worker: background._Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("nowhere")])
    session = session_of("background")
    assert native_runs(session, fed(4, 2))
    assert not worker.process.is_broken


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
before = session._interim
child = os.fork()
if child == 0:
    session.run(None, feeds)
    os._exit(8 if session._interim is before else 7)
assert session._interim is before
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

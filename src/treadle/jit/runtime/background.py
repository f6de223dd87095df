"""Compiles in the background: one thread of the process, and a process that it hands kernels to.

    a call whose code is missing -> Job -> the thread: lowering -> the process: codegen and LLVM
                                                       <- the code, which the next call finds

Code generation is Python, and would hold the GIL: a call beside it would wait for milliseconds each
time it comes back from another engine. So another process generates and compiles the code, at a low
priority. Where none can be started, the thread does it. Thread and process end when nothing is left
to compile, or nobody is left to use it. A fork and the exit of the process wait until the thread
waits for its process, with no lock held. The forked process has neither, and compiles for itself.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from treadle.jit.runtime import compilation
from treadle.jit.runtime.compiler_process import Cancelled, CompilerProcess
from treadle.plan import Pending

_log = logging.getLogger("treadle")
_NAME = "treadle compiles in the background"


@dataclass(eq=False, slots=True)
class Job(Pending):
    """Work for the thread, as long as its owner lives."""

    work: Callable[[], None]
    owner: weakref.ref[Any]
    is_started: bool = False
    is_over: bool = False
    was_met: bool = False
    is_cancelled: bool = False
    before: Callable[[], None] | None = None
    _end: Callable[[], object] = field(default=lambda: None)

    def start(self, before: Callable[[], None] | None = None, *, at_once: bool = False) -> None:
        """Have the thread do the work, once.

        The thread calls `before` first; the caller does if `at_once`.
        """
        owner = self.owner()
        if self.is_started or owner is None:
            return
        self.is_started, self.before = True, before
        self._end = weakref.finalize(owner, _cancel, self).detach
        try:
            if at_once:
                self._prepare()
        finally:
            _worker.submit(self)

    def run(self) -> None:
        """Do the work, unless it was cancelled; an error is left to the call that meets it."""
        try:
            self._prepare()
            self._do("compiling in the background", self.work)
        finally:
            self.work, self.before, self.is_over = _nothing, None, True
            self._end()

    def _prepare(self) -> None:
        before, self.before = self.before, None
        if before is not None:
            self._do("preparing another engine meanwhile", before)

    def _do(self, what: str, part: Callable[[], None]) -> None:
        try:
            if not self.is_cancelled:
                part()
        except Cancelled:
            pass
        except Exception as fault:  # noqa: BLE001  the next call compiles itself, and raises it
            _log.warning("%s failed: %s: %s", what, type(fault).__name__, fault)

    def cancel(self) -> None:
        """Drop the work; if it has begun, it ends before its next kernel."""
        self.is_cancelled = self.is_over = True
        self.work, self.before = _nothing, None


def _nothing() -> None:
    return None


@dataclass(eq=False, slots=True)
class _Worker:
    """The jobs of this process, the thread that does them, and the job it is at.

    `work` is held by the thread, except while it waits for its process. `lock` may be entered
    again, by a finalizer that Python's cycle collector calls inside it.
    """

    jobs: deque[Job] = field(default_factory=deque)
    thread: threading.Thread | None = None
    current: Job | None = None
    process: CompilerProcess = field(default_factory=CompilerProcess)
    lock: threading.RLock = field(default_factory=threading.RLock)
    work: threading.RLock = field(default_factory=threading.RLock)

    def submit(self, job: Job) -> None:
        """Have a job done, by a new thread if there is none."""
        with self.lock:
            self.jobs.append(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self._work, name=_NAME, daemon=True)
                self.thread.start()

    def cancel(self, job: Job) -> None:
        """Drop a job's work; if it is being done, its process ends."""
        with self.lock:
            job.cancel()
            if job is self.current:
                self.process.kill()

    def finish(self) -> None:
        """Drop all jobs, and keep the thread from working on: LLVM does not outlive the process."""
        with self.lock:
            for job in (*self.jobs, *filter(None, [self.current])):
                self.cancel(job)
        is_main = threading.current_thread() is threading.main_thread()
        if not self.work.acquire(blocking=False):
            if is_main:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
            self.work.acquire()

    def _work(self) -> None:
        compilation.compile_by(self._compiled)
        while (job := self._next()) is not None:
            with self.work:
                job.run()

    def _next(self) -> Job | None:
        with self.lock:
            if self.current is not None and self.current.is_cancelled:
                self.process.close()  # it may have been killed after its answer
            self.current = self.jobs.popleft() if self.jobs else None
            if self.current is None:
                self.thread = None
                self.process.close()
            return self.current

    def _compiled(self, *kernel: object) -> bytes | None:
        job = self.current
        if job is None:
            return None
        return self.process.compiled(kernel, self._waiting, lambda: job.is_cancelled)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        self.work.release()
        try:
            yield
        finally:
            self.work.acquire()


_worker = _Worker()


def _cancel(job: Job) -> None:
    _worker.cancel(job)


def _before_fork() -> None:
    _worker.work.acquire()


def _after_fork() -> None:
    with contextlib.suppress(RuntimeError):  # Ctrl-C ended the waiting for it
        _worker.work.release()


def _begin_anew() -> None:
    global _worker
    _worker.process.forget()
    _worker = _Worker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_begin_anew
    )
atexit.register(lambda: _worker.finish())

"""Runs of onnxruntime with a time limit: the caller gets the result or the error in time.

onnxruntime checks `terminate` between nodes only, and one matrix product may take minutes. A run
with max_seconds, or a long one with RunOptions, is therefore executed by a thread of its own, on
copies of its inputs. A thread that has not ended shortly after its deadline is abandoned: it has
been asked to terminate, ends with its current node, and its result is dropped. While a thread is
abandoned, the session starts no further run of this kind.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from treadle.errors import Terminated
from treadle.plan import RunContext

_GRACE = 0.1
_PERIOD = 0.02
_log = logging.getLogger("treadle")
T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Abandoned:
    """The thread that a session abandoned, if any.

    `is_slow`: a run took longer than the grace period.
    """

    thread: threading.Thread | None = None
    is_slow: bool = False

    def run(self, work: Callable[[], T], context: RunContext, path: str) -> T:
        """Call `work()`; raises LimitExceeded at most a tenth of a second after the deadline.

        Raises Terminated in the same way after a request to terminate.
        """
        left = self.thread
        if left is not None:
            _wait_for(left, context)
            context.poll(path, advice="a run before it, which was stopped, has not ended yet")
        job = _Job(work)
        thread = threading.Thread(target=job.do, name="treadle bounded run", daemon=True)
        thread.start()
        try:
            if _waited(job.done, context):
                return job.result()
        except KeyboardInterrupt:
            self._leave(thread, path)
            raise
        self._leave(thread, path)
        context.poll(path)
        raise Terminated("stopped by RunOptions.terminate", path)

    def _leave(self, thread: threading.Thread, path: str) -> None:
        self.thread = thread
        _log.warning(
            "%s: a kernel of onnxruntime does not stop in time; its run goes on in the background"
            " until the kernel ends",
            path,
        )


def copied(value: object) -> object:
    """Copy the value: the caller may write to its arrays once the run is over."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return [copied(each) for each in value] if isinstance(value, list) else value


@dataclass(eq=False, slots=True)
class _Job(Generic[T]):
    work: Callable[[], T]
    done: threading.Event = field(default_factory=threading.Event)
    outcome: list[T] = field(default_factory=list)
    failure: BaseException | None = None

    def do(self) -> None:
        try:
            self.outcome.append(self.work())
        except BaseException as failure:  # noqa: BLE001  raised where the result is waited for
            self.failure = failure
        finally:
            self.done.set()

    def result(self) -> T:
        if self.failure is not None:
            raise self.failure
        return self.outcome[0]


def _wait_for(left: threading.Thread, context: RunContext) -> None:
    """Wait until the thread has ended or its deadline has passed."""
    end = time.monotonic() + _seconds_left(context)
    while left.is_alive() and time.monotonic() < end:
        if context.options is not None and context.options.terminate:
            return
        left.join(_PERIOD)


def _waited(done: threading.Event, context: RunContext) -> bool:
    """Whether the work ended in time, and before a request to terminate."""
    end = time.monotonic() + _seconds_left(context) + _GRACE
    while not done.wait(min(_PERIOD, max(0.0, end - time.monotonic()))):
        is_told = context.options is not None and context.options.terminate
        if is_told:
            return done.wait(_GRACE)
        if time.monotonic() >= end:
            return False
    return True


def _seconds_left(context: RunContext) -> float:
    seconds = context.limits.seconds
    if seconds is None:
        return threading.TIMEOUT_MAX - 1
    return min(max(0.0, context.started + seconds - time.monotonic()), threading.TIMEOUT_MAX - 1)

"""Foreign kernels in bounded runs: the caller gets the result or the error in time.

Neither onnxruntime nor numpy stops inside a kernel, and one matrix product may take minutes. Such
work is therefore executed by a thread of its own, on copies of its inputs. A thread that has not
ended shortly after its deadline is abandoned: it has been asked to terminate, ends with its current
kernel, and its result is dropped. While a thread is abandoned, the session starts no further work
of this kind.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from treadle.errors import Terminated

_LONG, _VERY_LONG = 2**28, 2**30
"""Multiplications of a product that take 5 ms, and 20 ms, at least."""
_INTENSE = 1024
"""Multiplications per element, beside which copying the element costs little."""
_GRACE = 0.1
_PERIOD = 0.02
_log = logging.getLogger("treadle")
T = TypeVar("T")


class BoundedRun(Protocol):
    """A run with its limits: a `RunContext`."""

    limits: Any
    options: Any
    started: float

    @property
    def may_stop(self) -> bool:
        """Whether `poll` can ever raise."""

    def poll(self, path: str, iterations: tuple[int, ...] = (), advice: str = ...) -> None:
        """Raise Terminated or LimitExceeded if the run must stop here."""


@dataclass(eq=False, slots=True)
class Abandoned:
    """The thread that a session abandoned, if any.

    `is_slow`: a run took longer than the grace period.
    """

    thread: threading.Thread | None = None
    is_slow: bool = False

    def run(self, work: Callable[[], T], context: BoundedRun, path: str) -> T:
        """Call `work()`; raises LimitExceeded at most a tenth of a second after the deadline.

        Raises Terminated in the same way after a request to terminate.
        """
        left = self.thread
        if left is not None:
            _wait_for(left, context)
            context.poll(path, advice="a run before it, which was stopped, has not ended yet")
        job = _Job(work)
        thread = threading.Thread(target=_do, args=(job,), name="treadle bounded run", daemon=True)
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
            "%s: a kernel does not stop in time; it goes on in the background until it ends",
            path,
        )


def is_long(work: float, elements: int, context: BoundedRun) -> bool:
    """Whether a product of `work` multiplications is for `Abandoned.run`.

    Without bounds only in the main thread, where Ctrl-C comes, and only if copying its operands
    costs nothing beside it.
    """
    if context.may_stop:
        return work > _LONG
    is_dear = work > _VERY_LONG and work > _INTENSE * elements
    return is_dear and threading.current_thread() is threading.main_thread()


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

    def result(self) -> T:
        """The result of the work, or its failure; may be called once."""
        failure, self.failure = self.failure, None
        if failure is None:
            return self.outcome[0]
        try:
            raise failure
        finally:
            del failure  # it refers to this frame


def _do(job: _Job[Any]) -> None:
    """Do the work of a thread; a failure refers to this frame, which must not refer to the job."""
    try:
        job.outcome.append(job.work())
    except BaseException as failure:  # noqa: BLE001  raised where the result is waited for
        job.failure = failure
    finally:
        job.done.set()
        del job


def _wait_for(left: threading.Thread, context: BoundedRun) -> None:
    """Wait until the thread has ended or its deadline has passed."""
    end = time.monotonic() + _seconds_left(context)
    while left.is_alive() and time.monotonic() < end:
        if context.options is not None and context.options.terminate:
            return
        left.join(_PERIOD)


def _waited(done: threading.Event, context: BoundedRun) -> bool:
    """Whether the work ended in time, and before a request to terminate."""
    end = time.monotonic() + _seconds_left(context) + _GRACE
    while not done.wait(min(_PERIOD, max(0.0, end - time.monotonic()))):
        is_told = context.options is not None and context.options.terminate
        if is_told:
            return done.wait(_GRACE)
        if time.monotonic() >= end:
            return False
    return True


def _seconds_left(context: BoundedRun) -> float:
    seconds: float | None = context.limits.seconds
    if seconds is None:
        return threading.TIMEOUT_MAX - 1
    return min(max(0.0, context.started + seconds - time.monotonic()), threading.TIMEOUT_MAX - 1)

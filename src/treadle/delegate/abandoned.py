"""Runs of onnxruntime with a time bound: the caller gets its answer, or the error, in time.

onnxruntime looks at `terminate` between nodes only, and one product may take minutes. A run with
max_seconds is therefore done by a thread of its own, on copies of its inputs. Where that has not
ended a little after its time, it is left behind: it was told to terminate, ends with its node, and
its result is dropped. A session begins no further run with a time bound while one is left behind.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from treadle.plan import RunContext

_GRACE = 0.1
_log = logging.getLogger("treadle")
T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Abandoned:
    """The thread a session left behind, if it did."""

    thread: threading.Thread | None = None

    def run(self, work: Callable[[], T], context: RunContext, path: str) -> T:
        """`work()`; raises LimitExceeded a tenth of a second after its time, done or not."""
        left = self.thread
        if left is not None:
            left.join(_seconds_left(context))
            context.poll(path, advice="a run before it, which was stopped, has not ended yet")
        job = _Job(work)
        thread = threading.Thread(target=job.do, name="treadle bounded run", daemon=True)
        thread.start()
        try:
            if job.done.wait(_seconds_left(context) + _GRACE):
                return job.result()
        except KeyboardInterrupt:
            self._leave(thread, path)
            raise
        self._leave(thread, path)
        context.poll(path)
        raise AssertionError("the time of the run is over")

    def _leave(self, thread: threading.Thread, path: str) -> None:
        self.thread = thread
        _log.warning(
            "%s: a kernel of onnxruntime does not stop in time; its run goes on in the background"
            " until the kernel ends",
            path,
        )


def copied(value: object) -> object:
    """The value in memory of its own: the caller may write to its arrays once the run is over."""
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


def _seconds_left(context: RunContext) -> float:
    seconds = context.limits.seconds
    assert seconds is not None
    return min(max(0.0, context.started + seconds - time.monotonic()), threading.TIMEOUT_MAX - 1)

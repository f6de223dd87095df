"""Stops a run inside onnxruntime: RunOptions.terminate, max_seconds, Ctrl-C.

A run inside onnxruntime notices none of these by itself. Ctrl-C only sets a flag that Python's main
thread handles after the run. While the main thread is inside onnxruntime, the signal's byte is
therefore routed to one watcher thread (`signal.set_wakeup_fd`), which sets onnxruntime's
`terminate` and forwards the byte to the previous receiver (asyncio). The same thread polls
`terminate` and max_seconds every 20 ms, and how much memory a run with loops has filled.

Measured: routing the byte costs about 1 microsecond per call, a run in a worker thread about 55.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from treadle import machine
from treadle.errors import LimitExceeded, Terminated
from treadle.limits import freeze_in_fork
from treadle.locks import ForkSafeLock
from treadle.plan import RunContext

_PERIOD = 0.02
_LINGER = 1.0
_WAKE = b"\0"
T = TypeVar("T")


class Terminable(Protocol):
    """onnxruntime's RunOptions."""

    terminate: bool


@dataclass(eq=False, slots=True)
class CancellableRun:
    """One run that can be cancelled.

    `keeps`: it has loops, whose stacked values onnxruntime keeps, and copies in the end.
    `stopped_by_signal` tells that Ctrl-C ended it, `is_full` that memory did.
    """

    options: Terminable
    context: RunContext
    keeps: bool = False
    stopped_by_signal: bool = False
    is_full: bool = False
    _before: float | None = None

    def look(self) -> None:
        """Stop the run if its context asks for it, or memory ends."""
        if self.keeps:
            self._look_at_memory()
        try:
            self.context.poll("")
        except (LimitExceeded, Terminated):
            self.options.terminate = True

    def _look_at_memory(self) -> None:
        """Stop the run if memory does not hold as much again as the run has filled so far."""
        filled = machine.resident_memory()
        if self._before is None:
            self._before = filled
        elif machine.shortage(filled - self._before) is not None:
            self.is_full = self.options.terminate = True


@dataclass(eq=False, slots=True)
class _Watcher:
    """The watcher thread of this process, and the runs it watches."""

    reader: socket.socket
    writer: socket.socket
    polled: set[CancellableRun] = field(default_factory=set)
    interruptible: list[CancellableRun] = field(default_factory=list)
    forward_to: int = -1
    is_polling: bool = False

    def serve(self) -> None:
        last = time.monotonic()
        while True:
            self.is_polling = time.monotonic() - last < _LINGER
            if self.polled:  # read after `is_polling` is written; `poll` does the reverse
                self.is_polling = True
            ready, _, _ = select.select([self.reader], [], [], _PERIOD if self.is_polling else None)
            if ready:
                self._heard(self.reader.recv(256))
            if ready or self.polled:
                last = time.monotonic()
            for watch in tuple(self.polled):
                watch.look()

    def _heard(self, data: bytes) -> None:
        signals = data.replace(_WAKE, b"")
        if signal.SIGINT in signals:
            for watch in tuple(self.interruptible):
                watch.stopped_by_signal = True
                watch.options.terminate = True
        if signals and self.forward_to >= 0:
            with suppress(OSError):
                os.write(self.forward_to, signals)

    def poll(self, watch: CancellableRun) -> None:
        self.polled.add(watch)
        if not self.is_polling:
            with suppress(BlockingIOError):  # the pipe is full: the watcher wakes anyway
                self.writer.send(_WAKE)


_lock = ForkSafeLock()
_watchers: list[_Watcher] = []


def _watcher() -> _Watcher:
    if _watchers:
        return _watchers[0]
    with _lock:
        if not _watchers:
            reader, writer = socket.socketpair()
            writer.setblocking(False)
            made = _Watcher(reader, writer)
            threading.Thread(target=made.serve, name="treadle watcher", daemon=True).start()
            _watchers.append(made)
    return _watchers[0]


if hasattr(os, "register_at_fork"):  # a forked process has no watcher thread
    os.register_at_fork(after_in_child=_watchers.clear)
    # onnxruntime's threads do not exist there either: collecting a session would wait for them
    os.register_at_fork(after_in_child=freeze_in_fork)


def cancellable(run: Callable[[], T], watch: CancellableRun) -> T:
    """Call `run()` such that its context or Ctrl-C can stop it through `watch.options`."""
    watcher = _watcher()
    context = watch.context
    if context.may_stop or watch.keeps:
        watcher.poll(watch)
    try:
        if threading.get_ident() != threading.main_thread().ident:
            return run()
        return _interruptible(run, watch, watcher)
    finally:
        watcher.polled.discard(watch)


def _interruptible(run: Callable[[], T], watch: CancellableRun, watcher: _Watcher) -> T:
    ours = watcher.writer.fileno()
    before = signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
    try:
        if before != ours:
            watcher.forward_to = before
        watcher.interruptible.append(watch)
        return run()
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        watcher.interruptible.remove(watch)

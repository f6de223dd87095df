"""A listener that shows the progress of loops, on one line that is overwritten."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from treadle.arguments import expect
from treadle.messages import visible
from treadle.tracing.events import Event, IterationStarted, LoopEnded, LoopStarted

__all__ = ["Progress"]

_MILLION = 1_000_000
_EVERY = 0.1
"""Seconds between two updates of the line."""


@runtime_checkable
class Stream(Protocol):
    """A file of text."""

    def write(self, text: str, /) -> object:
        """Write text."""

    def flush(self) -> object:
        """Flush buffered text."""


@dataclass(slots=True)
class _Running:
    """A running outermost loop: its trip count, if it has one, and its start time."""

    path: str
    trip: int | None
    began: float


class Progress:
    """Shows the progress of the outermost loops: iterations, their rate, and the time left.

        session.run(None, feeds, listener=treadle.Progress())

        main/loop_3: 1,240 of 5,000 iterations, 310 a second, 12 s left

    The time left is shown if the loop has a trip count; its condition may end it sooner. The line
    goes to `stream`, by default standard error, and is erased when the loop ends. It is overwritten
    with a carriage return, which terminals and notebooks support. Loops of the main graph with more
    than 64 iterations run at full speed, a window of iterations at a time; other models, random
    operators and runs with RunOptions run on interp. One object follows one run at a time.
    """

    def __init__(self, stream: Stream | None = None) -> None:
        expect(stream, (Stream, type(None)), "stream", "a text stream, or None")
        self._stream = stream
        self._loop: _Running | None = None
        self._written = 0.0
        self._width = 0

    def __call__(self, event: Event) -> None:
        """Update the line, at most ten times a second."""
        match event:
            case LoopStarted(path, (), trip):
                self._loop = _Running(path, trip, time.perf_counter())
            case IterationStarted(path, (number,)) if self._loop and path == self._loop.path:
                self._write(self._loop, number)
            case LoopEnded(path, ()) if self._loop and path == self._loop.path:
                self.close()

    def close(self) -> None:
        """Erase the line, also of a run that was stopped."""
        self._loop = None
        self._wipe()

    def _write(self, loop: _Running, done: int) -> None:
        now = time.perf_counter()
        if now - max(self._written, loop.began) < _EVERY:
            return
        self._written = now
        line = _line(loop.path, done, loop.trip, now - loop.began)[: self._columns()]
        self._put(f"\r{line.ljust(self._width)}")
        self._width = len(line)

    def _wipe(self) -> None:
        if self._width:
            self._put(f"\r{' ' * self._width}\r")
        self._width = 0

    def _columns(self) -> int | None:
        """The columns of the terminal, less one for the cursor; None for another stream."""
        stream = self._stream if self._stream is not None else sys.stderr
        is_terminal = getattr(stream, "isatty", bool)()
        return shutil.get_terminal_size().columns - 1 if is_terminal else None

    def _put(self, text: str) -> None:
        stream = self._stream if self._stream is not None else sys.stderr
        stream.write(text)
        stream.flush()


def _line(path: str, done: int, trip: int | None, seconds: float) -> str:
    path, rate = visible(path), done / seconds
    if trip is None:
        return f"{path}: {done:,} iterations, {_short(rate)} a second"
    left = _duration((trip - done) / rate)
    return f"{path}: {done:,} of {trip:,} iterations, {_short(rate)} a second, {left} left"


def _short(rate: float) -> str:
    """`310`, `12,868`, `12.9 M`."""
    return f"{rate / 1e6:.1f} M" if rate >= _MILLION else f"{rate:,.0f}"


def _duration(seconds: float) -> str:
    """`8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

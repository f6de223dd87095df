"""A listener that times a run: regions, and iterations of loops on interp."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from treadle.profiling import Location
from treadle.tracing import (
    Event,
    Iterations,
    IterationStarted,
    LoopEnded,
    LoopStarted,
    ValueMade,
)


class Span(NamedTuple):
    """An interval between two times of `time.perf_counter_ns`."""

    place: Location
    iterations: Iterations
    start: int
    end: int


@dataclass(slots=True)
class LoopTimes:
    """A loop on interp, over all its runs: their number, and the durations of its iterations."""

    entries: int = 0
    iterations: int = 0
    ns: int = 0
    first_ns: int = 0
    last_ns: int = 0
    several: int = 0


@dataclass(slots=True)
class _Running:
    started: int
    second: int = 0
    last: int = 0


@dataclass(slots=True)
class Stopwatch:
    """Follows one run after the other: a value ends the step that defines it.

    A step begins when the last one ended. Values that a region returns together are one span.
    `whole` are the starts and ends of runs that are a single region.
    """

    places: Mapping[str, Location]
    spans: list[Span] = field(default_factory=list)
    loops: dict[str, LoopTimes] = field(default_factory=dict)
    whole: list[tuple[int, int]] = field(default_factory=list)
    _last: int = 0
    _heard: tuple[str, Iterations] | None = None
    _running: dict[str, _Running] = field(default_factory=dict)

    def start(self) -> int:
        """Start timing a run."""
        self._last, self._heard = time.perf_counter_ns(), None
        return self._last

    def stop(self) -> None:
        """End timing a run that is a single region."""
        self.whole.append((self._last, time.perf_counter_ns()))

    def all_spans(self) -> list[Span]:
        """The spans of all runs so far."""
        location = next(iter(self.places.values()), None)
        runs = [] if location is None else [Span(location, (), *run) for run in self.whole]
        return [*self.spans, *runs]

    def __call__(self, event: Event) -> None:
        """Record a finished step, if the event ends one."""
        now = time.perf_counter_ns()
        match event:
            case ValueMade(_, iterations, _, _, step) if step:
                location = self.places.get(step) or Location(step, "interp", step)
                if (location.path, iterations) != self._heard:
                    self.spans.append(Span(location, iterations, self._last, now))
                self._heard = location.path, iterations
            case LoopStarted(path):
                self._running[path] = _Running(now)
            case IterationStarted(path, iterations):
                self._iteration(self._running[path], iterations[-1], now)
            case LoopEnded(path, _, trips):
                self._ended(path, self._running.pop(path), trips, now)
        self._last = now

    def _iteration(self, running: _Running, number: int, now: int) -> None:
        running.last = now
        if number == 1:
            running.second = now

    def _ended(self, path: str, running: _Running, trips: int, now: int) -> None:
        times = self.loops.setdefault(path, LoopTimes())
        times.entries += 1
        times.iterations += trips
        times.ns += now - running.started
        if trips > 1:
            times.several += 1
            times.first_ns += running.second - running.started
            times.last_ns += now - running.last

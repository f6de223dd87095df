"""Runs a model at full speed while a Progress shows how far its loops are.

The main block's loops run in windows of iterations, each about a fifth of a second long; between
two windows the listener is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from treadle.errors import RunError, Unsupported
from treadle.ir import Model
from treadle.limits import within_load_limits
from treadle.recording.exposures import Runs
from treadle.recording.loop_lengths import draws, long_loops
from treadle.recording.staged import Run, StagedModel
from treadle.recording.staged_run import StagedRun
from treadle.recording.window_size import FIRST_SIZE
from treadle.tracing import IterationStarted, Listener, LoopEnded, LoopStarted

_SECONDS = 0.2
"""The time that a window is made to take."""
_GROWTH = 8
"""How many times longer or shorter than the one before a window is at most."""


class FailedInWindows(Exception):
    """A run in windows failed; a plain run says where."""


class WatchedModel:
    """A model whose loops of more than a few iterations run in windows, for any number of runs."""

    def __init__(self, model: Model, make: Callable[[Model], Runs], options: object) -> None:
        self.model, self.make, self.options = model, make, options
        self.staged: dict[tuple[str, ...], StagedModel | None] = {}

    def run(self, feed: Mapping[str, object], listener: Listener) -> list[Any] | None:
        """The outputs of a run that the listener follows.

        None if no loop can run in windows. Raises FailedInWindows if the run fails; then nothing
        has been kept.
        """
        staged = self._staged(feed)
        if staged is None:
            return None
        run = StagedRun.of(staged, feed)
        try:
            for loop in staged.loops:
                run.until(loop)
                _watch(run, loop, listener)
                run.close()
            run.until("")
        except (RunError, Unsupported) as error:
            raise FailedInWindows from error
        return [run.value(v.name if v else "") for v in self.model.main.results]

    def _staged(self, feed: Mapping[str, object]) -> StagedModel | None:
        loops = tuple(long_loops(self.model, feed, FIRST_SIZE))
        if not loops or draws(self.model):
            return None
        if loops not in self.staged:
            with within_load_limits(self.options):
                self.staged[loops] = StagedModel.of(self.model, loops, self._prepare)
        return self.staged[loops]

    def _prepare(self, model: Model) -> Run:
        session = self.make(model)
        names = [value.name if value else "" for value in model.main.results]
        return lambda feeds: dict(zip(names, session.run(None, feeds), strict=True))


def _watch(run: StagedRun, loop: str, listener: Listener) -> None:
    """Run a loop window by window, and send its events: one iteration for each window."""
    listener(LoopStarted(loop, (), run.limit))
    done, size = 0, FIRST_SIZE
    while not run.has_ended:
        began = time.perf_counter()
        count, _ = run.window(size)
        done += count
        size = _next_size(size, time.perf_counter() - began)
        listener(IterationStarted(loop, (done,)))
    ended_by_trip = run.limit is not None and done == run.limit
    listener(LoopEnded(loop, (), done, "trip" if ended_by_trip else "condition"))


def _next_size(size: int, seconds: float) -> int:
    """The length of the next window, from the time that one of `size` iterations took."""
    fitting = round(size * _SECONDS / max(seconds, 1e-6))
    return max(1, size // _GROWTH, min(fitting, size * _GROWTH))

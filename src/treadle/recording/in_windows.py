"""Records a run whose long loops run in windows, up to where the run ends.

What fails, is stopped or reaches a limit leaves the windows before it. The window in which a run
fails is repeated on interp, for the values before the failure.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from treadle.errors import InputError, RunError, Terminated, Unsupported
from treadle.ir import Model
from treadle.recording.run_limits import Remaining
from treadle.recording.staged import StagedModel
from treadle.recording.staged_run import StagedRun
from treadle.recording.window_size import FIRST_SIZE, next_size, size_in_time
from treadle.tracing import Column, Recorder, Selector

Listened = Callable[[Model, Mapping[str, Any], Recorder, Any], object]
"""Runs a model on interp: the model, the feeds, who listens, and the run options."""


class NotRecorded(Exception):
    """The run cannot be recorded in windows; its message says why."""


def record_in_windows(
    staged: StagedModel,
    selector: Selector,
    feed: Mapping[str, object],
    recorder: Recorder,
    listened: Listened,
    options: Any = None,
    native: Collection[str] = frozenset(),
) -> StagedRun:
    """The run, at its end. Raises what ends it early, and NotRecorded.

    `native` has the loops that run on native code: their first windows are longer.
    """
    run = StagedRun.of(staged, feed)
    run.options, run.keeps_rows = Remaining.of(options), not recorder.is_filtered
    recording = _Recording(recorder, selector, native, run)
    try:
        recording.record_block(run)
    except Terminated as stop:
        raise _in_whole_run(stop, recording.now) from None
    except RunError as failure:
        failure = _in_whole_run(failure, recording.now)
        _repeat(recording.now, recorder, listened, failure)
        raise failure from None
    except (InputError, Unsupported) as failure:
        recorder.clear()
        raise NotRecorded(str(failure)) from None
    finally:
        recorder.end_loop()
    return run


@dataclass(eq=False, slots=True)
class _Recording:
    """Records the loops of a run; `now` is the run of the model or body that runs now."""

    recorder: Recorder
    selector: Selector
    native: Collection[str]
    now: StagedRun

    def record_block(self, run: StagedRun) -> None:
        """Record a block, whose loops run in windows, or a body at a time."""
        self.now = run
        for loop in run.loops:
            self._take(run, run.until(loop))
            if run.is_stepped:
                self._record_bodies(run)
            else:
                self._record_loop(run)
            self._take(run, _asked(run.close(), self.selector))
            if not run.at:
                self.recorder.end_loop()
        self._take(run, run.until(""))

    def _record_bodies(self, run: StagedRun) -> None:
        while (body := run.enter()) is not None:
            self.record_block(body)
            run.leave(body)
            self.now = run

    def _take(self, run: StagedRun, found: Mapping[str, Column]) -> None:
        if run.at:
            self.recorder.take_window([each for each in found.values() if len(each)])
        else:
            self.recorder.take(found.values())
        self.recorder.take_statistics(run.take_statistics())

    def _record_loop(self, run: StagedRun) -> None:
        """Run a loop in windows; what fails in a long one is tried again in shorter ones."""
        recorder = self.recorder
        size = FIRST_SIZE if run.loop in self.native and not run.is_nested else 1
        while not run.has_ended:
            began, start = time.perf_counter(), run.start
            try:
                _, found = run.window(size, falls_back=size <= FIRST_SIZE)
            except (RunError, InputError, Unsupported) as failure:
                if size <= FIRST_SIZE or isinstance(failure, Terminated):
                    raise
                size = max(FIRST_SIZE, size // 8)
                continue
            made = [each.shifted(start, len(run.at)) for each in found.values() if len(each)]
            recorder.take_window(made)
            recorder.take_statistics(run.take_statistics())
            if recorder.is_filtered and not (recorder.is_summary and not made):
                size = next_size(size, sum(c.bytes for c in made))
            else:
                size = size_in_time(size, time.perf_counter() - began)


def _repeat(run: StagedRun, recorder: Recorder, listened: Listened, failure: RunError) -> None:
    """Record the stage or window that failed from the events of interp, up to the failure."""
    start = run.start
    place = f"from iteration {start} of {run.loop} on, " if run.loop else ""
    words = f"recorded on interp, {place}event by event, since the run fails: {failure}"
    warnings.warn(words, RuntimeWarning, stacklevel=2)
    heard = Recorder()
    heard.listen_for(run.chosen())
    with suppress(RunError):  # it is told as the failure of the run
        listened(run.model, run.feeds, heard, run.options)
    shifted = {each.full_name: each.shifted(start) for each in heard.columns}
    recorder.take_window(list(run.placed(shifted).values()))


def _in_whole_run(failure: RunError, run: StagedRun) -> RunError:
    """The error with the iteration numbers of the whole run."""
    numbers = failure.iterations
    if run.loop and numbers and failure.path.startswith(run.loop):
        numbers = (numbers[0] + run.start, *numbers[1:])
    return type(failure)(_of_whole_run(failure.reason, run), failure.path, (*run.at, *numbers))


def _of_whole_run(reason: str, run: StagedRun) -> str:
    """The reason with the limit of the whole run in place of what is left of it."""
    whole = getattr(run.options and run.options.options, "limits", None)
    if run.options is None or whole is None:
        return reason
    left = f"max_iterations={run.options.limits.iterations} "
    return reason.replace(left, f"max_iterations={whole.iterations} ")


def _asked(columns: Mapping[str, Column], selector: Selector) -> dict[str, Column]:
    """The columns without the extras of the step, unless they are selected."""
    return {
        name: column
        for name, column in columns.items()
        if not name.endswith(("@trips", "@taken")) or selector.picks_extra(*name.rsplit("@", 1))
    }

"""Records a run whose long loops run in windows, up to where the run ends.

What fails, is stopped or reaches a limit leaves the windows before it. The window in which a run
fails is repeated on interp, for the values before the failure.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from treadle.errors import InputError, RunError, Terminated, Unsupported
from treadle.ir import Model
from treadle.passes import chosen
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
) -> StagedRun:
    """The run, at its end. Raises what ends it early, and NotRecorded."""
    run = StagedRun.of(staged, feed)
    run.options, run.keeps_rows = Remaining.of(options), not recorder.is_filtered
    try:
        for loop in staged.loops:
            recorder.take(run.until(loop).values())
            recorder.take_statistics(run.take_statistics())
            _record_loop(run, recorder)
            recorder.take(_asked(run.close(), selector))
        recorder.take(run.until("").values())
        recorder.take_statistics(run.take_statistics())
    except Terminated as stop:
        raise _in_whole_run(stop, run) from None
    except RunError as failure:
        failure = _in_whole_run(failure, run)
        _repeat(run, selector, recorder, listened, failure)
        raise failure from None
    except (InputError, Unsupported) as failure:
        recorder.clear()
        raise NotRecorded(str(failure)) from None
    finally:
        recorder.end_loop()
    return run


def _record_loop(run: StagedRun, recorder: Recorder) -> None:
    """Run a loop in windows; what fails in a long one is tried again in shorter ones."""
    size = 1 if run.is_nested else FIRST_SIZE
    while not run.has_ended:
        began, start = time.perf_counter(), run.start
        try:
            _, found = run.window(size, falls_back=size <= FIRST_SIZE)
        except (RunError, InputError, Unsupported) as failure:
            if size <= FIRST_SIZE or isinstance(failure, Terminated):
                raise
            size = max(FIRST_SIZE, size // 8)
            continue
        made = [each.shifted(start) for each in found.values() if len(each)]
        recorder.take_window(made)
        recorder.take_statistics(run.take_statistics())
        if recorder.is_filtered and not (recorder.is_summary and not made):
            size = next_size(size, sum(c.bytes for c in made))
        else:
            size = size_in_time(size, time.perf_counter() - began)
    recorder.end_loop()


def _repeat(
    run: StagedRun, selector: Selector, recorder: Recorder, listened: Listened, failure: RunError
) -> None:
    """Record the stage or window that failed from the events of interp, up to the failure."""
    model, start = run.model, run.start
    place = f"from iteration {start} of {run.loop} on, " if run.loop else ""
    words = f"recorded on interp, {place}event by event, since the run fails: {failure}"
    warnings.warn(words, RuntimeWarning, stacklevel=2)
    heard = Recorder()
    heard.listen_for(pair for pair in chosen(model, selector) if run.is_asked(*pair))
    with suppress(RunError):  # it is told as the failure of the run
        listened(model, run.feeds, heard, run.options)
    recorder.take_window([each.shifted(start) for each in heard.columns])


def _in_whole_run(failure: RunError, run: StagedRun) -> RunError:
    """The error with the iteration numbers of the whole run."""
    numbers = failure.iterations
    if not run.loop or not numbers or not failure.path.startswith(run.loop):
        return failure
    return type(failure)(failure.reason, failure.path, (numbers[0] + run.start, *numbers[1:]))


def _asked(columns: Mapping[str, Column], selector: Selector) -> list[Column]:
    """The columns without the number of trips, unless it is selected."""
    return [
        column
        for name, column in columns.items()
        if not name.endswith("@trips") or selector.picks_extra(*name.rsplit("@", 1))
    ]

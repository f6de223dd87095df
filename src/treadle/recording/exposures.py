"""Recording at full speed: runs the exposed model and gives its outputs to a recorder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from treadle.errors import RunError, Unsupported
from treadle.ir import Model
from treadle.limits import within_load_limits
from treadle.passes import Expand, Exposure, expose, refuse
from treadle.recording.outputs import columns
from treadle.recording.staged import Run, StagedModel, long_loops
from treadle.recording.window_size import FIRST_SIZE, next_size
from treadle.tracing import Column, Recorder, Selector


class Runs(Protocol):
    """The part of a session's interface that recording needs."""

    def run(self, output_names: Sequence[str] | None, input_feed: Any) -> list[Any]:
        """Run the model."""
        ...


class Exposures:
    """Sessions of a model with selected values as outputs, one per selector."""

    def __init__(
        self, model: Model, expand: Expand, make: Callable[[Model], Runs], options: object
    ) -> None:
        self.model, self.expand, self.make, self.options = model, expand, make, options
        self.made: dict[Selector, tuple[Runs, Exposure]] = {}
        self.staged: dict[tuple[Selector, tuple[str, ...]], StagedModel | None] = {}

    def run(
        self, selector: Selector, feed: Mapping[str, object], recorder: Recorder
    ) -> list[Any] | None:
        """The outputs of a run of the exposed model; None if the run must be repeated on interp.

        If the recorder filters iterations, long loops run in windows.
        """
        staged = self._staged(selector, feed) if recorder.is_filtered else None
        if staged is not None:
            return self._run_in_windows(staged, selector, feed, recorder)
        session, exposure = self._exposed(selector)
        if exposure.refused:
            _warn_of_repetition(f"{exposure.refused[0].name}: {exposure.refused[0].reason}")
            return None
        try:
            outputs = session.run(None, feed)
        except RunError as failure:
            _warn_of_repetition(str(failure))
            return None
        names = [value.name if value else "" for value in exposure.model.main.results]
        recorder.take(columns(exposure, dict(zip(names, outputs, strict=True))))
        return outputs[: len(self.model.main.results)]

    def _run_in_windows(
        self,
        staged: StagedModel,
        selector: Selector,
        feed: Mapping[str, object],
        recorder: Recorder,
    ) -> list[Any] | None:
        run = staged.run(feed)
        names = [value.name if value else "" for value in self.model.main.results]
        try:
            for loop in staged.loops:
                recorder.take(run.until(loop).values())
                start, size = 0, FIRST_SIZE
                while not run.has_ended:
                    count, found = run.window(size)
                    made = [each.shifted(start) for each in found.values() if len(each)]
                    recorder.take_window(made)
                    start, size = start + count, next_size(size, sum(c.bytes for c in made))
                recorder.end_loop()
                recorder.take(_asked(run.close(), selector))
            recorder.take(run.until("").values())
        except (RunError, Unsupported) as failure:
            recorder.clear()
            _warn_of_repetition(str(failure))
            return None
        return [run.value(name) for name in names]

    def _staged(self, selector: Selector, feed: Mapping[str, object]) -> StagedModel | None:
        """The model in stages, None if no loop is long or a value has no form in them."""
        loops = tuple(long_loops(self.model, feed))
        if not loops:
            return None
        if (selector, loops) not in self.staged:
            with within_load_limits(self.options):
                selector.expect_match(self.model, "select")
                made = StagedModel.of(self.model, loops, self._prepare, self._expose, selector)
                self.staged[selector, loops] = made
        return self.staged[selector, loops]

    def _prepare(self, model: Model) -> Run:
        session = self.make(model)
        names = [value.name if value else "" for value in model.main.results]
        return lambda feeds: dict(zip(names, session.run(None, feeds), strict=True))

    def _expose(self, model: Model, selector: Selector, _: str) -> Exposure:
        exposure = expose(model, selector, self.expand)
        refuse(exposure)
        return exposure

    def _exposed(self, selector: Selector) -> tuple[Runs, Exposure]:
        found = self.made.get(selector)
        if found is None:
            with within_load_limits(self.options):
                exposure = expose(self.model, selector, self.expand)
                found = self.made[selector] = self.make(exposure.model), exposure
        return found


def _asked(columns: Mapping[str, Column], selector: Selector) -> list[Column]:
    """The columns without the number of trips, unless it is selected."""
    return [
        column
        for name, column in columns.items()
        if not name.endswith("@trips") or selector.picks_extra(*name.rsplit("@", 1))
    ]


def _warn_of_repetition(why: str) -> None:
    """Log that a recording run is repeated on interp, once for each reason."""
    words = f"recorded on interp, event by event, since it cannot be recorded at full speed: {why}"
    warnings.warn(words, RuntimeWarning, stacklevel=2)

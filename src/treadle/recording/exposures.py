"""Recording at full speed: runs the exposed model and gives its outputs to a recorder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

from treadle.errors import InputError, RunError
from treadle.ir import Call, Model
from treadle.limits import within_load_limits
from treadle.options import SessionOptions
from treadle.passes import Expand, Exposure, Form, expanded, expose, refuse
from treadle.recording.in_windows import NotRecorded, record_in_windows
from treadle.recording.loop_lengths import draws, long_steps
from treadle.recording.outputs import columns, statistics
from treadle.recording.row_buffers import RunBuffers
from treadle.recording.run_limits import Remaining, is_kept_in_windows
from treadle.recording.staged import Run, StagedModel
from treadle.tracing import Listener, Recorder, Selector


class Runs(Protocol):
    """The part of a session's interface that recording needs."""

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Any,
        run_options: Any = None,
        *,
        listener: Listener | None = None,
    ) -> list[Any]:
        """Run the model."""
        ...


class RecordedOptions(SessionOptions):
    """The options of a session whose native code tells what it has written where it is stopped."""

    is_recorded = True


class Exposures:
    """Sessions of a model with selected values as outputs, one per selector."""

    def __init__(
        self, model: Model, expand: Expand, make: Callable[[Model], Runs], options: object
    ) -> None:
        self.model, self.expand, self.make, self.options = model, expand, make, options
        self.made: dict[tuple[Selector, frozenset[str]], tuple[Runs, Exposure]] = {}
        self.staged: dict[tuple[Selector, frozenset[str], tuple[str, ...]], StagedModel | None] = {}

    def run(
        self,
        selector: Selector,
        feed: Mapping[str, object],
        recorder: Recorder,
        options: Any,
        compiled: Callable[[], frozenset[str]],
    ) -> list[Any] | None:
        """The outputs of a run of the exposed model; None if the run must be interpreted.

        `compiled` are the paths of steps that run on native code: there, loops compute statistics
        themselves. Elsewhere that takes longer than storing the values of a window.

        Native code writes into the recorder's arrays, so that a run which ends early leaves what it
        wrote. Long loops run in windows if the recorder filters iterations, if run options may stop
        the run, if a condition ends them, if they do not run on native code, or if values are
        recorded as sequences. Else they run at once, and in windows if that fails.
        """
        native = compiled()
        loops = tuple(long_steps(self._inlined, feed, native))
        loops = () if loops and self._draws else loops
        summarized: frozenset[str] = native if recorder.is_summary else frozenset()
        staged = self._staged(selector, summarized, loops) if loops else None
        wants_windows = recorder.is_filtered or options is not None
        if (
            staged is not None
            and (wants_windows or not (staged.is_counted and native.issuperset(staged.loops)))
            and is_kept_in_windows(options, self._inlined, loops)
        ):
            return self._run_in_windows(staged, selector, feed, recorder, options, native)
        if options is not None:
            return None
        session, exposure = self._exposed(selector, summarized)
        if exposure.refused:
            _warn_of_repetition(f"{exposure.refused[0].name}: {exposure.refused[0].reason}")
            return None
        if staged is not None and any(t.form is Form.SEQUENCE and t.depth for t in exposure.names):
            return self._run_in_windows(staged, selector, feed, recorder, None, native)
        buffers = RunBuffers(exposure)
        try:
            outputs = session.run(None, feed, Remaining(falls_back=not loops, memory=buffers))
        except (RunError, InputError) as failure:
            if staged is not None:
                return self._run_in_windows(staged, selector, feed, recorder, None, native)
            if isinstance(failure, InputError):
                raise
            _warn_of_repetition(str(failure))
            return None
        except BaseException:
            recorder.take(buffers.columns())
            raise
        names = [value.name if value else "" for value in exposure.model.main.results]
        made = dict(zip(names, outputs, strict=True))
        recorder.take(columns(exposure, made))
        recorder.take_statistics(dict(statistics(exposure, made)))
        return outputs[: len(self.model.main.results)]

    def _run_in_windows(
        self,
        staged: StagedModel,
        selector: Selector,
        feed: Mapping[str, object],
        recorder: Recorder,
        options: Any,
        native: frozenset[str],
    ) -> list[Any] | None:
        try:
            run = record_in_windows(
                staged, selector, feed, recorder, self._listened, options, native
            )
        except NotRecorded as reason:
            _warn_of_repetition(str(reason))
            return None
        return [run.value(value.name if value else "") for value in self.model.main.results]

    @cached_property
    def _draws(self) -> bool:
        return draws(self._inlined)

    @cached_property
    def _inlined(self) -> Model:
        """The model with functions in place of their calls in the main block."""
        if not any(isinstance(step, Call) for step in self.model.main.steps):
            return self.model
        return expanded(self.model, self.expand)

    def _staged(
        self, selector: Selector, summarized: frozenset[str], loops: tuple[str, ...]
    ) -> StagedModel | None:
        """The model in stages; None if a value has no form in them."""
        key = (selector, summarized, loops)
        if key not in self.staged:
            with within_load_limits(self.options):
                selector.expect_match(self._inlined, "select")
                exposing = partial(self._expose, summarized)
                self.staged[key] = StagedModel.of(
                    self._inlined, loops, self._prepare, exposing, selector
                )
        return self.staged[key]

    def _prepare(self, model: Model) -> Run:
        session = self.make(model)
        names = [value.name if value else "" for value in model.main.results]

        def run(feeds: Mapping[str, Any], options: Any = None) -> dict[str, Any]:
            return dict(zip(names, session.run(None, feeds, options), strict=True))

        return run

    def _listened(
        self, model: Model, feeds: Mapping[str, Any], heard: Recorder, options: Any
    ) -> object:
        """A run on interp, which the recorder listens to."""
        return self.make(model).run(None, feeds, options, listener=heard)

    def _expose(
        self, summarized: frozenset[str], model: Model, selector: Selector, _: str
    ) -> Exposure:
        exposure = expose(model, selector, self.expand, summarized=summarized)
        refuse(exposure)
        return exposure

    def _exposed(self, selector: Selector, summarized: frozenset[str]) -> tuple[Runs, Exposure]:
        found = self.made.get((selector, summarized))
        if found is None:
            with within_load_limits(self.options):
                exposure = expose(self.model, selector, self.expand, summarized=summarized)
                found = self.made[selector, summarized] = self.make(exposure.model), exposure
        return found


def _warn_of_repetition(why: str) -> None:
    """Log that a recording run is repeated on interp, once for each reason."""
    words = f"recorded on interp, event by event, since it cannot be recorded at full speed: {why}"
    warnings.warn(words, RuntimeWarning, stacklevel=2)

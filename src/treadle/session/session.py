"""InferenceSession: from a source to outputs.

source ─▶ read ─▶ check ─▶ prepare (passes) ─▶ infer ─▶ plan ─▶ bind ─▶ run
loading.py       programs.py                                  here
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from treadle import passes
from treadle.arguments import expect_listener
from treadle.boundary import Callback, internal_error, may_pass, public
from treadle.call_arguments import (
    blamed_on_feeds,
    expect_call,
    expect_compile_mode,
    expect_known,
    expect_source,
    listed,
    picked,
)
from treadle.engines import ENGINES, engine_names, engines_of
from treadle.errors import RunError
from treadle.limits import within_load_limits, without_collection
from treadle.load_cache import LoadCache
from treadle.options import SessionOptions
from treadle.ort_session import (
    ModelMetadata,
    choose,
    given,
    supplied,
    write_optimized,
)
from treadle.parity import telling_missing
from treadle.pickling import Recipe, made_again, source_of
from treadle.plan import FallbackRequired, Limits, Plan, Region, RunContext
from treadle.profiling import Profile, Timed, locations_of
from treadle.session.described import DescribedSession
from treadle.session.description import (
    defaults,
    heard_by,
    output_position,
    with_adapters,
)
from treadle.session.eager import compile_declared
from treadle.session.interim import InterimCall, start
from treadle.session.loading import Stages, read_and_check
from treadle.session.programs import Program, Programs
from treadle.tracing import Listener
from treadle.variants import PLAIN, RunMode
from treadle.warming import warm

if TYPE_CHECKING:  # few sessions are recorded or stepped through, and these rooms are large
    from treadle.debugging import Debugger
    from treadle.recording import Exposures, WatchedModel
    from treadle.tracing import Progress, Recorder

__all__ = ["InferenceSession", "ModelMetadata"]

_UNLIMITED = Limits()


@telling_missing
class InferenceSession(DescribedSession):
    """Runs a model; onnxruntime's methods and argument order, so that one import moves a user over.

    `source` is whatever `treadle.load` takes, or a Model. `engines` names the engines to use, in
    order of preference; by default all. `listener` receives the events of loading, and of every run
    without a listener of its own. `providers` are passed to onnxruntime. Other keywords of
    onnxruntime's constructor are accepted: `path_or_bytes` for the source, others without effect.

    Raises LoadError for a source that is not a model and InvalidModel for a model that breaks a
    rule which stops a session; both list every finding.
    """

    _interim: InterimCall | None = None

    @public
    def __init__(
        self,
        source: object = None,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
        *,
        engines: Sequence[str] | None = None,
        listener: Listener | None = None,
        **others: object,
    ) -> None:
        source = others.pop("path_or_bytes", source)
        expect_known(others)
        expect_source(source, sess_options)
        expect_listener(listener)
        self._options = sess_options if sess_options is not None else SessionOptions()
        expect_compile_mode(self._options)
        self._listener = None if listener is None else Callback(listener)
        if getattr(self._options, "enable_profiling", False):
            self._profile = Profile.of(self._options.profile_file_prefix)
            weakref.finalize(self, self._profile.end)
        self._may_fall_back = int(others.get("enable_fallback", 1)) == 1  # type: ignore[call-overload]
        self._named_engines = ENGINES if engines is None else engine_names(engines)
        self._stages = Stages(self._options, self._listener, self._profile)
        with within_load_limits(self._options), without_collection():
            self._chosen = choose(
                self._options,
                self._named_engines,
                providers,
                provider_options,
                may_fall_back=self._may_fall_back,
            )
            self._engines = engines_of(self._named_engines, self._options, *given(self._chosen))
            cache = self._place(source)
            model, found = (None if cache is None else cache.read(self._engines)) or (None, None)
            self._model = read_and_check(source, self._stages) if model is None else model
        self._source = source_of(source)
        self._programs = Programs(self._model, self._engines, self._stages, found)
        self._compiled: tuple[Plan, frozenset[str]] | None = None
        with within_load_limits(self._options):
            self._plain = self._programs.of(PLAIN)
            if cache is not None and found is None:
                cache.write(self._model, self._plain.plan, self._engines)
            self._compile_declared()
        self._programs.found = None
        if getattr(self._options, "optimized_model_filepath", ""):
            write_optimized(self._model, self._options.optimized_model_filepath)

    def _compile_declared(self) -> None:
        if getattr(self._options, "compile", "") == "eager":
            with self._stages.told(), self._stages.stage("compile"):
                compile_declared(self._plain.plan.main)

    def __reduce__(self) -> tuple[Any, ...]:
        providers = None if self._chosen is None else self._chosen.providers
        source = self._source or self._model
        recipe = Recipe.of(
            source, self._options, self._named_engines, providers, self._may_fall_back
        )
        return made_again, (type(self), recipe)

    def _place(self, source: object) -> LoadCache | None:
        """The place of the prepared model on disk; None if a listener observes the loading."""
        if self._listener is not None or supplied(self._options) is not None:
            return None
        return LoadCache.of(source, self._options, self._engines)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: Any = None,
        *,
        listener: Listener | None = None,
    ) -> list[Any]:
        """Run the model; one value per name, or per output of the model for None and for [].

        A tensor is a numpy array, a sequence a list, an absent optional None. `listener` receives
        every value, bodies included: `listener=treadle.Recorder()`. Several threads may call this
        at once.

        Raises InputError for feeds that do not fit the model, RunError if the model fails on them;
        if it fails and the feeds do not fit each other, an InputError that reports both.
        """
        try:  # not decorated with `public`, which would cost one more call in every run
            if listener is None:
                listener = self._listener
            if run_options is None and listener is None and type(input_feed) is dict:
                outputs = self._at_once(input_feed)
                if outputs is not None:
                    return outputs if output_names is None else self._named(output_names, outputs)
            if listener is None:
                return self._run(output_names, input_feed, run_options, None)
            return self._heard(output_names, input_feed, run_options, listener)
        except Exception as error:
            if may_pass(error):
                raise
            raise internal_error(error, "InferenceSession.run") from error

    def _heard(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: Any,
        listener: Listener,
    ) -> list[Any]:
        """A run with a listener."""
        from treadle.tracing import Progress, Recorder

        if isinstance(listener, Callback) and isinstance(listener.function, Recorder | Progress):
            listener = listener.function
        if isinstance(listener, Recorder):
            return self._recorded(output_names, input_feed, run_options, listener)
        if isinstance(listener, Progress) and run_options is None:
            return self._shown(output_names, input_feed, listener)
        return self._run(output_names, input_feed, run_options, listener)

    @cached_property
    def _exposures(self) -> Exposures:
        from treadle.recording import Exposures, RecordedOptions

        alike = partial(
            InferenceSession, engines=self._named_engines, sess_options=RecordedOptions()
        )
        return Exposures(self._model, self._programs.expand, alike, self._options)

    @cached_property
    def _watched(self) -> WatchedModel:
        from treadle.recording import WatchedModel

        alike = partial(InferenceSession, engines=self._named_engines)
        return WatchedModel(self._model, alike, self._options)

    def _shown(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        progress: Progress,
    ) -> list[Any]:
        """A run whose progress is shown: in windows, or interpreted."""
        from treadle.recording import FailedInWindows

        try:
            outputs = self._watched.run(input_feed, progress)
        except FailedInWindows:
            return self._run(output_names, input_feed, None, None)
        if outputs is None:
            return self._run(output_names, input_feed, None, progress)
        return outputs if output_names is None else self._named(output_names, outputs)

    def _recorded(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: Any,
        recorder: Recorder,
    ) -> list[Any]:
        """A run whose values a recorder keeps: of the exposed model, or interpreted."""
        selector = recorder.selector
        if selector is not None and not recorder.looks_at_events:
            outputs = self._exposures.run(
                selector, input_feed, recorder, run_options, self._compiled_steps
            )
            if outputs is not None:
                return outputs if output_names is None else self._named(output_names, outputs)
        if selector is not None:
            selector.expect_match(self._plain.plan.model, "select")
            recorder.listen_for(passes.chosen(self._plain.plan.model, selector))
        try:
            return self._run(output_names, input_feed, run_options, recorder)
        finally:
            recorder.finish()

    def _compiled_steps(self) -> frozenset[str]:
        """The paths of the steps that are expected to run on native code."""
        plan, known = self._plain.plan, self._compiled
        if known is None or known[0] is not plan:
            paths = (path for path, at in locations_of(plan).items() if at.engine == "jit")
            known = self._compiled = plan, frozenset(paths)
        return known[1]

    @public
    def debug(self, feeds: Mapping[str, object], *, max_bytes: int = 1 << 30) -> Debugger:
        """Return a Debugger of a run on interp, which steps through it and goes back.

        It keeps the values of the last 100,000 events, and no more than `max_bytes` of them.
        """
        from treadle.debugging import Debugger

        expect_call(feeds, None)

        def run(listener: Listener) -> list[Any]:
            return self._run(None, feeds, None, listener)

        return Debugger(run, self._plain.plan.model, max_bytes)

    @public
    def warm_up(
        self,
        feeds: Mapping[str, object] | None = None,
        *,
        dims: Mapping[str, int | Sequence[int]] | None = None,
    ) -> None:
        """Run the model once before real use, so that its loops are compiled.

        `feeds` are those of one run; missing inputs are generated from their types. `dims` maps
        symbols of the inputs to one extent or several: `dims={"T": [100, 200]}` runs the model for
        each, and for each combination of several symbols. A missing symbol gets the extent 3; name
        the symbols that matter, since code is specialized to extents. The axis that a loop slices
        usually stays dynamic, so one length of it warms up all lengths. A run on generated feeds
        ends after five seconds, since a loop may never stop on them.

        Raises InputError for a symbol that no input has, if the model fails on generated feeds, and
        if the type of a missing input is not declared; pass feeds in these cases.
        """
        warm(self, feeds, dims)

    def _at_once(self, feed: dict[str, object]) -> list[Any] | None:
        """The outputs of a program that is one call of an engine, for feeds of known types."""
        interim = self._interim
        if interim is not None:
            if interim.is_over:
                self._interim = None
            elif (outputs := interim.outputs(feed)) is not None:
                return outputs
        direct = self._plain.direct
        if direct is None:
            return None
        try:
            return direct(feed)
        except FallbackRequired:
            return None

    def _run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: Any,
        listener: Listener | None,
    ) -> list[Any]:
        if run_options is not None or type(input_feed) is not dict:
            expect_call(input_feed, run_options)
            input_feed = with_adapters(self._model, input_feed, run_options)
        limits = _UNLIMITED if run_options is None else getattr(run_options, "limits", _UNLIMITED)
        program, variant = self._plain, PLAIN
        is_plain = limits.iterations is None and limits.bytes is None and listener is None
        values = program.bind.known(input_feed) if is_plain else None
        if values is None:
            variant = self._variant(input_feed, limits, listener)
            program = self._programs.of(variant)
            values = program.bind(input_feed)
        heard = None
        if listener is not None or self._profile is not None:
            heard = heard_by(listener, self._profile, program.plan)
        context = RunContext(heard, limits, run_options, abandoned=self._programs.abandoned)
        try:
            outputs = program.run(values, context)
        except RunError as failure:
            blamed = blamed_on_feeds(failure, program.inputs, values)
            if blamed is None:
                raise
            raise blamed from failure
        if heard is not None and isinstance(heard, Timed):
            heard.done()
        if context.pending:
            seconds = time.monotonic() - context.started
            is_plain = variant == PLAIN and heard is None
            start(context.pending, self, input_feed if is_plain else None, seconds)
        if context.declined:
            self._replan(variant, program, context.declined)
        if output_names is None:
            return outputs if type(outputs) is list else list(outputs)
        return self._named(output_names, outputs)

    def _variant(
        self, feed: Mapping[str, object], limits: Limits, listener: Listener | None
    ) -> RunMode:
        overridden = frozenset(defaults(self._model) & feed.keys())
        bounded, weighed = limits.iterations is not None, limits.bytes is not None
        return RunMode(listener is not None, bounded, weighed, overridden)

    def _replan(self, variant: RunMode, program: Program, declined: Mapping[Region, str]) -> None:
        """Plan again without the steps that their engine declined at run time."""
        programs = self._programs
        with self._stages.told(), programs.lock:
            made = programs.replanned(variant, program, declined)
            if made is not None and program is self._plain:
                self._plain = made

    def _named(self, names: Sequence[str], outputs: Sequence[Any]) -> list[Any]:
        positions = [output_position(self._plain.outputs, name) for name in listed(names)]
        return picked(outputs, positions) if positions else list(outputs)

    @public
    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
    ) -> None:
        """Replace the execution providers: plans the model again, with code from the cache.

        Warns and falls back as the constructor does. Raises ConfigurationError for a provider that
        onnxruntime does not know; the session then stays unchanged.
        """
        chosen = choose(
            self._options, self._named_engines, providers, provider_options, may_fall_back=False
        )
        made = engines_of(self._named_engines, self._options, *given(chosen))
        with self._programs.lock:
            self._chosen, self._engines, self._interim = chosen, made, None
            self._programs = Programs(self._model, made, self._stages)
        self._plain = self._programs.of(PLAIN)
        self._compile_declared()

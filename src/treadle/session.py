"""InferenceSession: the whole line from a source to outputs, in one file.

source ─▶ read ─▶ check ─▶ prepare (passes) ─▶ infer ─▶ plan ─▶ engines ─▶ run
"""

from __future__ import annotations

import time
import warnings
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from treadle import checks, formats, passes, recording
from treadle.arguments import expect_listener, expect_member
from treadle.boundary import Callback, internal_error, may_pass, public
from treadle.call_arguments import (
    blamed_on_feeds,
    expect_call,
    expect_known,
    expect_source,
    listed,
    picked,
)
from treadle.engines import ENGINES, engine_names, engines_of, on_trial
from treadle.errors import (
    InputError,
    InvalidModel,
    LoadError,
    RunError,
    Terminated,
    Unsupported,
    did_you_mean,
)
from treadle.feeds import InputBinder, NodeArg, node_arg
from treadle.infer import infer as infer_types
from treadle.ir import Call, Declaration, Function, Leaf, Model, Step, Type
from treadle.limits import poll, within
from treadle.load_cache import LoadCache
from treadle.options import SessionOptions
from treadle.ort_session import (
    UNSAID_VERSION,
    ModelMetadata,
    OrtSession,
    given,
    supplied,
    write_optimized,
)
from treadle.parity import telling_missing
from treadle.pickling import Recipe, locked_anew, source_of
from treadle.plan import (
    Engine,
    FallbackRequired,
    Limits,
    NamedCall,
    Plan,
    Region,
    RunContext,
    plan,
)
from treadle.profiling import Profile, Timed, locations_of
from treadle.tracing import Listener, Recorder, Selector, StageDone
from treadle.variants import PLAIN, RunMode
from treadle.warming import warm

if TYPE_CHECKING:
    from treadle import execution
    from treadle.delegate import Chosen

__all__ = ["InferenceSession", "ModelMetadata"]

_MOST_PROGRAMS = 32
_UNLIMITED = Limits()
_CODES = ("kernel", "llvm")


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A model ready to run: its plan, its inputs in order, and what runs it.

    `direct` runs it too, fed by name, where one call of an engine is all there is to do.
    """

    plan: Plan
    inputs: Mapping[str, Type | None]
    outputs: tuple[str, ...]
    run: execution.Program
    bind: InputBinder
    direct: NamedCall | None


@telling_missing
class InferenceSession(OrtSession):
    """Runs a model; onnxruntime's methods and argument order, so that one import moves a user over.

    `source` is whatever `treadle.load` takes, or a Model. `engines` names who may run what, in
    order of preference; all of them unless it is given. `listener` hears how the model is loaded,
    and every run that is given no other. `providers` are handed to onnxruntime,
    whose further keywords are taken too: `path_or_bytes` for the source, others without effect.

    Raises LoadError for a source that is no model and InvalidModel for one that breaks a rule that
    blocks running; both list every finding.
    """

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
        self._listener = None if listener is None else Callback(listener)
        self._untold: deque[StageDone] = deque()
        if getattr(self._options, "enable_profiling", False):
            self._profile = Profile.of(self._options.profile_file_prefix)
            weakref.finalize(self, self._profile.end)
        self._may_fall_back = int(others.get("enable_fallback", 1)) == 1  # type: ignore[call-overload]
        self._named_engines = ENGINES if engines is None else engine_names(engines)
        self._chosen = self._choose(providers, provider_options, may_fall_back=self._may_fall_back)
        self._engines = engines_of(self._named_engines, self._options, *given(self._chosen))
        place = self._place(source)
        with self._within_limits():
            found = None if place is None else place.read(self._engines)
            self._model = self._accepted(source) if found is None else found[0]
        self._found = None if found is None else found[1]
        self._programs: dict[RunMode, Program] = {}
        self._declined: dict[RunMode, dict[tuple[str, Step], str]] = {}
        self._source = source_of(source)
        self._exposures: dict[Selector, tuple[InferenceSession, passes.Exposure]] = {}
        self._lock = locked_anew(self)
        with self._within_limits():
            self._plain = self._program(PLAIN)
            if place is not None and self._found is None:
                place.write(self._model, self._plain.plan, self._engines)
        self._found = None
        if getattr(self._options, "optimized_model_filepath", ""):
            write_optimized(self._model, self._options.optimized_model_filepath)

    def __reduce__(self) -> tuple[Any, ...]:
        providers = None if self._chosen is None else self._chosen.providers
        source = self._source or self._model
        recipe = Recipe.of(
            source, self._options, self._named_engines, providers, self._may_fall_back
        )
        return _made_again, (type(self), recipe)

    def _within_limits(self) -> AbstractContextManager[None]:
        """Bounds what making a program ready may take."""
        return within(getattr(self._options, "load_limits", None))

    def _place(self, source: object) -> LoadCache | None:
        """Where the model made ready lies on disk; None where a listener hears how it is made."""
        if self._listener is not None or supplied(self._options) is not None:
            return None
        return LoadCache.of(source, self._options, self._engines)

    def _accepted(self, source: object) -> Model:
        instead = supplied(self._options)
        if instead is not None and isinstance(source, Model):
            source = formats.onnx.write_model(source)
        with self._told(), self._stage("read"):
            read = (
                (source, [])
                if isinstance(source, Model)
                else formats.read(source, supplied=instead)
            )
        model, findings = read
        if model is None:
            raise LoadError("the model cannot be loaded:", findings)
        with self._told(), self._stage("check"):
            model, found = checks.infer_with_findings(model)
        findings = [*findings, *found]
        blocking = [found for found in findings if found.blocks]
        if blocking:
            raise InvalidModel("the model cannot be run:", blocking)
        return model

    def _program(self, variant: RunMode) -> Program:
        found = self._programs.get(variant)
        if found is not None:
            return found
        with self._told(), self._lock:
            if variant not in self._programs:
                self._programs[variant] = self._prepared(variant)
                self._forget()
            return self._programs[variant]

    def _forget(self) -> None:
        """Drop the oldest programs beyond those a session keeps; the plain one stays."""
        others = [variant for variant in self._programs if variant != PLAIN]
        for variant in others[:-_MOST_PROGRAMS]:
            del self._programs[variant]
            self._declined.pop(variant, None)

    def _prepared(self, variant: RunMode) -> Program:
        if self._found is not None and variant == PLAIN:
            return self._bound(self._found.model, variant)
        with self._within_limits(), self._stage("prepare"):
            model = passes.prepare(
                self._model,
                expand=self._expand,
                overridden=variant.overridden,
                omitted_condition=getattr(self._options, "omitted_condition", "stop"),
            )
        if model is not self._model:
            with self._stage("infer"):
                model = infer_types(model)
        return self._bound(model, variant)

    def _bound(self, model: Model, variant: RunMode) -> Program:
        planned, run = self._planned(model, variant)
        inputs = {value.name: value.type for value in model.main.params}
        outputs = tuple(value.name if value else "" for value in self._model.main.results)
        direct = run.direct if self._profile is None or self._profile.is_ended else None
        return Program(planned, inputs, outputs, run, InputBinder.of(inputs), direct)

    def _planned(self, model: Model, variant: RunMode) -> tuple[Plan, execution.Program]:
        from treadle import execution

        if self._found is not None and variant == PLAIN:
            return self._found, execution.prepare(self._found, self._expand)
        asked = self._asked(variant)
        trial = on_trial(asked)
        # who listens hears every value, unless an operator has no kernel but an engine's
        attempts = [*[()] * variant.watched, asked, *[trial] * (trial != asked)]
        refused: Unsupported | None = None
        for engines in attempts:
            with self._stage("plan"):
                inside = variant.watched or variant.bounded or variant.weighed
                declined = self._declined.get(variant, {})
                planned = plan(model, engines, inside=inside, declined=declined)
            try:
                with self._stage("bind"):
                    return planned, execution.prepare(planned, self._expand)
            except Unsupported as error:
                if engines is asked:
                    refused = error
        assert refused is not None
        raise refused

    def _asked(self, variant: RunMode) -> tuple[Engine, ...]:
        """The engines; where a run is bounded, they keep the bounds if they can."""
        if variant.watched or not (variant.bounded or variant.weighed):
            return self._engines
        return tuple(
            e
            if e.traits.with_limits is None
            else e.traits.with_limits(variant.bounded, variant.weighed)
            for e in self._engines
        )

    def _expand(self, step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
        return formats.schema_function(step, types, self._model.opsets)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        if getattr(self._options, "is_cancelled", False):
            raise Terminated("given up, as SessionOptions.set_load_cancellation_flag says")
        poll()
        started = time.perf_counter()
        yield
        done = StageDone(name, time.perf_counter() - started)
        if self._profile is not None:
            self._profile.stage(done)
        if self._listener is not None:
            self._untold.append(done)

    def _next_untold(self) -> StageDone | None:
        try:
            return self._untold.popleft()
        except IndexError:  # none is left, or another thread has told it
            return None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell the listener afterwards of the stages inside, some of which hold the lock.

        A listener may use the session, and so may a thread it waits for.
        """
        try:
            yield
        finally:
            while self._listener is not None and (done := self._next_untold()) is not None:
                self._listener(done)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: Any = None,
        *,
        listener: Listener | None = None,
    ) -> list[Any]:
        """Run the model; one value per name, or per output of the model for None and for [].

        A tensor is a numpy array, a sequence a list, an absent optional None. `listener` hears
        every value, bodies included: `listener=treadle.Recorder()`. Several threads may call this
        at once.

        Raises InputError for feeds that do not fit the model, RunError where the model fails on
        them; where it fails and the feeds do not fit each other, an InputError that says both.
        """
        try:  # not by `public`: a call more for every run
            if listener is None:
                listener = self._listener
            if run_options is None and listener is None and type(input_feed) is dict:
                outputs = self._at_once(input_feed)
                if outputs is not None:
                    return outputs if output_names is None else self._named(output_names, outputs)
            if isinstance(listener, Callback) and isinstance(listener.function, Recorder):
                listener = listener.function
            if isinstance(listener, Recorder):
                return self._recorded(output_names, input_feed, run_options, listener)
            return self._run(output_names, input_feed, run_options, listener)
        except Exception as error:
            if may_pass(error):
                raise
            raise internal_error(error, "InferenceSession.run") from error

    def _recorded(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: Any,
        recorder: Recorder,
    ) -> list[Any]:
        """A run whose values a recorder keeps: of the exposed model, or heard on interp."""
        selector = recorder.selector
        if selector is not None and run_options is None and not recorder.looks_at_events:
            outputs = self._exposed_run(selector, input_feed, recorder)
            if outputs is not None:
                return outputs if output_names is None else self._named(output_names, outputs)
        if selector is not None:
            selector.expect_match(self._plain.plan.model, "select")
            recorder.listen_for(passes.chosen(self._plain.plan.model, selector))
        try:
            return self._run(output_names, input_feed, run_options, recorder)
        finally:
            recorder.finish()

    def _exposed_run(
        self, selector: Selector, feed: Mapping[str, object], recorder: Recorder
    ) -> list[Any] | None:
        """The outputs of a run of the exposed model; None where it gives none and is repeated."""
        session, exposure = self._exposed(selector)
        if exposure.refused:
            _tell_repeated(f"{exposure.refused[0].name}: {exposure.refused[0].reason}")
            return None
        try:
            outputs = session.run(None, feed)
        except RunError as failure:
            _tell_repeated(str(failure))
            return None
        names = session._plain.outputs
        recorder.take(recording.columns(exposure, dict(zip(names, outputs, strict=True))))
        return outputs[: len(self._plain.outputs)]

    def _exposed(self, selector: Selector) -> tuple[InferenceSession, passes.Exposure]:
        """A session of the model with what a selector picks as outputs."""
        found = self._exposures.get(selector)
        if found is None:
            with self._within_limits():
                exposure = passes.expose(self._model, selector, self._expand)
                session = InferenceSession(exposure.model, engines=self._named_engines)
            found = self._exposures[selector] = session, exposure
        return found

    @public
    def warm_up(
        self,
        feeds: Mapping[str, object] | None = None,
        *,
        dims: Mapping[str, int | Sequence[int]] | None = None,
    ) -> None:
        """Run the model before the first run that matters, so that its loops are compiled by then.

        `feeds` are those of one run; inputs that are not among them are made up of their types.
        `dims` says the extents of symbols of the inputs, one or several: `dims={"T": [100, 200]}`
        runs the model for each, and for each combination of several symbols. A symbol that is not
        there has the extent 3: name those that matter, as code is made for extents. Only the axis
        that a loop slices is mostly open, so that any length of it warms all. A run of made-up
        feeds ends after five seconds, as a loop may never stop on them.

        Raises InputError for a symbol that no input has, and where the model fails on what was
        made up, or its type is not declared: give feeds then.
        """
        warm(self, feeds, dims)

    def _at_once(self, feed: dict[str, object]) -> list[Any] | None:
        """The outputs of a program that is one call of an engine, fed as it was before."""
        program = self._plain
        if program.direct is None or program.bind.known(feed) is None:
            return None
        try:
            return program.direct(feed)
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
            input_feed = self._adapted(input_feed, run_options)
        limits = _UNLIMITED if run_options is None else getattr(run_options, "limits", _UNLIMITED)
        program, variant = self._plain, PLAIN
        is_plain = limits.iterations is None and limits.bytes is None and listener is None
        values = program.bind.known(input_feed) if is_plain else None
        if values is None:
            variant = self._variant(input_feed, limits, listener)
            program = self._program(variant)
            values = program.bind(input_feed)
        heard = None
        if listener is not None or self._profile is not None:
            heard = self._hearing(listener, program)
        context = RunContext(heard, limits, run_options)
        try:
            outputs = program.run(values, context)
        except RunError as failure:
            blamed = blamed_on_feeds(failure, program.inputs, values)
            if blamed is None:
                raise
            raise blamed from failure
        if heard is not None and isinstance(heard, Timed):
            heard.done()
        if context.declined:
            self._replan(variant, program, context.declined)
        if output_names is None:
            return outputs if type(outputs) is list else list(outputs)
        return self._named(output_names, outputs)

    def _hearing(self, listener: Listener | None, program: Program) -> Listener | None:
        """What hears a run: whom the caller names, or who times it for a profile."""
        if listener is not None:
            expect_listener(listener)
            return Callback(listener)
        if self._profile is None or self._profile.is_ended:
            return None
        return Timed(self._profile, locations_of(program.plan))

    def _adapted(self, feed: Mapping[str, object], options: Any) -> Mapping[str, object]:
        """What is fed, and what the options' adapters feed besides."""
        known = {value.name for value in self._model.main.params}
        adapters = getattr(options, "adapters", ())
        given = [each.parameters for each in adapters]
        added = {name: p[name] for p in given for name in p if name in known}
        return {**added, **feed} if added else feed

    def _variant(
        self, feed: Mapping[str, object], limits: Limits, listener: Listener | None
    ) -> RunMode:
        bounded, weighed = limits.iterations is not None, limits.bytes is not None
        return RunMode(listener is not None, bounded, weighed, self._overridden(feed))

    def _replan(self, variant: RunMode, program: Program, declined: Mapping[Region, str]) -> None:
        """Plan a program without the steps that their engine declined as it ran."""
        with self._told(), self._lock:
            if self._programs.get(variant) is not program:
                return
            known = self._declined.setdefault(variant, {})
            for region, why in declined.items():
                for step in region.absorbed or region.steps:
                    known[region.engine, step] = f"{region.engine}: {why}"
            made = self._bound(program.plan.model, variant)
            self._programs[variant] = made
            if program is self._plain:
                self._plain = made

    def _overridden(self, feed: Mapping[str, object]) -> frozenset[str]:
        return frozenset(self._defaults() & feed.keys())

    def _defaults(self) -> set[str]:
        params = set(self._model.main.params)
        return {c.value.name for c in self._model.main.constants if c.value in params}

    def _named(self, names: Sequence[str], outputs: Sequence[Any]) -> list[Any]:
        positions = [self._position(name) for name in listed(names)]
        return picked(outputs, positions) if positions else list(outputs)

    def _position(self, name: str) -> int:
        names = self._plain.outputs
        if name in names:
            return names.index(name)
        hint = did_you_mean(name, names)
        raise InputError(f'the model has no output "{name}", {hint}')

    @public
    def get_inputs(self) -> list[NodeArg]:
        """The inputs that must be fed."""
        defaults = self._defaults()
        return [node_arg(v.name, v.type) for v in self._model.main.params if v.name not in defaults]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that have a default and may be fed."""
        defaults = self._defaults()
        return [node_arg(v.name, v.type) for v in self._model.main.params if v.name in defaults]

    def output_type(self, name: str) -> Type | None:
        """The type of an output, where it is known."""
        return dict(self._output_types()).get(name)

    @public
    def get_outputs(self) -> list[NodeArg]:
        """The outputs, in the order `run` gives them; inferred where the file declares no type."""
        return [node_arg(name, type_) for name, type_ in self._output_types()]

    def _output_types(self) -> list[tuple[str, Type | None]]:
        results = self._plain.plan.model.main.results
        names = self._plain.outputs
        claims = self._model.main.claims or (Declaration(),) * len(names)
        types = [
            _told(claim.type, None if value is None else value.type)
            for value, claim in zip(results, claims, strict=True)
        ]
        return list(zip(names, types, strict=True))

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says of itself."""
        model = self._model
        return ModelMetadata(
            model.producer,
            model.main.name,
            model.domain,
            model.doc,
            model.main.doc,
            UNSAID_VERSION if model.version is None else model.version,
            dict(model.metadata),
        )

    @public
    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
    ) -> None:
        """Have other execution providers: the model is planned anew, with code from the cache.

        Warns and falls back as the constructor does. Raises ConfigurationError for one onnxruntime
        does not know; the session then stays as it was.
        """
        chosen = self._choose(providers, provider_options, may_fall_back=False)
        made = engines_of(self._named_engines, self._options, *given(chosen))
        with self._lock:
            self._chosen, self._engines = chosen, made
            self._programs, self._declined = {}, {}
        self._plain = self._program(PLAIN)

    def _choose(
        self,
        providers: Sequence[Any] | None,
        provider_options: Sequence[Mapping[Any, Any]] | None,
        *,
        may_fall_back: bool,
    ) -> Chosen | None:
        """The providers of the session; None for the processor alone, by default."""
        added = getattr(self._options, "providers", ())
        if providers is None and provider_options is None and not added:
            return None
        from treadle import delegate

        chosen = delegate.choose(providers, provider_options, added, may_fall_back=may_fall_back)
        return chosen if "onnxruntime" in self._named_engines else None

    def get_session_options(self) -> Any:
        """The options the session was made with."""
        return self._options

    @property
    def model(self) -> Model:
        """The model as it was read, with a type on every value."""
        return self._model

    @property
    def plan(self) -> Plan:
        """The plan of an ordinary run: which engine runs which region, and why."""
        return self._plain.plan

    @public
    def explain(self, code: Literal["", "kernel", "llvm"] = "") -> str:
        """The plan in words: nested regions, the engine of each and the reason.

        After a run also what the native engine made for the data that came: what it compiled,
        hoisted, fused, changed in place and called outside. Runs that are bounded, or feed what has
        a default, have plans of their own, which follow once there was such a run.

        With `code` the code itself: the native engine's own ("kernel"), or LLVM's, optimised
        ("llvm"). Before any run it is made of the types the model tells, with the extents they do
        not tell left open, or says what they would have to tell; what runs compile is not changed
        by that. "" where the native engine has no part of the model.
        """
        from treadle import report

        if code != "":
            expect_member(code, _CODES, "code")
        with self._lock:
            programs = dict(self._programs)
        plan = programs.pop(PLAIN).plan
        others = {v.words: p.plan for v, p in programs.items() if not v.watched}
        return report.show_code(plan, code, others) if code else report.explain(plan, others)


def _tell_repeated(why: str) -> None:
    """Say that a recording run is done on interp, once for each reason."""
    words = f"recorded on interp, event by event, since this is not recorded at full speed: {why}"
    warnings.warn(words, RuntimeWarning, stacklevel=2)


def _made_again(kind: type[InferenceSession], recipe: Recipe) -> InferenceSession:
    """A session as another one was, in this process or another."""
    return kind(
        recipe.source,
        recipe.options,
        recipe.providers,
        engines=recipe.engines,
        enable_fallback=recipe.may_fall_back,
    )


def _told(declared: Type | None, known: Type | None) -> Type | None:
    """The declared type, unless the value is known to be of another kind or element type."""
    return known if declared is None or checks.kinds_contradict(declared, known) else declared

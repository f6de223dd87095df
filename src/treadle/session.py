"""InferenceSession: the whole line from a source to outputs, in one file.

source ─▶ read ─▶ check ─▶ prepare (passes) ─▶ infer ─▶ plan ─▶ engines ─▶ run
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from treadle import checks, formats, infer, passes
from treadle.arguments import a_or_an
from treadle.boundary import Callback, internal_error, may_pass, public
from treadle.engines import ENGINES, engines_of
from treadle.errors import (
    InputError,
    InputTypeError,
    InvalidModel,
    LoadError,
    Unsupported,
    did_you_mean,
)
from treadle.feeds import Binding, NodeArg, node_arg
from treadle.ir import Call, Claim, Function, Leaf, Model, Step, Type
from treadle.options import SessionOptions
from treadle.plan import (
    Bounding,
    ByName,
    Engine,
    Limits,
    Plan,
    Refused,
    Region,
    RunContext,
    Runnable,
    plan,
)
from treadle.tracing import Listener, StageDone
from treadle.variants import PLAIN, Variant

if TYPE_CHECKING:
    from treadle import interp

__all__ = ["InferenceSession", "ModelMetadata"]

_UNLIMITED = Limits()
_CODES = ("kernel", "llvm")


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """What a model says of itself, under onnxruntime's names."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: Mapping[str, str]


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A model ready to run: its plan, its inputs in order, and what runs it.

    `direct` runs it too, fed by name, where one call of an engine is all there is to do.
    """

    plan: Plan
    inputs: Mapping[str, Type | None]
    outputs: tuple[str, ...]
    run: Runnable
    bind: Binding
    direct: ByName | None


class InferenceSession:
    """Runs a model; onnxruntime's methods and argument order, so that one import moves a user over.

    `source` is whatever `treadle.load` takes, or a Model. `engines` names who may run what, in
    order of preference; all of them unless it is given. `providers` are handed to onnxruntime,
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
        _expect_known(others)
        self._options = sess_options if sess_options is not None else SessionOptions()
        self._listener = None if listener is None else Callback(listener)
        self._engines = engines_of(engines or ENGINES, self._options, providers, provider_options)
        self._model = self._accepted(source)
        self._programs: dict[Variant, Program] = {}
        self._declined: dict[Variant, dict[tuple[str, Step], str]] = {}
        self._lock = threading.Lock()
        self._plain = self._program(PLAIN)

    def _accepted(self, source: object) -> Model:
        with self._stage("read"):
            model, findings = (source, []) if isinstance(source, Model) else formats.read(source)
        if model is None:
            raise LoadError("the model cannot be loaded:", findings)
        with self._stage("check"):
            model, found = checks.infer_with_findings(model)
        findings = [*findings, *found]
        blocking = [found for found in findings if found.blocks]
        if blocking:
            raise InvalidModel("the model cannot be run:", blocking)
        return model

    def _program(self, variant: Variant) -> Program:
        with self._lock:
            if variant not in self._programs:
                self._programs[variant] = self._prepared(variant)
            return self._programs[variant]

    def _prepared(self, variant: Variant) -> Program:
        with self._stage("prepare"):
            model = passes.prepare(
                self._model,
                expand=self._expand,
                overridden=variant.overridden,
                omitted_condition=getattr(self._options, "omitted_condition", "stop"),
            )
        if model is not self._model:
            with self._stage("infer"):
                model = infer.infer(model)
        return self._bound(model, variant)

    def _bound(self, model: Model, variant: Variant) -> Program:
        planned, run = self._planned(model, variant)
        inputs = {value.name: value.type for value in model.main.params}
        outputs = tuple(value.name if value else "" for value in self._model.main.results)
        return Program(planned, inputs, outputs, run, Binding.of(inputs), run.direct)

    def _planned(self, model: Model, variant: Variant) -> tuple[Plan, interp.Program]:
        from treadle import interp

        # who listens hears every value, unless an operator has no kernel but an engine's
        asked = self._asked(variant)
        for engines in ((), asked) if variant.watched else (asked,):
            with self._stage("plan"):
                inside = variant.watched or variant.bounded or variant.weighed
                declined = self._declined.get(variant, {})
                planned = plan(model, engines, inside=inside, declined=declined)
            try:
                with self._stage("bind"):
                    return planned, interp.prepare(planned, self._expand)
            except Unsupported:
                if engines is asked:
                    raise
        raise AssertionError("the last engines raise or return")

    def _asked(self, variant: Variant) -> tuple[Engine, ...]:
        """The engines; where a run is bounded, they keep the bounds if they can."""
        if variant.watched or not (variant.bounded or variant.weighed):
            return self._engines
        return tuple(
            e.bounded(counts=variant.bounded, weighs=variant.weighed)
            if isinstance(e, Bounding)
            else e
            for e in self._engines
        )

    def _expand(self, step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
        return formats.schema_function(step, types, self._model.opsets)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        if self._listener is not None:
            self._listener(StageDone(name, time.perf_counter() - started))

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

        Raises InputError for feeds that do not fit, RunError where the model fails on them.
        """
        try:  # not by `public`: a call more for every run
            if run_options is None and listener is None and type(input_feed) is dict:
                outputs = self._at_once(input_feed)
                if outputs is not None:
                    return outputs if output_names is None else self._named(output_names, outputs)
            return self._run(output_names, input_feed, run_options, listener)
        except Exception as error:
            if may_pass(error):
                raise
            raise internal_error(error, "InferenceSession.run") from error

    def _at_once(self, feed: dict[str, object]) -> list[Any] | None:
        """The outputs of a program that is one call of an engine, fed as it was before."""
        program = self._plain
        if program.direct is None or program.bind.known(feed) is None:
            return None
        try:
            return program.direct(feed)
        except Refused:
            return None

    def _run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: Any,
        listener: Listener | None,
    ) -> list[Any]:
        if run_options is not None or type(input_feed) is not dict:
            _expect_call(input_feed, run_options)
        limits = _UNLIMITED if run_options is None else getattr(run_options, "limits", _UNLIMITED)
        program, variant = self._plain, PLAIN
        is_plain = limits.iterations is None and limits.bytes is None and listener is None
        values = program.bind.known(input_feed) if is_plain else None
        if values is None:
            variant = self._variant(input_feed, limits, listener)
            program = self._program(variant)
            values = program.bind(input_feed)
        heard = None if listener is None else Callback(listener)
        context = RunContext(heard, limits, run_options)
        outputs = program.run(values, context)
        if context.declined:
            self._replan(variant, program, context.declined)
        if output_names is None:
            return outputs if type(outputs) is list else list(outputs)
        return self._named(output_names, outputs)

    def _variant(
        self, feed: Mapping[str, object], limits: Limits, listener: Listener | None
    ) -> Variant:
        bounded, weighed = limits.iterations is not None, limits.bytes is not None
        return Variant(listener is not None, bounded, weighed, self._overridden(feed))

    def _replan(self, variant: Variant, program: Program, declined: Mapping[Region, str]) -> None:
        """Plan a program without the steps that their engine declined as it ran."""
        with self._lock:
            if self._programs[variant] is not program:
                return
            known = self._declined.setdefault(variant, {})
            for region, why in declined.items():
                for step in region.beside or region.steps:
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
        positions = [self._position(name) for name in _listed(names)]
        return _picked(outputs, positions) if positions else list(outputs)

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

    @public
    def get_outputs(self) -> list[NodeArg]:
        """The outputs, in the order `run` gives them; inferred where the file declares no type."""
        results = self._plain.plan.model.main.results
        names = self._plain.outputs
        claims = self._model.main.claims or (Claim(),) * len(names)
        types = [
            _told(claim.type, None if value is None else value.type)
            for value, claim in zip(results, claims, strict=True)
        ]
        return [node_arg(name, type_) for name, type_ in zip(names, types, strict=True)]

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says of itself."""
        model = self._model
        return ModelMetadata(
            model.producer,
            model.main.name,
            model.domain,
            model.doc,
            model.main.doc,
            model.version,
            dict(model.metadata),
        )

    def get_providers(self) -> list[str]:
        """The execution providers onnxruntime is given."""
        return ["CPUExecutionProvider"]

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

        if code and code not in _CODES:
            raise InputError(f'there is no code called "{code}", {did_you_mean(code, _CODES)}')
        with self._lock:
            programs = dict(self._programs)
        plan = programs.pop(PLAIN).plan
        others = {v.words: p.plan for v, p in programs.items() if not v.watched}
        return report.show_code(plan, code, others) if code else report.explain(plan, others)


def _told(declared: Type | None, known: Type | None) -> Type | None:
    """The declared type, unless the value is known to be of another kind or element type."""
    return known if declared is None or checks.kinds_contradict(declared, known) else declared


def _expect_known(keywords: Mapping[str, object]) -> None:
    known = ("enable_fallback", "disabled_optimizers")
    for name in keywords:
        if name not in known:
            hint = did_you_mean(name, ("engines", "listener", "sess_options", "providers", *known))
            raise InputTypeError(f'a session has no option "{name}", {hint}')


def _expect_call(feed: object, options: object) -> None:
    if type(feed) is not dict and not isinstance(feed, Mapping):
        given = a_or_an(type(feed).__name__)
        raise InputTypeError(f'{given} is fed, wanted a dict: {{"name": value}}')
    if options is not None and not hasattr(options, "terminate"):
        raise InputTypeError(f"{a_or_an(type(options).__name__)} is no RunOptions")


def _listed(names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, str):
        raise InputTypeError(f'the outputs wanted are given as a list: ["{names}"]')
    return names


def _picked(outputs: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """The outputs at these positions; one asked for again is a copy, so that none share memory."""
    return [
        deepcopy(outputs[place]) if place in positions[:number] else outputs[place]
        for number, place in enumerate(positions)
    ]

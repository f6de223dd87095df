"""The engine that runs regions in onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any

from treadle import ops
from treadle.delegate.capabilities import capability_of
from treadle.delegate.export import export_region
from treadle.delegate.exported import Exported
from treadle.delegate.forks import begin_anew_in_forks
from treadle.delegate.io_types import border_refusal, crosses_as_bytes, is_open, mixture_refusal
from treadle.delegate.large import MANY_BYTES, BySize, by_numpy
from treadle.delegate.late import Late
from treadle.delegate.opset_selection import TargetVersions, target_versions
from treadle.delegate.options import Options
from treadle.delegate.ort_errors import translating_errors
from treadle.delegate.ort_value_io import OrtValueCall
from treadle.delegate.runnable import Run, Session
from treadle.delegate.timed_load import start_session, stopped_in_time
from treadle.delegate.work import work_of
from treadle.delegate.workarounds.byte_products import EXACT_BYTES
from treadle.delegate.workarounds.concat import while_inputs_agree
from treadle.delegate.workarounds.growth import growth_of
from treadle.delegate.workarounds.loop_forms import in_onnx_forms
from treadle.errors import Unsupported
from treadle.ir import Leaf, Loop, Model, Step, Tensor, bodies, operator_of
from treadle.plan import Abandoned, EngineTraits, RecordStore, Region, Runnable, Verdict

_MOST_BRIEF = 256
_NO_SPINNING = {"session.intra_op.allow_spinning": "0"}


@dataclass(frozen=True, slots=True)
class Onnxruntime:
    """Runs a region as one session of onnxruntime; an implementation of `plan.Engine`."""

    options: Options = field(default_factory=Options)
    abandoned: Abandoned = field(default_factory=Abandoned, compare=False)
    is_on_trial: bool = False
    is_provider: bool = False

    @property
    def name(self) -> str:
        """The engine's public name."""
        return "onnxruntime"

    @property
    def traits(self) -> EngineTraits:
        """It lends single operators to other engines, and its exported models are kept on disk."""
        return EngineTraits(
            as_provider=self.as_provider,
            on_trial=partial(replace, self, is_on_trial=True),
            persistence=self,
            profiled=self.profiled,
        )

    def as_provider(self) -> Onnxruntime:
        """The engine for single operators; its threads do not spin beside those of the caller."""
        return Onnxruntime(self.options, self.abandoned, self.is_on_trial, is_provider=True)

    def profiled(self, folder: str) -> Onnxruntime:
        """The engine whose sessions write their own profiles to a folder when they are closed."""
        return replace(self, options=replace(self.options, profiles=folder))

    def judge(self, step: Step, model: Model, *, inside: bool) -> Verdict:
        """Whether onnxruntime has kernels for the step and runs its control flow correctly."""
        return capability_of(
            step,
            model,
            inside=inside,
            has_libraries=bool(self.options.libraries),
            on_trial=self.is_on_trial,
        )

    def prepare(self, region: Region, model: Model) -> Runnable:
        """Make the region one session; raises Unsupported if onnxruntime fails to load it.

        The model gets the lowest opset in which its steps keep their meaning. If onnxruntime
        rejects that, because bodies of its functions use newer operators, it gets the file's own
        opset. If an input has no known type, and no other engine can run the steps, the session is
        made at the first call, for the types it brings.
        """
        if any(map(is_open, region.inputs)) and any(map(_is_its_own, region.steps)):
            return Late(partial(self.prepare, model=model), region)
        _check_borders(region)
        plain = in_onnx_forms(region, model)
        lowest = target_versions(plain.steps, plain.constants)
        try:
            return self._exported(region, plain, model, lowest)
        except Unsupported:
            own = lowest.raised_to(model.opsets.get("", 0), plain.steps)
            if own == lowest:
                raise
        return self._exported(region, plain, model, own)

    def _exported(
        self, region: Region, plain: Region, model: Model, stamp: TargetVersions
    ) -> Runnable:
        written, shared = export_region(plain, model, stamp, is_judged=plain is region)
        return self._made(region, plain, model, Exported.of(region, written, shared))

    @property
    def identity(self) -> str | None:
        """Version and settings; None with custom libraries, whose files may change."""
        import onnxruntime

        if self.options.libraries:
            return None
        role = "provider " if self.is_provider else ""
        return f"{role}onnxruntime {onnxruntime.__version__} {self.options!r}"

    def snapshot(self, runnable: Runnable) -> Exported | None:
        """The exported model of a region's session."""
        made = runnable.session if isinstance(runnable, BySize) else runnable
        return made.exported if isinstance(made, Session) else None

    def restore(self, region: Region, model: Model, snapshot: object) -> Runnable:
        """Make the session of a region from the model exported for it before."""
        if not isinstance(snapshot, Exported):
            return self.prepare(region, model)
        plain = in_onnx_forms(region, model) if snapshot.has_exact_forms else region
        return self._made(region, plain, model, snapshot)

    def adopt(self, runnable: Runnable, name: str, beside: RecordStore) -> None:
        """A session finds nothing out as it runs."""

    def _made(self, region: Region, plain: Region, model: Model, exported: Exported) -> Runnable:
        import onnxruntime

        def start() -> Run:
            run: Run = _carrier(self._session(exported, region), region)
            return while_inputs_agree(run, exported.named) if exported.named else run

        count = _count(region.steps)
        made = Session(
            region.path, start(), onnxruntime.RunOptions, exported.inputs, exported.outputs,
            count <= _MOST_BRIEF, self.abandoned, exported, work_of(plain, exported.inputs),
            growth_of(plain, model, exported.inputs), keeps=count == inf,
        )  # fmt: skip
        begin_anew_in_forks(made, start)
        evaluate = by_numpy(plain) if exported.has_exact_forms else None
        if evaluate is None:
            return made
        return BySize(made, evaluate, 0 if exported.has_guards else MANY_BYTES)

    def _session(self, exported: Exported, region: Region) -> Any:
        import onnxruntime

        entries = {**EXACT_BYTES, **(_NO_SPINNING if self.is_provider else {})}
        options, large = self.options.session_options(entries), exported.large
        if large:
            values = map(onnxruntime.OrtValue.ortvalue_from_numpy, large.values())
            options.add_external_initializers(list(large), list(values))
        providers, disabled = self.options.providers, set(exported.disabled_optimizers)
        start = partial(start_session, exported.data, options, providers, disabled)
        refused = partial(Unsupported, _name(region), None, path=region.path)
        with stopped_in_time(options):
            return translating_errors(start, refused)


def _count(steps: Sequence[Step]) -> float:
    """The number of steps, bodies included; infinite with a loop."""
    if any(isinstance(step, Loop) or (isinstance(step, Leaf) and step.blocks) for step in steps):
        return inf
    inner = (block.steps for step in steps for _, block in bodies(step))
    return len(steps) + sum(map(_count, inner))


def _is_its_own(step: Step) -> bool:
    """Whether the step's operator is not one of the standard."""
    return isinstance(step, Leaf) and ops.schema(step.domain, step.op, step.version) is None


def _check_borders(region: Region) -> None:
    fed = [border_refusal(value, is_input=True) for value in region.inputs]
    given = [border_refusal(value, is_input=False) for value in region.outputs]
    together = mixture_refusal((*region.inputs, *region.outputs))
    refusals = [why for why in (*fed, *given, together) if why]
    if refusals:
        raise Unsupported(_name(region), None, "; ".join(refusals), region.path)


def _carrier(session: Any, region: Region) -> Any:
    if not any(map(crosses_as_bytes, (*region.inputs, *region.outputs))):
        return session.run
    types = [value.type for value in region.outputs]
    return OrtValueCall(
        session, tuple(t.dtype for t in types if isinstance(t, Tensor) and t.dtype is not None)
    )


def _name(region: Region) -> str:
    return operator_of(region.steps[0]) if len(region.steps) == 1 else "stretch"

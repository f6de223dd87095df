"""What a session says of itself: inputs, outputs, metadata, plan and generated code."""

from __future__ import annotations

from typing import Any, Literal

from treadle import markup
from treadle.arguments import expect, expect_member
from treadle.boundary import public
from treadle.feeds import NodeArg, node_arg
from treadle.ir import Model, Type, model_html
from treadle.ort_session import ModelMetadata, OrtSession
from treadle.plan import Plan
from treadle.session.description import inputs, output_types
from treadle.session.programs import Program, Programs
from treadle.variants import PLAIN

_CODES = ("kernel", "schedule", "llvm")


class DescribedSession(OrtSession):
    """The methods of a session that describe it and run nothing."""

    _model: Model
    _plain: Program
    _programs: Programs

    def __repr__(self) -> str:
        from treadle.report import engine_counts, plural

        counts = engine_counts(self._plain.plan)
        regions = ", ".join(f"{plural(n, 'region')} by {name}" for name, n in counts.items())
        return f"<InferenceSession: {regions or 'nothing to run'}>"

    def _repr_html_(self) -> str:
        from treadle.report import explain

        ports = [("input", arg.name, arg.type, arg.shape) for arg in self.get_inputs()]
        ports += [("output", arg.name, arg.type, arg.shape) for arg in self.get_outputs()]
        return markup.join([
            markup.preformatted(repr(self)),
            markup.table(("", "name", "type", "shape"), ports),
            markup.details("engines and reasons", markup.preformatted(explain(self._plain.plan))),
            markup.details("model", model_html(self._model)),
        ])  # fmt: skip

    @public
    def get_inputs(self) -> list[NodeArg]:
        """The inputs that must be fed."""
        return inputs(self._model, overridable=False)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that have a default and may be fed."""
        return inputs(self._model, overridable=True)

    def output_type(self, name: str) -> Type | None:
        """The type of an output, if it is known."""
        expect(name, str, "the name of an output", "a str")
        return dict(output_types(self._model, self._plain.plan.model)).get(name)

    @public
    def get_outputs(self) -> list[NodeArg]:
        """The outputs in the order of `run`; their types are inferred if the file declares none."""
        found = output_types(self._model, self._plain.plan.model)
        return [node_arg(name, type_) for name, type_ in found]

    def get_modelmeta(self) -> ModelMetadata:
        """The model's metadata."""
        return ModelMetadata.of(self._model)

    def get_session_options(self) -> Any:
        """The options the session was made with."""
        return self._options

    @property
    def model(self) -> Model:
        """The model as read, with a type on every value."""
        return self._model

    @property
    def plan(self) -> Plan:
        """The plan of an ordinary run: which engine runs which region, and why."""
        return self._plain.plan

    @public
    def explain(self, code: Literal["", "kernel", "schedule", "llvm"] = "") -> str:
        """Describe the plan: nested regions, the engine of each and the reason.

        After a run the text includes the native engine's reports for the inputs it has seen:
        compiled, hoisted and fused loops, updates in place and host calls. Runs with limits, or
        that feed inputs with a default, have plans of their own, which are listed once there was
        such a run.

        With `code` it returns the kernel IR ("kernel"), how its loops run ("schedule"), or LLVM IR
        ("llvm"). Before the first run it is that for the model's declared types with unknown
        extents dynamic, or the text names the missing types; later runs are not affected. "" if no
        region is native.
        """
        from treadle import report

        if not isinstance(code, str) or code:
            expect_member(code, _CODES, "code")
        with self._programs.lock:
            programs = dict(self._programs.made)
        plan = programs.pop(PLAIN).plan
        others = {v.words: p.plan for v, p in programs.items() if not v.watched}
        return report.show_code(plan, code, others) if code else report.explain(plan, others)

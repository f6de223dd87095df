"""The programs of a session: the planned model, one program per kind of run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from treadle import formats, passes
from treadle.engines import on_trial
from treadle.errors import Unsupported
from treadle.feeds import InputBinder
from treadle.infer import infer
from treadle.ir import Call, Function, Leaf, Model, Step, Type
from treadle.limits import within_load_limits
from treadle.locks import ForkSafeLock
from treadle.plan import Abandoned, Engine, NamedCall, Plan, Region, plan
from treadle.session.loading import Stages
from treadle.variants import PLAIN, RunMode

if TYPE_CHECKING:
    from treadle import execution

__all__ = ["Program", "Programs"]

_MOST_PROGRAMS = 32
"""The number of programs kept besides the plain one."""


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A model ready to run: its plan, its inputs in order, and the function that runs it.

    `direct` also runs it, with inputs by name, if the plan is one call of an engine; None for feeds
    of other types than those of earlier runs.
    """

    plan: Plan
    inputs: Mapping[str, Type | None]
    outputs: tuple[str, ...]
    run: execution.Program
    bind: InputBinder
    direct: NamedCall | None


class Programs:
    """The programs of one model; several threads may ask at once.

    `found` is the plan of the plain program if it was on disk. `lock` is held while a program is
    made; a forked process gets a new one. `expand` gives the function by which the standard defines
    a step, `abandoned` is the work that a run of the model could not stop. Nothing made here refers
    back to the session, which ends with its last reference.
    """

    def __init__(
        self, model: Model, engines: tuple[Engine, ...], stages: Stages, found: Plan | None = None
    ) -> None:
        self.model, self.engines, self.stages, self.found = model, engines, stages, found
        self.made: dict[RunMode, Program] = {}
        self.declined: dict[RunMode, dict[tuple[str, Step], str]] = {}
        self.lock = ForkSafeLock()
        self.expand = partial(_expanded, model.opsets)
        self.abandoned = Abandoned()

    def profiled(self, names: Sequence[str], folder: str) -> Programs:
        """New programs, in which engines of these names tell where their time goes."""
        engines = tuple(
            engine.traits.profiled(folder)
            if engine.name in names and engine.traits.profiled is not None
            else engine
            for engine in self.engines
        )
        return Programs(self.model, engines, Stages(self.stages.options))

    def of(self, mode: RunMode) -> Program:
        """The program for a kind of run, made on first use."""
        found = self.made.get(mode)
        if found is not None:
            return found
        with self.stages.told(), self.lock:
            if mode not in self.made:
                self.made[mode] = self._prepared(mode)
                self._forget()
            return self.made[mode]

    def direct_without(self, names: Sequence[str], like: Mapping[str, object]) -> NamedCall | None:
        """The plain program on the other engines, if it is a single call of one of them.

        It is for feeds with the extents of `like`, with which runs are known to be short: Ctrl-C
        waits for their end.
        """
        from treadle import execution

        engines = [engine for engine in self.engines if engine.name not in names]
        planned = plan(self.made[PLAIN].plan.model, engines)
        is_one = len(planned.main.regions) == 1 and execution.returns_fresh_arrays(planned.main)
        return execution.call_by_name(planned.main, like) if is_one else None

    def replanned(
        self, mode: RunMode, program: Program, declined: Mapping[Region, str]
    ) -> Program | None:
        """Plan again without the steps that their engine declined at run time; the lock is held.

        None if another thread has already planned again.
        """
        if self.made.get(mode) is not program:
            return None
        known = self.declined.setdefault(mode, {})
        for region, why in declined.items():
            for step in region.absorbed or region.steps:
                known[region.engine, step] = f"{region.engine}: {why}"
        self.made[mode] = self._bound(program.plan.model, mode)
        return self.made[mode]

    def _forget(self) -> None:
        """Drop the oldest programs over the limit; the plain one stays."""
        others = [mode for mode in self.made if mode != PLAIN]
        for mode in others[:-_MOST_PROGRAMS]:
            del self.made[mode]
            self.declined.pop(mode, None)

    def _prepared(self, mode: RunMode) -> Program:
        if self.found is not None and mode == PLAIN:
            return self._bound(self.found.model, mode)
        options = self.stages.options
        with within_load_limits(options), self.stages.stage("prepare"):
            model = passes.prepare(
                self.model,
                expand=self.expand,
                overridden=mode.overridden,
                omitted_condition=getattr(options, "omitted_condition", "stop"),
            )
        if model is not self.model:
            with self.stages.stage("infer"):
                model = infer(model)
        return self._bound(model, mode)

    def _bound(self, model: Model, mode: RunMode) -> Program:
        planned, run = self._planned(model, mode)
        inputs = {value.name: value.type for value in model.main.params}
        outputs = tuple(value.name if value else "" for value in self.model.main.results)
        profile = self.stages.profile
        direct = run.direct if profile is None or profile.is_ended else None
        binder = InputBinder.of(inputs)
        if direct is not None and not run.direct_checks_feeds:
            direct = partial(_checked, binder, direct)
        return Program(planned, inputs, outputs, run, binder, direct)

    def _planned(self, model: Model, mode: RunMode) -> tuple[Plan, execution.Program]:
        from treadle import execution

        if self.found is not None and mode == PLAIN:
            return self.found, execution.prepare(self.found, self.expand)
        asked = self._engines_for(mode)
        trial = on_trial(asked)
        # a listener observes every value, except of operators that only an engine can run
        attempts = [*[()] * mode.watched, asked, *[trial] * (trial != asked)]
        refused: Unsupported | None = None
        for engines in attempts:
            with self.stages.stage("plan"):
                inside = mode.watched or mode.bounded or mode.weighed
                declined = self.declined.get(mode, {})
                planned = plan(model, engines, inside=inside, declined=declined)
            try:
                with self.stages.stage("bind"):
                    return planned, execution.prepare(planned, self.expand)
            except Unsupported as error:
                if engines is asked:
                    refused = error
        assert refused is not None
        try:
            raise refused
        finally:
            del refused  # an error refers to this frame, and with it to all engines

    def _engines_for(self, mode: RunMode) -> tuple[Engine, ...]:
        """The engines; limits of a run are left to engines that enforce them."""
        if mode.watched or not (mode.bounded or mode.weighed):
            return self.engines
        return tuple(
            engine
            if engine.traits.with_limits is None
            else engine.traits.with_limits(mode.bounded, mode.weighed)
            for engine in self.engines
        )


def _checked(binder: InputBinder, direct: NamedCall, feed: dict[str, object]) -> list[Any] | None:
    return None if binder.known(feed) is None else direct(feed)


def _expanded(
    opsets: Mapping[str, int], step: Leaf | Call, types: Sequence[Type | None]
) -> Function | None:
    return formats.schema_function(step, types, opsets)

"""What an engine must offer: it judges steps and makes regions ready to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from treadle.ir import Model, Step
from treadle.plan.regions import Region
from treadle.plan.run import Runnable


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an engine takes a step, and the reason, in words for `explain`.

    `joins`: whether the engine would take the step together with others that it takes, though not
    the step alone; asked only where there are others.
    """

    takes: bool
    reason: str
    joins: Callable[[], bool] | None = None


class RecordStore(Protocol):
    """Room in the file of a plan for what engines find out later: one file less to read."""

    def get(self, name: str) -> bytes | None:
        """What was added under a name."""
        ...

    def add(self, name: str, content: bytes) -> bool:
        """Keep it there; False where it has no room, or the name is taken."""
        ...


class Persistence(Protocol):
    """How an engine writes its runnables to disk, and makes them ready in another process."""

    @property
    def identity(self) -> str | None:
        """All that decides what it makes of a region: settings, versions, the machine.

        Two engines of one identity give the same plans; None: what it makes must not be kept.
        """
        ...

    def snapshot(self, runnable: Runnable) -> object:
        """What pickles in the place of a runnable; None where `prepare` makes it anew."""
        ...

    def restore(self, region: Region, model: Model, snapshot: object) -> Runnable:
        """The runnable of a region again; Unsupported where that fails."""
        ...

    def adopt(self, runnable: Runnable, name: str, beside: RecordStore) -> None:
        """Keep on disk, under this name, what the runnable finds out as it runs."""
        ...


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """What an engine can do besides judging and preparing; None: it cannot.

    `with_limits(counts, weighs)` is the engine for runs that bound iterations, or the bytes that
    loops hold: it keeps those bounds itself, so it takes loops `inside` too. `with_providers` is
    the engine that may have these others run single operators within what it takes.
    `as_provider` is the form of the engine that runs single operators for another one.
    `on_trial` is the engine that also takes steps it has nothing on record for, where nothing else
    can run them. `persistence` writes what the engine made to disk.
    """

    with_limits: Callable[[bool, bool], Engine] | None = None
    with_providers: Callable[[Sequence[Engine]], Engine] | None = None
    as_provider: Callable[[], Engine] | None = None
    on_trial: Callable[[], Engine] | None = None
    persistence: Persistence | None = None


class Engine(Protocol):
    """Something that runs regions."""

    @property
    def name(self) -> str:
        """The name users give it by: "onnxruntime"."""
        ...

    @property
    def traits(self) -> EngineTraits:
        """What it can do besides."""
        ...

    def judge(self, step: Step, model: Model, *, inside: bool) -> Verdict:
        """Whether it takes the step whole, bodies included.

        `inside`: a listener or a bound must see every value and iteration, so a step with bodies is
        taken only by an engine that can show them.
        """
        ...

    def prepare(self, region: Region, model: Model) -> Runnable:
        """The region, ready to run; all steps of it were taken by `judge`.

        Raises Unsupported where the engine refuses them together after all; the planner then asks
        for less.
        """
        ...

"""The interface of an engine: it judges steps and prepares regions."""

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

    `joins`: whether the engine would take the step together with others, though not alone; used
    only if it takes others. `links`: whether it would, large or not, between two loops it takes.
    `feeds`: whether it would, of any length, where only loops it takes slice the result.
    """

    takes: bool
    reason: str
    joins: Callable[[], bool] | None = None
    links: Callable[[], bool] | None = None
    feeds: Callable[[], bool] | None = None


class RecordStore(Protocol):
    """Space in the file of a plan for data that engines add later, to read one file less."""

    def get(self, name: str) -> bytes | None:
        """The data added under a name; None if there are none."""
        ...

    def add(self, name: str, content: bytes) -> bool:
        """Append the data; returns False if there is no room, or the name is taken."""
        ...


class Persistence(Protocol):
    """How an engine writes its runnables to disk, and restores them in another process."""

    @property
    def identity(self) -> str | None:
        """A digest of everything that decides the result: settings, versions, the machine.

        Two engines of equal identity make equal plans; None: the results must not be stored.
        """
        ...

    def snapshot(self, runnable: Runnable) -> object:
        """The object to pickle for a runnable; None if `prepare` must make it again."""
        ...

    def restore(self, region: Region, model: Model, snapshot: object) -> Runnable:
        """Restore the runnable of a region; raises Unsupported if that fails."""
        ...

    def adopt(self, runnable: Runnable, name: str, beside: RecordStore) -> None:
        """Store on disk, under this name, what the runnable learns at run time."""
        ...


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """The optional abilities of an engine; None: it lacks the ability.

    `with_limits(counts, weighs)` returns the engine for runs with a limit on iterations, or on the
    bytes that loops hold: it enforces the limits itself, so it takes loops `inside` too.
    `with_providers` returns the engine that may call these other engines for single operators.
    `as_provider` is the variant of the engine that runs single operators for another one.
    `on_trial` is the variant that also takes steps of unknown support if no other engine can run
    them. `persistence` writes prepared regions to disk. `profiled(folder)` is
    the variant that measures the time of its parts; files it writes go to that folder.
    """

    with_limits: Callable[[bool, bool], Engine] | None = None
    with_providers: Callable[[Sequence[Engine]], Engine] | None = None
    as_provider: Callable[[], Engine] | None = None
    on_trial: Callable[[], Engine] | None = None
    persistence: Persistence | None = None
    profiled: Callable[[str], Engine] | None = None


class Engine(Protocol):
    """An engine: it runs regions."""

    @property
    def name(self) -> str:
        """The engine's public name, such as "onnxruntime"."""
        ...

    @property
    def traits(self) -> EngineTraits:
        """The optional abilities."""
        ...

    def judge(self, step: Step, model: Model, *, inside: bool) -> Verdict:
        """Whether the engine takes the step as a whole, bodies included.

        `inside`: a listener or a limit must observe every value and iteration, so a step with
        bodies is taken only by an engine that supports this.
        """
        ...

    def prepare(self, region: Region, model: Model) -> Runnable:
        """Prepare the region, all of whose steps `judge` accepted.

        Raises Unsupported if the engine cannot run them together; the planner then tries a smaller
        region.
        """
        ...

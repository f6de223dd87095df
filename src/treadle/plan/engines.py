"""What an engine must offer: it judges steps and makes regions ready to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from treadle.ir import Model, Step
from treadle.plan.regions import Region
from treadle.plan.run import CompilationReport, NamedCall, Runnable


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an engine takes a step, and the reason, in words for `explain`.

    `joins`: whether it would take the step together with others that it takes, though not for
    itself; asked only where there are others.
    """

    takes: bool
    reason: str
    joins: Callable[[], bool] | None = None


@runtime_checkable
class SupportsExplain(Protocol):
    """A Runnable that can say what it has made so far."""

    def reports(self) -> Sequence[CompilationReport]:
        """An account for every kind of data that came."""
        ...

    def predicted_report(self) -> CompilationReport:
        """What is to be said before any came, and the code it would have as far as types tell."""
        ...


@runtime_checkable
class ReturnsFreshArrays(Protocol):
    """A Runnable that says whether nobody else has, or may write to, the memory of what it gives.

    Memory of the inputs and of its other results included.
    """

    @property
    def returns_fresh_arrays(self) -> bool:
        """Whether that holds of all its results."""
        ...


@runtime_checkable
class SupportsNamedInputs(Runnable, Protocol):
    """A Runnable that can also be fed by name, which for one operator is a third of a call."""

    def direct(self, names: Sequence[str]) -> NamedCall | None:
        """A call for values of these names, one per `region.inputs`; None where there is none.

        For runs that nobody listens to, bounds or may stop. Raises `FallbackRequired` as the
        Runnable does.
        """
        ...


@runtime_checkable
class SupportsLimits(Protocol):
    """An engine that keeps the bounds of a run in loops it takes whole."""

    def bounded(self, *, counts: bool, weighs: bool) -> Engine:
        """The engine for runs that bound iterations, or bytes: it takes loops `inside` too."""
        ...


@runtime_checkable
class UsesKernelProviders(Protocol):
    """An engine that has others run single operators within what it takes."""

    def with_providers(self, others: Sequence[Engine]) -> Engine:
        """The engine that may ask these."""
        ...


@runtime_checkable
class KernelProvider(Protocol):
    """An engine that has another form for single operators that others call."""

    def lent(self) -> Engine:
        """The engine for those."""
        ...


class Engine(Protocol):
    """Something that runs regions."""

    @property
    def name(self) -> str:
        """The name users give it by: "onnxruntime"."""
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

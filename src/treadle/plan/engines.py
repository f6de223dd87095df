"""The borders an engine must keep: Engine, Runnable, and the RunContext that goes along a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from treadle.errors import LimitExceeded, RunError, Terminated
from treadle.ir import Model, Step
from treadle.plan.regions import Region
from treadle.tracing import Iterations, Listener


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an engine takes a step, and the reason, in words for `explain`.

    `joins`: whether it would take the step together with others that it takes, though not for
    itself; asked only where there are others.
    """

    takes: bool
    reason: str
    joins: Callable[[], bool] | None = None


class Cancellable(Protocol):
    """What `RunOptions` looks like to an engine: setting `terminate` stops the run."""

    terminate: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; None: unbounded.

    `iterations` counts those of all loops together, nested ones included, `seconds` the time since
    the run began, `bytes` what loops hold at one time for carried and stacked values.
    """

    iterations: int | None = None
    seconds: float | None = None
    bytes: int | None = None


_UNBOUNDED = 2**62
_ADVICE = "raise the bound or see if the loops end"


@dataclass(slots=True)
class RunContext:
    """What one run carries along: who listens, what bounds it, and how to stop it.

    `held` is what the loops that are running hold, in bytes; counted only where that is bounded.
    `declined` are regions whose engine will not have them again either, and why. `may_share`: what
    an engine that gives own results gave may have memory of others, since it refused, or held that.
    """

    listener: Listener | None = None
    limits: Limits = Limits()
    options: Cancellable | None = None
    iterations_done: int = 0
    held: int = 0
    started: float = field(default_factory=time.monotonic)
    declined: dict[Region, str] | None = None
    outputs_may_alias: bool = False

    def decline(self, region: Region, why: str) -> None:
        """Remember that the engine of the region will not have it."""
        if self.declined is None:
            self.declined = {}
        self.declined[region] = why

    def iteration(self, path: str, iterations: Iterations) -> None:
        """Count one iteration of the loop at `path`; raise LimitExceeded or Terminated."""
        self.poll(path, iterations)
        self.iterations_done += 1
        if self.iterations_left < 0:
            raise self.over(path, iterations)

    @property
    def iterations_left(self) -> int:
        """How many iterations the run may still do; 2**62 for as many as it likes."""
        return _bound(self.limits.iterations) - self.iterations_done

    @property
    def bytes_left(self) -> int:
        """How many bytes loops may hold besides those they do; 2**62 for as many as they like."""
        return _bound(self.limits.bytes) - self.held

    def over(self, path: str, iterations: Iterations = ()) -> LimitExceeded:
        """The error of one iteration too many."""
        return LimitExceeded(
            f"more than max_iterations={self.limits.iterations} iterations; raise the bound or"
            " look at the loop's condition",
            path,
            iterations,
        )

    @property
    def may_stop(self) -> bool:
        """Whether `poll` may ever raise."""
        return self.options is not None or self.limits.seconds is not None

    def poll(self, path: str, iterations: Iterations = (), advice: str = _ADVICE) -> None:
        """Raise Terminated, or LimitExceeded with the advice, if the run must stop here."""
        if self.options is not None and self.options.terminate:
            raise Terminated("stopped by RunOptions.terminate", path, iterations)
        seconds = self.limits.seconds
        if seconds is not None and time.monotonic() - self.started > seconds:
            fault = f"more than max_seconds={seconds} seconds"
            raise LimitExceeded(f"{fault}; {advice}", path, iterations)

    def hold(self, size: int, path: str, iterations: Iterations) -> None:
        """Raise LimitExceeded if loops hold more than the bytes allowed."""
        most = self.limits.bytes
        if most is not None and size > most:
            raise LimitExceeded(
                f"its carried and stacked values hold {size} bytes, over max_bytes={most};"
                " raise the bound or look at what it stacks",
                path,
                iterations,
            )


def _bound(most: int | None) -> int:
    return _UNBOUNDED if most is None else int(min(most, _UNBOUNDED))


class FallbackRequired(Exception):
    """A Runnable cannot do its region on this data, and has done nothing: interp must.

    `error` is what to raise where interp cannot run the steps either. `is_lasting`: it would not
    do it on other data either, so the model may as well be planned without. `answered` is to be
    called where another engine did run them.
    """

    def __init__(self, error: RunError, *, is_lasting: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_lasting = is_lasting
        self.answered: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class CompilationReport:
    """What an engine made of a region for one kind of data, for `explain`.

    `title` says which data, `facts` are lines of words, `data` the same for programs. `code` gives
    the code as text, by what `explain` calls it: "kernel", "llvm".
    """

    title: str
    facts: tuple[str, ...]
    data: Mapping[str, object]
    code: Callable[[str], str]


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


NamedCall = Callable[[dict[str, object]], list[Any]]


class Runnable(Protocol):
    """A region ready to run, by several threads at once."""

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """One value per `region.inputs` in, one per `region.outputs` out.

        A value is a numpy array, a list for a sequence, None for an absent optional. Raises
        `FallbackRequired` where the engine cannot do it on this data; the caller has interp run the
        steps.
        """
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

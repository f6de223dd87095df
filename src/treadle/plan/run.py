"""One run: its limits, what it carries along, and what runs a region."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.errors import LimitExceeded, RunError, Terminated
from treadle.tracing import Iterations, Listener


class Cancellable(Protocol):
    """What `RunOptions` looks like to an engine: setting `terminate` stops the run."""

    terminate: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; None: unbounded.

    `iterations` bounds the iterations of all loops together, nested ones included, `seconds` the
    time since the run began, `bytes` the memory that loops hold at one time for carried and stacked
    values.
    """

    iterations: int | None = None
    seconds: float | None = None
    bytes: int | None = None


_UNBOUNDED = 2**62
_ADVICE = "raise the bound or see if the loops end"


@dataclass(slots=True)
class RunContext:
    """What one run carries along: who listens, what bounds it, and how to stop it.

    `held` is the number of bytes that running loops hold, counted only where the run bounds them.
    `declined` are regions that their engine will decline on other data too, each with the reason.
    `outputs_may_alias` is set after a fallback, or where boxed values were returned: results of an
    engine that promises fresh arrays must then be checked for shared memory and copied.
    """

    listener: Listener | None = None
    limits: Limits = Limits()
    options: Cancellable | None = None
    iterations_done: int = 0
    held: int = 0
    started: float = field(default_factory=time.monotonic)
    declined: dict[Any, str] | None = None
    outputs_may_alias: bool = False

    def decline(self, region: object, why: str) -> None:
        """Remember that the region's engine declines it on any data."""
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
    """A Runnable cannot run its region on this data, and has done nothing: the fallback must run.

    `error` is raised where the fallback cannot run the steps either. `is_lasting`: the engine would
    decline other data too, so the model may be planned without it. `answered` is called after the
    fallback has run the steps.
    """

    def __init__(self, error: RunError, *, is_lasting: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_lasting = is_lasting
        self.answered: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class CompilationReport:
    """What an engine compiled of a region for one signature of its inputs, for `explain`.

    `title` names the signature, `facts` are lines of prose, `data` has the same facts for programs.
    `code("kernel")` and `code("llvm")` give the code as text.
    """

    title: str
    facts: tuple[str, ...]
    data: Mapping[str, object]
    code: Callable[[str], str]


NamedCall = Callable[[dict[str, object]], list[Any]]
"""A call of a region with its inputs by name."""


def _no_named_call(names: Sequence[str]) -> NamedCall | None:
    return None


def _no_reports() -> Sequence[CompilationReport]:
    return ()


@dataclass(frozen=True, slots=True)
class RunnableTraits:
    """What a Runnable can do besides running, and what holds of its results.

    `returns_fresh_arrays`: nobody else has the memory of its results, or writes to it; that of the
    inputs and of its other results included. `by_name` is a call for values of these names, one per
    `region.inputs`, which for one operator takes a third of the time of a run; None where there is
    none. It is for runs without a listener, bounds or a way to stop them, and raises
    `FallbackRequired` as the Runnable does. `reports` has a report for every kind of data that
    came, `predicted_report` what can be said before any came, None where that is nothing.
    """

    returns_fresh_arrays: bool = False
    by_name: Callable[[Sequence[str]], NamedCall | None] = _no_named_call
    reports: Callable[[], Sequence[CompilationReport]] = _no_reports
    predicted_report: Callable[[], CompilationReport] | None = None


class Runnable(Protocol):
    """A region ready to run, by several threads at once."""

    @property
    def traits(self) -> RunnableTraits:
        """What it can do besides."""
        ...

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """One value per `region.inputs` in, one per `region.outputs` out.

        A value is a numpy array, a list for a sequence, None for an absent optional. Raises
        `FallbackRequired` where the engine cannot do it on this data; the caller then runs the
        region's fallback.
        """
        ...

"""The state of one run: limits, listener, cancellation; and the interface of prepared regions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.errors import LimitExceeded, RunError, Terminated
from treadle.plan.abandoned import Abandoned
from treadle.tracing import Iterations, Listener


class Pending:
    """Code that an engine will compile: which a Runnable returns instead of results.

    The other engines answer the call. `is_over`: it is compiled, or cannot be; `was_met`: a call
    has met it before.
    """

    is_over: bool
    was_met: bool

    def start(self, before: Callable[[], None] | None = None, *, at_once: bool = False) -> None:
        """Have it compiled by another thread, once.

        The thread calls `before` first; the caller does if `at_once`.
        """
        raise NotImplementedError


class Cancellable(Protocol):
    """RunOptions as engines see it: setting `terminate` stops the run."""

    terminate: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run; None: unlimited.

    `iterations` limits the iterations of all loops together, nested ones included, `seconds` the
    time since the run began, `bytes` the memory that loops hold at one time for carried and stacked
    values.
    """

    iterations: int | None = None
    seconds: float | None = None
    bytes: int | None = None


class Memory(Protocol):
    """Gives the memory that results of engines are written into, and hears what was written."""

    def room(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """The array for a result; None for a new one."""
        ...

    def wrote(self, rows: Mapping[str, int | None]) -> None:
        """Results were written: this number of rows by a run that ends early; None for all."""
        ...


_UNBOUNDED = 2**62
_ADVICE = "raise the limit, or check that the loops end"


@dataclass(slots=True)
class RunContext:
    """The state of one run: its listener, its limits, and how to stop it.

    `held` is the number of bytes that running loops hold, counted only if the run limits them.
    `declined` are regions that their engine will decline on other data too, each with the reason.
    `outputs_may_alias` is set after a fallback, or where boxed values were returned: results of an
    engine that promises fresh arrays must then be checked for shared memory and copied.
    `abandoned` holds the work that the session could not stop. `pending` is code that other engines
    have stood in for; with `waits` the run waits for code.
    """

    listener: Listener | None = None
    limits: Limits = Limits()
    options: Cancellable | None = None
    iterations_done: int = 0
    held: int = 0
    started: float = field(default_factory=time.monotonic)
    declined: dict[Any, str] | None = None
    outputs_may_alias: bool = False
    abandoned: Abandoned | None = None
    pending: list[Pending] | None = None
    waits: bool = False

    def decline(self, region: object, why: str) -> None:
        """Record that the region's engine declines it on any data."""
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
        """The number of iterations left to this run; 2**62 if unlimited."""
        return _bound(self.limits.iterations) - self.iterations_done

    @property
    def bytes_left(self) -> int:
        """The number of bytes that loops may still allocate; 2**62 if unlimited."""
        return _bound(self.limits.bytes) - self.held

    def over(self, path: str, iterations: Iterations = ()) -> LimitExceeded:
        """The LimitExceeded error for one iteration too many."""
        return LimitExceeded(
            f"more than max_iterations={self.limits.iterations} iterations; raise the limit, or "
            "check the loop's condition",
            path,
            iterations,
        )

    @property
    def falls_back(self) -> bool:
        """Whether what an engine refuses runs on another one; if not, the run fails there."""
        return getattr(self.options, "falls_back", True)

    @property
    def waits_for_code(self) -> bool:
        """Whether the run waits for code that would be compiled in the background."""
        return self.waits or getattr(self.options, "waits_for_code", False)

    @property
    def memory(self) -> Memory | None:
        """The memory for results, None for new arrays."""
        return None if self.options is None else getattr(self.options, "memory", None)

    @property
    def is_plain(self) -> bool:
        """Whether the run has no options and no limits: nothing bounds or stops it."""
        limits = self.limits
        is_bound = limits.iterations is not None or limits.bytes is not None
        return self.options is None and not is_bound and limits.seconds is None

    @property
    def may_stop(self) -> bool:
        """Whether `poll` can ever raise."""
        may_stop = self.options is not None and getattr(self.options, "may_stop", True)
        return may_stop or self.limits.seconds is not None

    def poll(self, path: str, iterations: Iterations = (), advice: str = _ADVICE) -> None:
        """Raise Terminated or LimitExceeded if the run must stop here."""
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
                " raise the limit, or check which values it stacks",
                path,
                iterations,
            )


def _bound(most: int | None) -> int:
    return _UNBOUNDED if most is None else int(min(most, _UNBOUNDED))


class FallbackRequired(Exception):
    """Raised by a Runnable that cannot run its region on this data: the fallback must run.

    Nothing has been computed. `error` is raised if the fallback cannot run the steps either.
    `is_lasting`: the engine would decline other data too, so the model may be planned again without
    it. `answered` is called after the fallback has run the steps.
    """

    def __init__(self, error: RunError, *, is_lasting: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_lasting = is_lasting
        self.answered: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class CompilationReport:
    """A report for `explain`: the code an engine compiled for one signature of a region's inputs.

    `title` names the signature, `facts` are sentences, `data` has the same facts as values by key.
    `code("kernel")`, `code("schedule")` and `code("llvm")` give the code as text.
    """

    title: str
    facts: tuple[str, ...]
    data: Mapping[str, object]
    code: Callable[[str], str]


NamedCall = Callable[[dict[str, object]], list[Any] | None]
"""A call of a region with its inputs by name; None if it leaves them to a run."""


def _nothing_to_compile() -> str:
    return ""


def _no_named_call(*_: object) -> NamedCall | None:
    return None


def _no_reports() -> Sequence[CompilationReport]:
    return ()


@dataclass(frozen=True, slots=True)
class RunnableTraits:
    """The optional abilities of a Runnable, and guarantees about its results.

    `returns_fresh_arrays`: the memory of each result is shared with nothing else, neither inputs
    nor other results. `by_name` is a call with inputs by name, one per `region.inputs`, which for
    one operator takes a third of the time of a run; None if not supported. It is for runs without a
    listener, limits or cancellation, and raises `FallbackRequired` as the Runnable does. With
    `by_name_checks_feeds` it returns None for feeds unlike those of earlier runs, which it leaves
    to a run; else the caller checks their types.
    `unwatched` is such a call for feeds with the extents of one whose run is known to be short:
    Ctrl-C waits for its end. `reports`
    returns a report for every signature seen so far, `predicted_report` a report before the first
    run; None if there is nothing to report. `compile_declared` compiles for the declared types of
    the inputs, undeclared extents open, and returns "", or why it cannot.
    """

    returns_fresh_arrays: bool = False
    by_name: Callable[[Sequence[str]], NamedCall | None] = _no_named_call
    by_name_checks_feeds: bool = False
    unwatched: Callable[[Sequence[str], Mapping[str, object]], NamedCall | None] = _no_named_call
    reports: Callable[[], Sequence[CompilationReport]] = _no_reports
    predicted_report: Callable[[], CompilationReport] | None = None
    compile_declared: Callable[[], str] = _nothing_to_compile


class Runnable(Protocol):
    """A prepared region, which several threads may run at once."""

    @property
    def traits(self) -> RunnableTraits:
        """The optional abilities."""
        ...

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object] | Pending:
        """One value per `region.inputs` in, one per `region.outputs` out.

        A value is a numpy array, a list for a sequence, None for an absent optional. Raises
        `FallbackRequired` if the engine cannot run on this data; the caller then runs the region's
        fallback. Returns a Pending if other engines are to run the region until its code is there.
        """
        ...

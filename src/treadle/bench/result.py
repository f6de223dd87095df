"""The result of a benchmark, as data and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from treadle.bench.cold import ColdStart
from treadle.bench.warm import WarmCalls
from treadle.report import show_bytes, show_factor, show_seconds, table

_HEAD = ("", "load", "first call", "compiling", "memory", "a call", "10 to 90 %", "")


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of one contender: cold in a new process without a disk cache, cached with it.

    `why_not` is the reason why it has no times, "" if it has; `differs` describes how its outputs
    differ from treadle's, "" if they agree within the tolerances of `treadle.report`.
    """

    name: str
    cold: ColdStart | None = None
    cached: ColdStart | None = None
    warm: WarmCalls | None = None
    differs: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Times of one model on one set of feeds; `str` is a table, `as_plain` data for JSON.

    The first of `timings` is treadle's. `threads` is the number of threads of each, 0 for its
    default.
    """

    model: str
    machine: str
    threads: int
    timings: tuple[Timing, ...]

    def __getitem__(self, name: str) -> Timing:
        """The times of a contender, by name."""
        return next(timing for timing in self.timings if timing.name == name)

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def __repr__(self) -> str:
        names = ", ".join(timing.name for timing in self.timings)
        return f"<Benchmark of {self.model}: {names}>"

    def as_plain(self) -> dict[str, object]:
        """Dicts, lists, strings and numbers; times in seconds, memory in bytes."""
        return {"version": 1, **asdict(self)}


def _lines(found: Benchmark) -> Iterator[str]:
    threads = "default threads" if not found.threads else f"threads: {found.threads}"
    yield f"{found.model}, {threads}, {found.machine}"
    yield ""
    yield table(list(_rows(found.timings)), _HEAD)
    notes = [f"{each.name}: {each.why_not or each.differs}" for each in found.timings]
    yield from (f"\n{note}" for note in notes if not note.endswith(": "))


def _rows(timings: Sequence[Timing]) -> Iterator[tuple[str, ...]]:
    first = timings[0].warm
    for timing in timings:
        warm, calls = timing.warm, ("-", "-", "")
        if warm is not None:
            is_other = first is not None and timing is not timings[0]
            factor = show_factor(warm.median, first.median) if is_other and first else ""
            spread = f"{show_seconds(warm.low)} to {show_seconds(warm.high)}"
            calls = (show_seconds(warm.median), spread, factor)
        yield (timing.name, *_start(timing.cold), *calls)
        if timing.cached is not None:
            yield ("  from the cache", *_start(timing.cached), "", "", "")


def _start(cold: ColdStart | None) -> tuple[str, str, str, str]:
    if cold is None:
        return ("-",) * 4
    compiling = show_seconds(cold.compiling) if cold.compiling else "-"
    memory = "-" if cold.memory is None else show_bytes(cold.memory)
    return show_seconds(cold.load), show_seconds(cold.first_call), compiling, memory

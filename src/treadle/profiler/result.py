"""The result of profiling: as text, as data, and as a trace for Chrome."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from treadle import markup
from treadle.arguments import expect_path
from treadle.boundary import public
from treadle.errors import InputError
from treadle.profiler.costs import CallCost, LoopCost, NestCost, OperatorCost, RegionCost
from treadle.profiler.stopwatch import Span
from treadle.profiling import Profile
from treadle.report import plural, show_seconds, table

__all__ = ["RunProfile"]

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class RunProfile:
    """The times of a run: means over `runs` runs, without the first, which compiles.

    `seconds` are those of one run, `first_run` those of the first, `compiling` the part spent on
    compiling. `regions` are the regions of engines, `loops` the loops of native code and interp
    with their iterations, `nests` the loop nests of native code, `operators` those run by interp
    and onnxruntime, `calls` the host calls of native code.
    """

    name: str
    seconds: float
    runs: int
    first_run: float
    compiling: float
    regions: Sequence[RegionCost]
    loops: Sequence[LoopCost] = ()
    nests: Sequence[NestCost] = ()
    operators: Sequence[OperatorCost] = ()
    calls: Sequence[CallCost] = ()
    spans: Sequence[Span] = field(default=(), repr=False)

    def as_plain(self) -> dict[str, Any]:
        """All fields except the spans as dicts and lists."""
        told = {name: getattr(self, name) for name in _NUMBERS}
        return told | {name: [asdict(each) for each in getattr(self, name)] for name in _LISTS}

    @public
    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the last run as a trace that Chrome and Perfetto open.

        It has the form of `end_profiling`'s. Loops of native code are drawn from the start of their
        region, one after the other: their durations are measured, not their start times.
        """
        began = self.spans[0].start if self.spans else 0
        profile = Profile(expect_path(path), _zero=began)
        for span in self.spans:
            profile.add("Node", f"{span.place.path}_kernel_time", span.start, span.end, {
                "op_name": span.place.operators,
                "engine": span.place.engine,
                "provider": "CPUExecutionProvider",
                "iterations": ",".join(map(str, span.iterations)),
            })  # fmt: skip
            if span.place.engine == "jit":
                self._add_loops(profile, span)
        try:
            profile.end()
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None

    def _add_loops(self, profile: Profile, span: Span) -> None:
        at = span.start
        for loop in _outermost(self.loops, span):
            end = at + int(loop.seconds / max(loop.times, 1) * 1e9)
            told = {"iterations": f"{loop.iterations:g}", "engine": loop.engine}
            for name in ("first", "steady", "last"):
                if (seconds := getattr(loop, name)) is not None:
                    told[f"{name}_us"] = f"{seconds * 1e6:.4g}"
            profile.add("Loop", loop.path, at, min(end, span.end), told)
            at = min(end, span.end)

    def __str__(self) -> str:
        compiled = f", {show_seconds(self.compiling)} of it compiling" if self.compiling else ""
        lines = [
            f"{self.name}: {show_seconds(self.seconds)} a run, the mean of"
            f" {plural(self.runs, 'run')}; the first took {show_seconds(self.first_run)}{compiled}"
        ]
        return "\n".join([*lines, *self._tables()])

    def __repr__(self) -> str:
        return f"<RunProfile of {self.name}: {show_seconds(self.seconds)} a run>"

    def _repr_html_(self) -> str:
        tables = [
            markup.details(
                title, markup.table((*_COSTS, *_HEADS[title]), lines), is_open=not number
            )
            for number, (title, lines) in enumerate(self._rows().items())
            if lines
        ]
        return markup.join([markup.preformatted(str(self).partition("\n")[0]), *tables])

    def _tables(self) -> Iterator[str]:
        for title, lines in self._rows().items():
            if lines:
                yield f"\n{title}\n{table(lines, (*_COSTS, *_HEADS[title]), indent=2)}"

    def _rows(self) -> dict[str, list[tuple[str, ...]]]:
        return {
            "regions": [
                self._cost(each, each.engine, each.path, each.operators)
                for each in _largest(self.regions)
            ],
            "loops": [self._loop(each) for each in _largest(self.loops)],
            "in native code": [
                self._cost(each, f"{each.samples or ''}", each.loop, each.words)
                for each in _largest(self.nests)
            ],
            "calls out of native code": [
                self._cost(each, each.loop, each.operator, each.why)
                for each in _largest(self.calls)
            ],
            "operators": [
                self._cost(each, each.engine, each.operator, each.path)
                for each in _largest(self.operators)
            ],
        }

    def _cost(self, cost: Any, *words: str) -> tuple[str, ...]:
        times = "" if cost.times is None else f"{cost.times:g}"
        return (*self._share(cost.seconds), times, *words)

    def _loop(self, loop: LoopCost) -> tuple[str, ...]:
        ends = (loop.first, loop.steady, loop.last)
        shown = ("" if each is None else _brief(each) for each in ends)
        counts = f"{loop.times:g}", f"{loop.iterations:g}"
        return (*self._share(loop.seconds), *counts, *shown, f"{loop.path} ({loop.engine})")

    def _share(self, seconds: float) -> tuple[str, str]:
        return _brief(seconds), f"{seconds / self.seconds:.0%}" if self.seconds else ""


_COSTS = ("time", "share", "times")
_HEADS = {
    "regions": ("engine", "path", "operators"),
    "loops": ("iterations", "first", "steady", "last", "path"),
    "in native code": ("samples", "loop", "computes"),
    "calls out of native code": ("loop", "operator", "why"),
    "operators": ("engine", "operator", "path"),
}
_NUMBERS = ("name", "seconds", "runs", "first_run", "compiling")
_LISTS = ("regions", "loops", "nests", "operators", "calls")


def _brief(seconds: float) -> str:
    return f"{seconds * 1e9:.0f} ns" if seconds < 1e-6 else show_seconds(seconds)


def _largest(costs: Sequence[Any]) -> list[Any]:
    return sorted(costs, key=lambda cost: -cost.seconds)[:_SHOWN]


def _outermost(loops: Sequence[LoopCost], span: Span) -> list[LoopCost]:
    """The outermost loops of native code in a region."""
    own = [each for each in loops if each.engine == "jit" and span.place.holds(each.path)]
    paths = [each.path for each in own]
    return [e for e in own if not any(e.path.startswith(f"{path}.") for path in paths)]

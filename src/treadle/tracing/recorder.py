"""A listener that records values, iteration by iteration."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from treadle import markup
from treadle.arguments import expect, expect_path
from treadle.boundary import public
from treadle.errors import InputError, did_you_mean
from treadle.messages import brief, join_words
from treadle.tracing.column_filter import ColumnFilter
from treadle.tracing.columns import Column, QualifiedName, merge_columns
from treadle.tracing.events import Event, Iterations, ValueMade
from treadle.tracing.npz import write_npz
from treadle.tracing.selector import Selector
from treadle.tracing.statistics import Statistics
from treadle.tracing.values import show_value, size_of
from treadle.tracing.window import Window, test_of


class Recorder:
    """Records values of a run, including those of bodies.

        recorder = Recorder(select="main/loop_0.body/h")
        session.run(None, feed, listener=recorder)
        recorder["h"][41,]                  # the value in iteration 41
        recorder.stacked("h")               # all iterations, stacked along a first axis

    `select` is one selector or several: the run then uses native code or onnxruntime, and the
    values are exposed as outputs, as by `treadle.expose`. Of a run that fails, all values before
    the failure are recorded: a long loop then runs in windows, others run on interp. Without
    `select` the run uses interp and records every value, constants and captures too; `names` and
    `paths` are globs over the values' names and the paths of their blocks.

    Iterations of the outermost loop around a value can be filtered: `iterations`, a slice; the
    `last` n; or `margin` iterations before and after each one in which `around` holds for a value
    ("isnan", "isinf", "> 1e6"). With `statistics` only a few numbers are kept for each value. A
    long loop runs in windows of iterations, so memory holds one window and the filtered values.
    With `max_bytes` the run uses interp, and the oldest values are dropped when more than that is
    held; `dropped` counts them. One object records one run at a time.
    """

    def __init__(
        self,
        names: str = "*",
        paths: str = "*",
        max_bytes: int | None = None,
        *,
        select: str | Sequence[str] | None = None,
        iterations: slice | None = None,
        last: int | None = None,
        around: str | None = None,
        margin: int = 5,
        statistics: bool = False,
    ) -> None:
        expect(names, str, "names", "a glob, as one str")
        expect(paths, str, "paths", "a glob, as one str")
        for name, bound in (("max_bytes", max_bytes), ("last", last), ("margin", margin)):
            if bound is not None:
                expect(bound, int, name, "a whole number")
        if iterations is not None:
            expect(iterations, slice, "iterations", "a slice, as slice(30, 35)")
        expect(statistics, bool, "statistics", "True or False")
        self.max_bytes, self.dropped = max_bytes, 0
        self.selector = None if select is None else Selector.of(select, "select")
        self._names, self._paths, self._statistics = names, paths, statistics
        self.is_filtered = statistics or any(b is not None for b in (iterations, last, around))
        self.is_summary = statistics and iterations is None and last is None and around is None
        test = None if around is None else test_of(around)
        self._window = Window(iterations, last, test, margin)
        self._picked: Collection[tuple[str, str]] | None = None
        self._heard: deque[ValueMade] = deque()
        self._held = 0
        self._columns: list[Column] = []
        self._filter = ColumnFilter(self._window)
        self._numbers: dict[tuple[str, str], Statistics] = {}

    @property
    def looks_at_events(self) -> bool:
        """Whether the recorder needs the events of interp."""
        return self.selector is None or self.max_bytes is not None

    def __call__(self, event: Event) -> None:
        """Record the event if it is a selected value."""
        if not isinstance(event, ValueMade) or not self._wants(event):
            return
        for kept in self._window.through(event):
            self._keep(kept)

    def _keep(self, event: ValueMade) -> None:
        if self._statistics:
            self._numbers.setdefault((event.path, event.name), Statistics()).add(event.value)
            return
        self._heard.append(event)
        if self.max_bytes is None:
            return
        self._held += size_of(event.value)
        while self._held > self.max_bytes:
            self._held -= size_of(self._heard.popleft().value)
            self.dropped += 1

    def _wants(self, event: ValueMade) -> bool:
        if self._picked is not None and (event.path, event.name) not in self._picked:
            return False
        return fnmatchcase(event.name, self._names) and fnmatchcase(event.path, self._paths)

    def listen_for(self, picked: Iterable[tuple[str, str]]) -> None:
        """Record only these values from now on: (path of the block, name)."""
        self._picked = frozenset(picked)

    def take(self, columns: Iterable[Column]) -> None:
        """Record exposed outputs at the end of a run."""
        if not self.is_filtered:
            self._columns += columns
            return
        for loop, found in _by_loop(columns).items():
            if loop:
                self.take_window(found)
                self.end_loop()
            else:
                self._store(found)

    def take_window(self, columns: Iterable[Column]) -> None:
        """Record a window of the iterations of one loop; the numbers are those of the loop."""
        if self.is_filtered:
            self._store(self._filter.through(columns))
        else:
            self._columns += columns

    def take_statistics(self, found: Mapping[QualifiedName, Statistics]) -> None:
        """Record statistics that the run itself has computed."""
        for place, numbers in found.items():
            self._numbers.setdefault(place, Statistics()).merge(numbers)

    def end_loop(self) -> None:
        """Record what waited for the end of the loop."""
        self._store(self._filter.rest())

    def _store(self, columns: Iterable[Column]) -> None:
        if not self._statistics:
            self._columns += columns
            return
        for each in columns:
            numbers = self._numbers.setdefault((each.path, each.name), Statistics())
            numbers.add(each.made if isinstance(each.made, np.ndarray) else list(each.made))

    def finish(self) -> None:
        """Record the values that waited for the end of the run: the last iterations."""
        for event in self._window.rest():
            self._keep(event)

    @property
    def columns(self) -> list[Column]:
        """The recorded values, one column per value."""
        self.finish()
        heard: dict[tuple[str, str], list[ValueMade]] = {}
        for event in self._heard:
            heard.setdefault((event.path, event.name), []).append(event)
        return [*merge_columns(self._columns), *(_column(events) for events in heard.values())]

    @property
    def values(self) -> Mapping[tuple[str, str], Mapping[Iterations, object]]:
        """The recorded values: by (path of the block, name), then by iteration numbers."""
        return {(each.path, each.name): dict(each.items()) for each in self.columns}

    @public
    def of(self, name: str, path: str = "*") -> list[ValueMade]:
        """All occurrences of values of this name, in order; `path` is a glob."""
        return [
            ValueMade(each.path, at, each.name, value, each.step)
            for each in self.columns
            if each.name == name and fnmatchcase(each.path, path)
            for at, value in each.items()
        ]

    @public
    def __getitem__(self, name: str) -> Mapping[Iterations, Any]:
        """The occurrences of a value, by name or (path, name), keyed by iteration numbers."""
        return dict(self.column(name).items())

    def __len__(self) -> int:
        """The number of recorded occurrences."""
        return sum(map(len, self.columns)) + sum(each.count > 0 for each in self._numbers.values())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths())

    def __repr__(self) -> str:
        kept = self.columns
        values = join_words((f"{each.path}/{each.name}" for each in kept), 3)
        size = sum(each.bytes for each in kept)
        summary = f"{len(kept)} values, {len(self)} times, {size} bytes"
        return f"<Recorder of {summary}: {brief(values, 60)}>"

    def _repr_html_(self) -> str:
        rows = [(f"{e.path}/{e.name}", len(e), show_value(_last(e)), e.bytes) for e in self.columns]
        head = ("value", "times", "the last", "bytes")
        parts = [markup.preformatted(repr(self)), markup.table(head, rows)]
        if self._numbers:
            parts.append(self._statistics_table())
        return markup.join(parts)

    def _statistics_table(self) -> str:
        rows = [
            (f"{path}/{name}", s.count, s.minimum, s.maximum, s.mean, s.nans, s.infs)
            for (path, name), s in self._numbers.items()
        ]
        head = ("value", "elements", "minimum", "maximum", "mean", "NaN", "infinite")
        return markup.table(head, rows)

    def paths(self) -> list[str]:
        """The path and name of every recorded value, in the order of execution."""
        return [f"{each.path}/{each.name}" for each in self.columns]

    @public
    def column(self, name: str) -> Column:
        """The column of a value, by name or (path, name); raises InputError if there is none."""
        found = [each for each in self.columns if name in (each.name, f"{each.path}/{each.name}")]
        if len(found) == 1:
            return found[0]
        names = self.paths()
        if not found:
            hint = did_you_mean(name, [*names, *(each.rpartition("/")[2] for each in names)])
            raise InputError(f'nothing was recorded of "{name}"; {hint}')
        which = ", ".join(f"{each.path}/{each.name}" for each in found)
        raise InputError(f'"{name}" is {len(found)} values; give one of {which}')

    @public
    def stacked(self, name: str) -> np.ndarray:
        """The value in all iterations in one array, with one leading axis per loop.

        If iterations are missing (branches, windows, inner loops of changing length), there is one
        leading axis in the order of execution. Raises InputError if shapes differ.
        """
        return self.column(name).stacked()

    @public
    def summary(self, name: str) -> Statistics:
        """The statistics of a value, by its name, or its path and name."""
        for (path, known), numbers in self._numbers.items():
            if name in (known, f"{path}/{known}"):
                return numbers
        found = Statistics()
        for value in self.column(name).made:
            found.add(value)
        return found

    @public
    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Write the recorded values: `PATH/NAME`, iterations first, and `PATH/NAME@at`.

        `PATH/NAME@at` is int64[n, loops]. If shapes differ there is one entry per occurrence:
        `PATH/NAME[0]`, `PATH/NAME[1]` ...
        """
        write_npz(expect_path(path), self.columns)

    @public
    def to_pandas(self) -> Any:
        """A DataFrame with a row per occurrence: path, name, iterations, value. Needs pandas."""
        try:
            import pandas
        except ImportError:
            raise InputError("to_pandas needs pandas: pip install pandas") from None
        rows = [
            (each.path, each.name, at, value) for each in self.columns for at, value in each.items()
        ]
        return pandas.DataFrame(rows, columns=["path", "name", "iterations", "value"])

    @public
    def clear(self) -> None:
        """Forget all recorded values."""
        self._heard.clear()
        self._columns.clear()
        self._numbers.clear()
        self._window.waiting.clear()
        self._filter.rest()
        self._held = self.dropped = 0


def _by_loop(columns: Iterable[Column]) -> dict[str, list[Column]]:
    """Columns by the path of the outermost loop around them, "" for none."""
    found: dict[str, list[Column]] = {}
    for each in columns:
        loop = each.path.partition(".body")[0] if each.loops else ""
        found.setdefault(loop, []).append(each)
    return found


def _column(events: Sequence[ValueMade]) -> Column:
    first = events[0]
    at = np.array([event.iterations for event in events], np.int64)
    at = at.reshape(len(events), len(first.iterations))
    return Column(first.path, first.name, [event.value for event in events], at, step=first.step)


def _last(column: Column) -> object:
    return column.made[-1] if len(column) else None

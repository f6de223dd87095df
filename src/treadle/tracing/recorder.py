"""A listener that keeps what values were, iteration by iteration."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from treadle.arguments import expect, expect_path
from treadle.errors import InputError, did_you_mean
from treadle.messages import brief
from treadle.tracing.columns import Column
from treadle.tracing.events import Event, Iterations, ValueMade
from treadle.tracing.npz import write_npz
from treadle.tracing.selector import Selector
from treadle.tracing.statistics import Statistics
from treadle.tracing.values import size_of
from treadle.tracing.window import Window, test_of


class Recorder:
    """Keeps values of a run, those of bodies included.

        recorder = Recorder(select="main/loop_0.body/h")
        session.run(None, feed, listener=recorder)
        recorder["h"][41,]                  # what it was in iteration 41
        recorder.stacked("h")               # all of them, iterations first

    `select` is a selector, or several: the run then stays on native code or onnxruntime, and the
    values come out of it as `treadle.expose` says. A run that fails is repeated on interp, so that
    everything up to there is recorded. Without `select` every value that interp makes is heard,
    constants and captures too: `names` and `paths` are globs of the values' names and of the blocks
    they are in.

    Which iterations are kept, by the number of the outermost loop around a value: `iterations`, a
    slice; the `last` so many; or `margin` before and after each one in which `around` holds of a
    value ("isnan", "isinf", "> 1e6"). With `statistics` only a few numbers are kept of each value.
    These are looked at as values come, on interp, so that no more is held than is wanted. With
    `max_bytes` the oldest values are let go once more than that is held; `dropped` counts them.
    It hears one run at a time.
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
        self._is_bounded = any(b is not None for b in (iterations, last, around, max_bytes))
        test = None if around is None else test_of(around)
        self._window = Window(iterations, last, test, margin)
        self._picked: Collection[tuple[str, str]] | None = None
        self._heard: deque[ValueMade] = deque()
        self._held = 0
        self._columns: list[Column] = []
        self._numbers: dict[tuple[str, str], Statistics] = {}

    @property
    def looks_at_events(self) -> bool:
        """Whether values must be heard as they come, and not only when the run is over."""
        return self.selector is None or self._statistics or self._is_bounded

    def __call__(self, event: Event) -> None:
        """Keep the event if it is a value that was asked for."""
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
        """Hear only of these values from here on: (path of the block, name)."""
        self._picked = frozenset(picked)

    def take(self, columns: Iterable[Column]) -> None:
        """Keep what a run gave at its end."""
        self._columns += columns

    def finish(self) -> None:
        """Keep what waited for the end of the run: the last iterations."""
        for event in self._window.rest():
            self._keep(event)

    @property
    def columns(self) -> list[Column]:
        """What was kept, value by value."""
        self.finish()
        heard: dict[tuple[str, str], list[ValueMade]] = {}
        for event in self._heard:
            heard.setdefault((event.path, event.name), []).append(event)
        return [*self._columns, *(_column(events) for events in heard.values())]

    @property
    def values(self) -> Mapping[tuple[str, str], Mapping[Iterations, object]]:
        """What was kept: by (path of the block, name), then by the iterations around it."""
        return {(each.path, each.name): dict(each.items()) for each in self.columns}

    def of(self, name: str, path: str = "*") -> list[ValueMade]:
        """Every time a value of this name was made, in order; `path` is a glob."""
        return [
            ValueMade(each.path, at, each.name, value, each.step)
            for each in self.columns
            if each.name == name and fnmatchcase(each.path, path)
            for at, value in each.items()
        ]

    def __getitem__(self, name: str) -> Mapping[Iterations, Any]:
        """What the value of a name, or of a path and name, was: by its iteration numbers."""
        return dict(self.column(name).items())

    def __len__(self) -> int:
        """How many times values were kept."""
        return sum(map(len, self.columns)) + sum(each.count > 0 for each in self._numbers.values())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths())

    def __repr__(self) -> str:
        kept = self.columns
        values = ", ".join(f"{each.path}/{each.name}" for each in kept)
        size = sum(each.bytes for each in kept)
        return f"<Recorder of {len(kept)} values, {len(self)} times, {size} bytes: {brief(values)}>"

    def paths(self) -> list[str]:
        """The path and name of every value that was kept, in the order of execution."""
        return [f"{each.path}/{each.name}" for each in self.columns]

    def column(self, name: str) -> Column:
        """All that was kept of the value of a name, or of a path and name; InputError for none."""
        found = [each for each in self.columns if name in (each.name, f"{each.path}/{each.name}")]
        if len(found) == 1:
            return found[0]
        names = self.paths()
        if not found:
            hint = did_you_mean(name, [*names, *(each.rpartition("/")[2] for each in names)])
            raise InputError(f'nothing was recorded of "{name}"; {hint}')
        which = ", ".join(f"{each.path}/{each.name}" for each in found)
        raise InputError(f'"{name}" is {len(found)} values; give one of {which}')

    def stacked(self, name: str) -> np.ndarray:
        """The value in all iterations in one array, with an axis for each loop in front.

        Where iterations are missing (branches, windows, inner loops of changing length), there is
        one axis in front, in the order of execution. Raises InputError for shapes that differ.
        """
        return self.column(name).stacked()

    def summary(self, name: str) -> Statistics:
        """The statistics of a value, by its name, or its path and name."""
        for (path, known), numbers in self._numbers.items():
            if name in (known, f"{path}/{known}"):
                return numbers
        found = Statistics()
        for value in self.column(name).made:
            found.add(value)
        return found

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Write what was kept: `PATH/NAME`, iterations first, and `PATH/NAME@at`, int64[n, loops].

        Where shapes differ there is an entry for each time: `PATH/NAME[0]`, `PATH/NAME[1]` ...
        """
        write_npz(expect_path(path), self.columns)

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each time: path, name, iterations, value. Needs pandas."""
        try:
            import pandas
        except ImportError:
            raise InputError("to_pandas needs pandas: pip install pandas") from None
        rows = [
            (each.path, each.name, at, value) for each in self.columns for at, value in each.items()
        ]
        return pandas.DataFrame(rows, columns=["path", "name", "iterations", "value"])

    def clear(self) -> None:
        """Forget everything."""
        self._heard.clear()
        self._columns.clear()
        self._numbers.clear()
        self._window.waiting.clear()
        self._held = self.dropped = 0


def _column(events: Sequence[ValueMade]) -> Column:
    first = events[0]
    at = np.array([event.iterations for event in events], np.int64)
    at = at.reshape(len(events), len(first.iterations))
    return Column(first.path, first.name, [event.value for event in events], at, step=first.step)

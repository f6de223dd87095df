"""A model that runs stage by stage, its long loops a window of iterations at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treadle import passes
from treadle.errors import InputError
from treadle.feeds import bind
from treadle.ir import Loop, Model
from treadle.passes.surgery import LoopWindow, Stage, stages
from treadle.recording.loop_lengths import has_loops
from treadle.recording.outputs import columns, place_of_step, statistics
from treadle.recording.row_buffers import RowBuffers
from treadle.recording.run_limits import Remaining, without_fallback
from treadle.tracing import Column, QualifiedName, Selector, Statistics

Feeds = Mapping[str, Any]
Run = Callable[..., dict[str, Any]]
"""One run: the outputs by name for inputs by name, and run options if there are any."""
Prepare = Callable[[Model], Run]
"""Makes a model ready once, for any number of runs."""
Columns = dict[str, Column]
Expose = Callable[[Model, Selector, str], passes.Exposure]


@dataclass(eq=False, slots=True)
class _Progress:
    """The progress of a loop: the next iteration, whether it has ended, and its stacked parts."""

    limit: int | None
    goes_on: Any
    parts: list[list[np.ndarray]]
    start: int = 0
    has_ended: bool = False
    own: Columns = field(default_factory=dict)
    rows: RowBuffers | None = None


class StagedModel:
    """A model in stages, each prepared once, for any number of runs.

    With a selector, the selected values are exposed, stage by stage; without one the plain model
    runs.
    """

    def __init__(
        self,
        model: Model,
        loops: Sequence[str],
        parts: Sequence[Stage],
        prepare: Prepare,
        expose: Expose | None = None,
        selector: Selector | None = None,
    ) -> None:
        self.loops, self.parts = loops, parts
        self._prepare, self._expose, self._selector = prepare, expose, selector
        self._constants = {c.value.name: c.array for c in model.main.constants}
        self._defaults = [(p.name, p.type) for p in model.main.params if p.name in self._constants]
        self._inputs = {p.name: p.type for p in model.main.params if p.name not in self._constants}
        self._chosen = frozenset() if selector is None else passes.chosen(model, selector)
        self._prepared: dict[int, tuple[Run, passes.Exposure | None]] = {}

    @classmethod
    def of(
        cls,
        model: Model,
        loops: Sequence[str],
        prepare: Prepare,
        expose: Expose | None = None,
        selector: Selector | None = None,
    ) -> StagedModel | None:
        """Divide a model into stages, so that the loops at these paths run in windows.

        None if no loop can.
        """
        parts = stages(model, loops)
        return None if parts is None else cls(model, loops, parts, prepare, expose, selector)

    @property
    def is_counted(self) -> bool:
        """Whether the number of iterations of each loop is known when it begins."""
        return not any(part.window is not None and part.window.count for part in self.parts)

    def is_chosen(self, path: str, name: str) -> bool:
        """Whether the selector picks this value of the model."""
        return (path, name) in self._chosen

    def run(self, feeds: Feeds) -> StagedRun:
        """A run that has not begun; InputError for feeds that do not fit the model."""
        inputs = self._inputs | {name: type_ for name, type_ in self._defaults if name in feeds}
        bound = dict(zip(inputs, bind(inputs, feeds), strict=True))
        return StagedRun(self, self._constants | bound)

    def prepared(self, number: int) -> tuple[Run, passes.Exposure | None]:
        """How a stage runs, and what is exposed of it."""
        found = self._prepared.get(number)
        if found is None:
            stage = self.parts[number]
            exposure = self._exposed(stage)
            exposed = exposure.model if exposure is not None else stage.model
            found = self._prepared[number] = self._prepare(exposed), exposure
        return found

    def _exposed(self, stage: Stage) -> passes.Exposure | None:
        if self._expose is None or self._selector is None:
            return None
        here = Selector(tuple(p for p in self._selector.patterns if _matches(p, stage.model)))
        try:
            return self._expose(stage.model, here, stage.window.path if stage.window else "")
        except InputError:
            return None  # what it picks here are constants and captures alone


class StagedRun:
    """A run in stages. `until` and `window` go on with it; both give recorded values.

    `options` are what is left of the run options; None without. `feeds` are those of the stage or
    window that runs, or ran last. With `keeps_rows` the windows of a loop write recorded values
    into common arrays.
    """

    def __init__(self, model: StagedModel, values: dict[str, Any]) -> None:
        self._model, self._values = model, values
        self._number = 0
        self._loop: _Progress | None = None
        self.options: Remaining | None = None
        self.feeds: Feeds = {}
        self.keeps_rows = False
        self._statistics: dict[QualifiedName, Statistics] = {}

    @property
    def model(self) -> Model:
        """The plain model of the stage that runs."""
        return self._model.parts[self._number].model

    @property
    def loop(self) -> str:
        """The path of the loop that runs in windows; "" between loops."""
        return "" if self._window is None else self._window.path

    @property
    def is_nested(self) -> bool:
        """Whether there are loops in the body of that loop: its first window is one iteration."""
        step = self.model.main.steps[0] if self._window is not None else None
        return isinstance(step, Loop) and has_loops(step)

    @property
    def start(self) -> int:
        """The number of iterations of that loop that have run."""
        return 0 if self._loop is None else self._loop.start

    def is_asked(self, path: str, name: str) -> bool:
        """Whether a value of the window is one of the model's, and picked there too."""
        window = self._window
        if window is None:
            return True
        is_number = (path, name) == (f"{window.path}.body", window.number)
        return name not in window.added and (not is_number or self._model.is_chosen(path, name))

    def value(self, name: str) -> Any:
        """A computed value of the main block."""
        return self._values[name]

    def until(self, loop: str) -> Columns:
        """Run the stages before the loop at a path, all of them for ""."""
        found: Columns = {}
        while self._number < len(self._model.parts):
            if self._window is not None and self._window.path == loop:
                break
            found |= self._run(self._values)[1]
            self._number += 1
        return found

    @property
    def has_ended(self) -> bool:
        """Whether the next or current loop has no further iteration."""
        return self._loop is not None and self._loop.has_ended

    @property
    def limit(self) -> int | None:
        """The most iterations of the next or current loop; None if only its condition ends it."""
        return self._begun().limit

    def window(self, size: int, *, falls_back: bool = True) -> tuple[int, Columns]:
        """Run at most `size` further iterations: how many there were, and what was recorded.

        Without `falls_back`, the window fails where an engine refuses it. A window that fails can
        be run again.
        """
        window = self._window
        assert window is not None, "`until` stops before a loop"
        loop = self._begun()
        if loop.has_ended:
            return 0, {}
        count = size if loop.limit is None else min(size, loop.limit - loop.start)
        made, found = self._run(self._inputs(window, loop, count), falls_back)
        ran = int(np.asarray(made[window.count]).item()) if window.count else count
        if window.go and not window.count and not np.all(loop.goes_on):
            ran = 0
        for each in window.states:
            self._values[each.result] = made[each.result]
        for array, stack in zip(loop.parts, window.stacks, strict=True):
            if ran or not array:
                array.append(made[stack.result])
        loop.start += ran
        self.options = None if self.options is None else self.options.after(ran)
        loop.goes_on = made[window.goes_on] if window.count else loop.goes_on
        loop.has_ended = ran < size or loop.start == loop.limit or not np.all(loop.goes_on)
        seen = {name: c for name, c in found.items() if self.is_asked(c.path, c.name)}
        loop.own |= {name: c for name, c in seen.items() if not c.loops}
        return ran, {name: c for name, c in seen.items() if name not in loop.own}

    def take_statistics(self) -> dict[QualifiedName, Statistics]:
        """The statistics that stages and windows have computed since they were last taken."""
        found, self._statistics = self._statistics, {}
        return found

    def close(self) -> Columns:
        """Put the loop's results together, once it has ended."""
        window, loop = self._window, self._loop
        assert window is not None, "a loop has been run"
        assert loop is not None, "a loop has been run"
        for parts, each in zip(loop.parts, window.stacks, strict=True):
            self._values[each.result] = _joined(parts, each.role.axis, each.role.reverse)
        self._number, self._loop = self._number + 1, None
        trips, ended = (place_of_step(f"{window.path}@{extra}") for extra in ("trips", "ended"))
        asked = {column.qualified_name for column in loop.own.values()}
        own = {each: self._values[each.name] for each in asked - {trips, ended}}
        own[trips] = np.int64(loop.start)
        if ended in asked:
            own[ended] = np.bool_(loop.limit is None or loop.start < loop.limit)
        return {each.full_name: _once(each, value, window.path) for each, value in own.items()}

    def _begun(self) -> _Progress:
        """The progress of the next or current loop, which begins if it has not."""
        if self._loop is None:
            assert self._window is not None, "`until` stops before a loop"
            self._loop = self._begin(self._window)
        return self._loop

    def _begin(self, window: LoopWindow) -> _Progress:
        for each in window.states:
            self._values[each.result] = self._values.get(each.initial)
        limits = [self._length(each.source, each.role.axis) for each in window.slices]
        if window.trip:
            limits.append(max(0, int(np.asarray(self._values[window.trip]).item())))
        goes_on = self._values[window.condition] if window.condition else np.array(True)
        limit = min(limits, default=None)
        begun = _Progress(limit, goes_on, [[] for _ in window.stacks])
        exposure = self._model.prepared(self._number)[1]
        if self.keeps_rows and exposure is not None and limit is not None and not window.count:
            begun.rows = RowBuffers.of(exposure, limit)
        return begun

    def _length(self, source: str, axis: int) -> int:
        return int(np.asarray(self._values[source]).shape[axis])

    def _inputs(self, window: LoopWindow, loop: _Progress, count: int) -> Feeds:
        inputs = dict(self._values)
        start = loop.start
        if window.limit:
            inputs[window.limit] = np.array(count, np.int64)
        if window.go:
            inputs[window.go] = np.asarray(loop.goes_on, bool).reshape(())
        if window.first:
            inputs[window.first] = np.full((1,) * window.number_rank, start, np.int64)
        for state in window.states:
            inputs[state.input] = self._values[state.result]
        for each in window.slices:
            inputs[each.input] = _items(self._values[each.source], each.role, start, count)
        return inputs

    def _run(self, values: Feeds, falls_back: bool = True) -> tuple[dict[str, Any], Columns]:
        """Run the stage, keep its results, and give what was recorded of it."""
        model = self._model.parts[self._number].model
        run, exposure = self._model.prepared(self._number)
        if exposure is None and not model.main.results:
            return {}, {}
        self.feeds = {param.name: values[param.name] for param in model.main.params}
        options = self.options if falls_back else without_fallback(self.options)
        if self._loop is not None and self._loop.rows is not None:
            self._loop.rows.start = self._loop.start
            options = replace(options or Remaining(None), memory=self._loop.rows)
        made = run(self.feeds) if options is None else run(self.feeds, options)
        self._values |= {v.name: made[v.name] for v in model.main.results if v is not None}
        found = [] if exposure is None else columns(exposure, made, never_made=True)
        for place, numbers in () if exposure is None else statistics(exposure, made):
            if self.is_asked(*place):
                self._statistics.setdefault(place, Statistics()).merge(numbers)
        return made, {f"{each.path}/{each.name}": each for each in found}

    @property
    def _window(self) -> LoopWindow | None:
        parts = self._model.parts
        return parts[self._number].window if self._number < len(parts) else None


def _once(place: QualifiedName, value: Any, step: str) -> Column:
    """The recorded occurrence of a value of the main block."""
    made = value if isinstance(value, list) or value is None else np.asarray(value)
    return Column(*place, [made], np.zeros((1, 0), np.int64), (), step)


def _matches(pattern: str, model: Model) -> bool:
    try:
        Selector((pattern,)).expect_match(model)
    except InputError:
        return False
    return True


def _items(source: Any, role: Any, start: int, count: int) -> np.ndarray:
    array = np.asarray(source)
    extent = array.shape[role.axis]
    ends = (extent - start - count, extent - start) if role.reverse else (start, start + count)
    picked = [slice(None)] * array.ndim
    picked[role.axis] = slice(*ends)
    return array[tuple(picked)]


def _joined(parts: Sequence[np.ndarray], axis: int, reverse: bool) -> np.ndarray:
    filled = [part for part in parts if part.shape[axis]] or parts[:1]
    return np.concatenate(filled[::-1] if reverse else filled, axis=axis)

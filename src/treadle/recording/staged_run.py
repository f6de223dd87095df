"""A run of a model in stages: its long loops run a window of iterations at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treadle.ir import Branch, Loop, Model, Value
from treadle.passes.surgery import LoopWindow, Stage
from treadle.recording.loop_lengths import has_loops
from treadle.recording.outputs import columns, place_of_step, statistics
from treadle.recording.row_buffers import RowBuffers
from treadle.recording.run_limits import Remaining, without_fallback
from treadle.recording.staged import Feeds, StagedModel
from treadle.recording.stepping import (
    branch_inputs,
    branch_taken,
    in_whole,
    inside,
    items_of,
    loop_inputs,
    once,
)
from treadle.tracing import Column, QualifiedName, Statistics, selectables

Columns = dict[str, Column]


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


class StagedRun:
    """A run in stages. `until` and `window` go on with it; both give recorded values.

    A loop or branch around a long loop `is_stepped`: `enter` gives the run of its next body, and
    `leave` goes on after that has ended. `at` are the numbers of the iterations around such a body.
    They are the first numbers of what it records, followed by those of loops inside, which begin
    with 0 in each window.

    `options` are what is left of the run options; None without. `feeds` are those of the stage or
    window that runs, or ran last. With `keeps_rows` the windows of a loop write recorded values
    into common arrays.
    """

    def __init__(
        self,
        model: StagedModel,
        values: dict[str, Any],
        at: tuple[int, ...] = (),
        given: Collection[str] = (),
    ) -> None:
        self._model, self._values, self.at = model, values, at
        self._begins = {
            f"main/{name}": once("main", name, values[name])
            for name in given
            if model.is_chosen(model.path, name)
        }
        self._number = 0
        self._loop: _Progress | None = None
        self.options: Remaining | None = None
        self.feeds: Feeds = {}
        self.keeps_rows = False
        self._statistics: dict[QualifiedName, Statistics] = {}

    @classmethod
    def of(cls, model: StagedModel, feeds: Feeds) -> StagedRun:
        """A run that has not begun; InputError for feeds that do not fit the model."""
        return cls(model, model.values(feeds))

    @property
    def model(self) -> Model:
        """The plain model of the stage that runs."""
        return self._model.parts[self._number].model

    @property
    def loop(self) -> str:
        """The path of the loop that runs in windows; "" between loops."""
        return "" if self._window is None else self._window.path

    @property
    def loops(self) -> list[str]:
        """The paths of the loops and branches of the block that are stages, in order."""
        return self._model.loops

    @property
    def block(self) -> str:
        """The path of the block that runs."""
        return self._model.path

    @property
    def is_stepped(self) -> bool:
        """Whether the next stage is a loop or branch that runs a body at a time."""
        return bool(self._model.parts[self._number].bodies)

    def placed(self, found: Columns) -> Columns:
        """Recorded values of the block as those of the whole model."""
        if self.block == "main":
            return found
        moved = (inside(column, self.block, self.at) for column in found.values())
        return {column.full_name: column for column in moved}

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

    def chosen(self) -> Iterator[tuple[str, str]]:
        """The selected values of the stage: the path of the block, and the name."""
        given = {param.name for param in self.model.main.params}
        for item in selectables(self.model):
            path = in_whole(item.path, self.block)
            is_given = item.path == "main" and item.name in given
            if item.name and not is_given and self._model.is_chosen(path, item.name):
                yield item.path, item.name

    def value(self, name: str) -> Any:
        """A computed value of the main block."""
        return self._values[name]

    def until(self, loop: str) -> Columns:
        """Run the stages before the loop at a path, all of them for ""."""
        found, self._begins = self._begins, {}
        while self._number < len(self._model.parts):
            if loop and self._model.parts[self._number].path == loop:
                break
            found |= self._run(self._values)[1]
            self._number += 1
        return self.placed(found)

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
        return ran, self.placed({name: c for name, c in seen.items() if name not in loop.own})

    def enter(self) -> StagedRun | None:
        """The run of the body in the next iteration, or of the branch taken; None at the end."""
        stage = self._model.parts[self._number]
        if isinstance(stage.step, Branch):
            return self._enter_branch(stage.step)
        assert stage.step is not None, "only loops and branches are stepped"
        assert stage.window is not None, "only loops and branches are stepped"
        loop = self._begun()
        if loop.limit == 0 or not np.all(loop.goes_on):
            if not loop.start:
                self.window(1)  # for the shapes of its results
            loop.has_ended = True
        if loop.has_ended:
            return None
        if self.options is not None:
            if self.options.limits.iterations == 0:
                self.window(1)  # says that there are too many
            self.options = self.options.after(1)
        inputs = loop_inputs(stage.step, stage.window, self._values, loop.start, loop.goes_on)
        return self._entered("body", inputs, (*self.at, loop.start))

    def _enter_branch(self, branch: Branch) -> StagedRun | None:
        if self._loop is not None:
            return None
        self._loop = _Progress(1, True, [])
        name, body = branch_taken(branch, self._values)
        return self._entered(name, branch_inputs(branch, body, self._values), self.at)

    def _entered(self, name: str, inputs: Feeds, at: tuple[int, ...]) -> StagedRun:
        model = self._model.body(self._number, name)
        made = StagedRun(model, {**model.constants, **inputs}, at, list(inputs))
        made.options, made.keeps_rows = self.options, self.keeps_rows
        return made

    def leave(self, body: StagedRun) -> None:
        """Take the results of a body that has ended."""
        stage, loop = self._model.parts[self._number], self._loop
        assert loop is not None, "it has been entered"
        results: list[Any] = [None if v is None else body.value(v.name) for v in body.results]
        self.options = body.options
        if isinstance(stage.step, Branch):
            named = zip(stage.step.results, results, strict=True)
            self._values |= {result.name: value for result, value in named if result is not None}
            return
        assert stage.window is not None, "it is a loop"
        goes_on, count = results[0], len(stage.window.states)
        for state, value in zip(stage.window.states, results[1:], strict=False):
            self._values[state.result] = value
        for parts, stack, value in zip(
            loop.parts, stage.window.stacks, results[1 + count :], strict=True
        ):
            parts.append(np.expand_dims(value, stack.role.axis))
        loop.start += 1
        loop.goes_on = loop.goes_on if goes_on is None else goes_on
        loop.has_ended = loop.start == loop.limit or not np.all(loop.goes_on)

    @property
    def results(self) -> Sequence[Value | None]:
        """The results of the block."""
        return self._model.model.main.results

    def take_statistics(self) -> dict[QualifiedName, Statistics]:
        """The statistics that stages and windows have computed since they were last taken."""
        found, self._statistics = self._statistics, {}
        return found

    def close(self) -> Columns:
        """Put the loop's results together, once it has ended; what was recorded of the step."""
        stage = self._model.parts[self._number]
        if stage.bodies:
            return self._close_stepped(stage)
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
        return self.placed(
            {each.full_name: once(*each, value, window.path) for each, value in own.items()}
        )

    def _close_stepped(self, stage: Stage) -> Columns:
        loop, window, step = self._loop, stage.window, stage.step
        assert loop is not None, "it has been entered"
        assert step is not None, "only loops and branches are stepped"
        if window is not None:
            for parts, each in zip(loop.parts, window.stacks, strict=True):
                self._values[each.result] = _joined(parts, each.role.axis, each.role.reverse)
        names = [v.name for v in step.results if v and self._model.is_chosen(self.block, v.name)]
        own = {QualifiedName("main", name): self._values[name] for name in names}
        extras: dict[str, Any]
        if isinstance(step, Branch):
            extras = {"taken": np.bool_(branch_taken(step, self._values)[0] == "then_branch")}
        else:
            extras = {"trips": np.int64(loop.start)}
            if self._model.is_asked(stage.path, "ended"):
                extras["ended"] = np.bool_(loop.limit is None or loop.start < loop.limit)
        own |= {place_of_step(f"{stage.path}@{name}"): value for name, value in extras.items()}
        self._number, self._loop = self._number + 1, None
        return self.placed(
            {each.full_name: once(*each, value, stage.path) for each, value in own.items()}
        )

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
        if self._model.parts[self._number].bodies:
            return begun
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
            inputs[each.input] = items_of(self._values[each.source], each.role, start, count)
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


def _joined(parts: Sequence[np.ndarray], axis: int, reverse: bool) -> np.ndarray:
    filled = [part for part in parts if part.shape[axis]] or parts[:1]
    return np.concatenate(filled[::-1] if reverse else filled, axis=axis)

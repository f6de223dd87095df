"""A model that runs stage by stage, its long loops a window of iterations at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from treadle import passes
from treadle.errors import InputError
from treadle.feeds import bind
from treadle.ir import Model
from treadle.passes.surgery import Stage, Staged, stages
from treadle.recording.stepping import in_whole
from treadle.tracing import QualifiedName, Selector, selectables

Feeds = Mapping[str, Any]
Run = Callable[..., dict[str, Any]]
"""One run: the outputs by name for inputs by name, and run options if there are any."""
Prepare = Callable[[Model], Run]
"""Makes a model ready once, for any number of runs."""
Expose = Callable[[Model, Selector, str], passes.Exposure]


class StagedModel:
    """A model in stages, each prepared once, for any number of runs.

    With a selector, the selected values are exposed, stage by stage; without one the plain model
    runs.
    """

    def __init__(
        self,
        staged: Staged,
        prepare: Prepare,
        expose: Expose | None = None,
        selector: Selector | None = None,
        chosen: Collection[QualifiedName] = frozenset(),
    ) -> None:
        model = staged.model
        self.path, self.parts = staged.path, staged.parts
        self.model, self._prepare, self._expose = model, prepare, expose
        self._selector, self._chosen = selector, chosen
        self.constants = {c.value.name: c.array for c in model.main.constants}
        self._defaults = [(p.name, p.type) for p in model.main.params if p.name in self.constants]
        self._inputs = {p.name: p.type for p in model.main.params if p.name not in self.constants}
        self._prepared: dict[int, tuple[Run, passes.Exposure | None]] = {}
        self._bodies: dict[tuple[int, str], StagedModel] = {}

    @classmethod
    def of(
        cls,
        model: Model,
        long: Sequence[str],
        prepare: Prepare,
        expose: Expose | None = None,
        selector: Selector | None = None,
    ) -> StagedModel | None:
        """Divide a model into stages, so that the loops at these paths run in windows.

        Loops and branches around them, which are in `long` too, run a body at a time. None if that
        cannot be done.
        """
        staged = stages(model, long)
        if staged is None:
            return None
        chosen = frozenset() if selector is None else passes.chosen(model, selector)
        places = frozenset(QualifiedName(*each) for each in chosen)
        return cls(staged, prepare, expose, selector, places)

    @property
    def loops(self) -> list[str]:
        """The paths of the loops and branches of the block that are stages, in order."""
        return [part.path for part in self.parts if part.path]

    def body(self, number: int, name: str) -> StagedModel:
        """A body of a stage, in stages."""
        if (number, name) not in self._bodies:
            self._bodies[number, name] = StagedModel(
                self.parts[number].bodies[name],
                self._prepare, self._expose, self._selector, self._chosen,
            )  # fmt: skip
        return self._bodies[number, name]

    @property
    def is_counted(self) -> bool:
        """Whether the number of iterations of each loop is known when it begins."""
        inner = [self.body(k, name) for k, part in enumerate(self.parts) for name in part.bodies]
        own = not any(part.window is not None and part.window.count for part in self.parts)
        return own and all(each.is_counted for each in inner)

    def is_chosen(self, path: str, name: str) -> bool:
        """Whether the selector picks this value of the model."""
        return (path, name) in self._chosen

    def is_asked(self, step: str, extra: str) -> bool:
        """Whether the selector picks an extra of a loop or branch."""
        return self._selector is not None and self._selector.picks_extra(step, extra)

    def values(self, feeds: Feeds) -> dict[str, Any]:
        """The constants and inputs by name; InputError for feeds that do not fit the model."""
        inputs = self._inputs | {name: type_ for name, type_ in self._defaults if name in feeds}
        bound = dict(zip(inputs, bind(inputs, feeds), strict=True))
        return self.constants | bound

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
        here = self._selector_of(stage)
        try:
            return self._expose(stage.model, here, stage.window.path if stage.window else "")
        except InputError:
            return None  # what it picks here are constants and captures alone

    def _selector_of(self, stage: Stage) -> Selector:
        """The selector of the whole model in a stage, whose block is a main block."""
        assert self._selector is not None, "else nothing is exposed"
        patterns = self._selector.patterns
        if self.path != "main" and patterns != ("*",):
            values = [item for item in selectables(stage.model) if item.name]
            chosen = [v for v in values if self.is_chosen(in_whole(v.path, self.path), v.name)]
            extras = [pattern for pattern in patterns if "@" in pattern]
            patterns = (*(item.full_name for item in chosen), *extras)
        return Selector(tuple(p for p in patterns if _matches(p, stage.model)))


def _matches(pattern: str, model: Model) -> bool:
    try:
        Selector((pattern,)).expect_match(model)
    except InputError:
        return False
    return True

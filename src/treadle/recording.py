"""Recording at full speed: runs the exposed model and gives its outputs to a recorder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from treadle.errors import RunError
from treadle.ir import Model
from treadle.limits import within_load_limits
from treadle.passes import Expand, Exposure, Form, Target, expose
from treadle.tracing import Column, Recorder, Selector

__all__ = ["Exposures", "columns"]


class Runs(Protocol):
    """The part of a session's interface that recording needs."""

    def run(self, output_names: Sequence[str] | None, input_feed: Any) -> list[Any]:
        """Run the model."""
        ...


class Exposures:
    """Sessions of a model with selected values as outputs, one per selector."""

    def __init__(
        self, model: Model, expand: Expand, make: Callable[[Model], Runs], options: object
    ) -> None:
        self.model, self.expand, self.make, self.options = model, expand, make, options
        self.made: dict[Selector, tuple[Runs, Exposure]] = {}

    def run(
        self, selector: Selector, feed: Mapping[str, object], recorder: Recorder
    ) -> list[Any] | None:
        """The outputs of a run of the exposed model; None if the run must be repeated on interp."""
        session, exposure = self._exposed(selector)
        if exposure.refused:
            _tell_repeated(f"{exposure.refused[0].name}: {exposure.refused[0].reason}")
            return None
        try:
            outputs = session.run(None, feed)
        except RunError as failure:
            _tell_repeated(str(failure))
            return None
        names = [value.name if value else "" for value in exposure.model.main.results]
        recorder.take(columns(exposure, dict(zip(names, outputs, strict=True))))
        return outputs[: len(self.model.main.results)]

    def _exposed(self, selector: Selector) -> tuple[Runs, Exposure]:
        found = self.made.get(selector)
        if found is None:
            with within_load_limits(self.options):
                exposure = expose(self.model, selector, self.expand)
                found = self.made[selector] = self.make(exposure.model), exposure
        return found


def _tell_repeated(why: str) -> None:
    """Log that a recording run is repeated on interp, once for each reason."""
    words = f"recorded on interp, event by event, since it cannot be recorded at full speed: {why}"
    warnings.warn(words, RuntimeWarning, stacklevel=2)


def columns(
    exposure: Exposure, outputs: Mapping[str, Any], *, never_made: bool = False
) -> Iterator[Column]:
    """What the outputs of an exposed model say of each value; of those never made too if asked."""
    for target, names in exposure.names.items():
        path, _, name = target.output.rpartition("/")
        if not target.extra:
            path, name = target.path, target.name
        given = {kind: outputs[called] for kind, called in names.items()}
        made, numbers, extents = _made(target, given)
        if len(made) or never_made:
            yield Column(path, name, made, numbers, extents, target.step)


def _made(target: Target, given: Mapping[str, Any]) -> tuple[Any, Any, tuple[int, ...]]:
    values = given["values"]
    if target.form is not Form.TENSOR:
        return _grouped(values, given.get("lengths")), given["at"], ()
    if not target.depth:
        return [values], np.zeros((1, 0), np.int64), ()
    extents, shape = values.shape[: target.depth], values.shape[target.depth :]
    return values.reshape(prod(extents), *shape), None, extents


def _grouped(values: Sequence[Any], lengths: np.ndarray | None) -> Sequence[Any]:
    """Group the elements by the sequences they belong to."""
    if lengths is None:
        return values
    ends = np.cumsum(lengths).tolist()
    return [list(values[end - n : end]) for end, n in zip(ends, lengths.tolist(), strict=True)]

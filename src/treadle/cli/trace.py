"""What happens inside bodies, a line an event, for the paths and names a pattern selects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from treadle.report import as_data
from treadle.tracing import (
    BranchTaken,
    Event,
    Iterations,
    Listener,
    LoopEnded,
    LoopStarted,
    ValueMade,
    show_value,
)

Report = Callable[[str, dict[str, object]], None]


def listener(patterns: Sequence[str], report: Report) -> Listener:
    """A listener that gives `report` each selected event, as a line and as plain data.

    A pattern selects a value by its name, its path and name (`main/loop_3.body/h`) or the step that
    made it, and a loop or branch by its path; `*` selects all.
    """

    def hear(event: Event) -> None:
        if not any(fnmatchcase(name, pattern) for name in _names(event) for pattern in patterns):
            return
        line = _line(event)
        if line:
            report(line, _data(event))

    return hear


def _names(event: Event) -> tuple[str, ...]:
    match event:
        case ValueMade(path=path, name=name, step=step):
            return (name, f"{path}/{name}", step)
        case LoopStarted(path=path) | LoopEnded(path=path) | BranchTaken(path=path):
            return (path,)
    return ()


def _line(event: Event) -> str:
    match event:
        case ValueMade(path=path, iterations=iterations, name=name, value=value):
            return f"{path}{_at(iterations)} {name} = {show_value(value)}"
        case LoopStarted(path=path, iterations=iterations, trip=trip):
            bound = "no trip count" if trip is None else f"trip count {trip}"
            return f"{path}{_at(iterations)} starts, {bound}"
        case LoopEnded(path=path, iterations=iterations, trips=trips, by=by):
            return f"{path}{_at(iterations)} ends after {trips}, by its {_WORDS[by]}"
        case BranchTaken(path=path, iterations=iterations, taken=taken):
            return f"{path}{_at(iterations)} takes its {taken}"
    return ""


_WORDS = {"trip": "trip count", "condition": "condition"}


def _at(iterations: Iterations) -> str:
    return "".join(f"[{number}]" for number in iterations)


def _data(event: Event) -> dict[str, object]:
    data = as_data(event)
    assert isinstance(data, dict)
    return {"event": type(event).__name__, **data}

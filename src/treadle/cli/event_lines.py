"""Prints events inside bodies, one line per event, for the values that a selector picks."""

from __future__ import annotations

from collections.abc import Callable

from treadle.ir import Model
from treadle.messages import visible
from treadle.report import as_data
from treadle.tracing import (
    BranchTaken,
    Event,
    Iterations,
    Kind,
    Listener,
    LoopEnded,
    LoopStarted,
    Selectable,
    Selector,
    ValueMade,
    selectables,
    show_value,
)

Report = Callable[[str, dict[str, object]], None]


def listener(selector: Selector, model: Model, report: Report) -> Listener:
    """A listener that passes each selected event to `report`, as a line and as plain data.

    `model` is the running model. Values inside calls that are expanded at run time are not in it:
    they are selected by their names alone.
    """
    known = {(item.path, item.name): selector.picks(item) for item in selectables(model)}

    def hear(event: Event) -> None:
        item = _item(event)
        if item is None:
            return
        picked = known.get((item.path, item.name))
        line = _line(event) if (selector.picks(item) if picked is None else picked) else ""
        if line:
            report(visible(line), _data(event))

    return hear


def _item(event: Event) -> Selectable | None:
    match event:
        case ValueMade(path=path, name=name, step=step):
            operator = step.rpartition("/")[2].rpartition("_")[0]
            return Selectable(path, name, Kind.MADE, step, operator)
        case LoopStarted(path=path) | LoopEnded(path=path):
            return Selectable(path, "", Kind.LOOP, path)
        case BranchTaken(path=path):
            return Selectable(path, "", Kind.BRANCH, path)
    return None


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

"""Describes a loop: its trip count, and its carried, sliced, stacked and captured values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treadle.ir import Loop, Ports, Tensor, Value, operator_of, ports, show_dim, version_of
from treadle.report.body import (
    BodySummary,
    Port,
    name_of,
    port,
    show_body,
    show_title,
    summarize_body,
)
from treadle.report.origin import Origin, Origins
from treadle.report.text import plural, table

_NO_BOUND = 2**31 - 1
"""Exporters write the largest int32 or int64 as the trip count of a while loop."""


@dataclass(frozen=True, slots=True)
class Trips:
    """The number of iterations of a loop.

    `bound` describes the origin of the trip count, `count` is its value if known, `stops` the
    condition that can end the loop earlier ("" if none can), `words` is a text of all three.
    """

    bound: str
    count: int | None
    stops: str
    words: str


@dataclass(frozen=True, slots=True)
class Along:
    """A sliced or stacked port, with its axis and direction."""

    port: Port
    axis: int
    reverse: bool


@dataclass(frozen=True, slots=True)
class Carry:
    """A carried value: its parameter, its initial value, and the loop's result."""

    port: Port
    next: str
    result: str


@dataclass(frozen=True, slots=True)
class LoopSummary:
    """The summary of one loop; `depth` bodies enclose it."""

    path: str
    operator: str
    version: int
    depth: int
    trips: Trips
    carries: tuple[Carry, ...]
    slices: tuple[Along, ...]
    stacks: tuple[Along, ...]
    captures: tuple[Port, ...]
    body: BodySummary


def summarize_loop(loop: Loop, path: str, depth: int, known: Origins) -> LoopSummary:
    """Summarize the loop at the path."""
    view = ports(loop)
    return LoopSummary(
        path,
        operator_of(loop),
        version_of(loop),
        depth,
        _trips(loop, view, known),
        tuple(
            Carry(port(c.param, c.initial), name_of(c.next), name_of(c.result))
            for c in view.carried
        ),
        tuple(Along(port(s.param, s.operand), s.role.axis, s.role.reverse) for s in view.sliced),
        tuple(Along(port(s.element, s.result), s.role.axis, s.role.reverse) for s in view.stacked),
        tuple(port(i.param, i.operand) for i in view.invariants),
        summarize_body(loop.body),
    )


def show_loop(loop: LoopSummary) -> str:
    """A paragraph about the loop."""
    rows = [("runs", loop.trips.words)]
    rows += _rows("carries", (_show_carry(c) for c in loop.carries))
    rows += _rows("slices", (_show_slice(s) for s in loop.slices))
    rows += _rows("stacks", (_show_stack(s) for s in loop.stacks))
    rows += _rows("captures", (f"{_port(p)}{_from(p)}" for p in loop.captures))
    rows.append(("body", show_body(loop.body)))
    title = show_title(loop.path, loop.operator, loop.version)
    return f"{title}\n{table(rows, indent=2)}"


def _rows(word: str, lines: Iterator[str]) -> list[tuple[str, str]]:
    return [(word if first else "", line) for line, first in _firsts(lines)]


def _firsts(lines: Iterator[str]) -> Iterator[tuple[str, bool]]:
    return ((line, number == 0) for number, line in enumerate(lines))


def _port(given: Port) -> str:
    return f"{given.name}: {given.type}" if given.type != "?" else given.name


def _from(given: Port) -> str:
    return f" from {given.outer}" if given.outer not in (given.name, "_") else ""


def _show_carry(carry: Carry) -> str:
    last = f", its last value is {carry.result}" if carry.result != "_" else ", last value unused"
    return f"{_port(carry.port)} starting from {carry.port.outer}{last}"


def _show_slice(along: Along) -> str:
    order = ", from the last to the first" if along.reverse else ""
    return f"{_port(along.port)} of {along.port.outer}, axis {along.axis}{order}"


def _show_stack(along: Along) -> str:
    order = ", the last first" if along.reverse else ""
    return f"{_port(along.port)} into {along.port.outer}, axis {along.axis}{order}"


def _trips(loop: Loop, view: Ports, known: Origins) -> Trips:
    bound, count, words = _bound(loop, view, known)
    stops, why = _stops(view, known)
    starts = _starts(loop.condition, known)
    if stops and bound == "none":
        said = f"until {stops} is false{why}; no trip count bounds it"
    elif stops:
        said = f"at most {words}; stops when {stops} is false{why}"
    elif bound == "none":
        said = "for ever: neither a trip count nor a condition ends it"
    else:
        said = words
    return Trips(bound, count, stops, said + starts)


def _bound(loop: Loop, view: Ports, known: Origins) -> tuple[str, int | None, str]:
    if loop.trip is None:
        return _scan_length(view) if view.sliced else ("none", None, "")
    origin = known.get(loop.trip)
    count = _scalar(origin)
    if count is not None and count >= _NO_BOUND:
        return "none", count, ""
    if count is not None:
        return "constant", max(count, 0), plural(max(count, 0), "time")
    return _made_of(origin), None, f"{loop.trip.name} times{_whence(loop.trip, origin)}"


def _scan_length(view: Ports) -> tuple[str, int | None, str]:
    first = view.sliced[0]
    type_ = first.operand.type if first.operand is not None else None
    shape = type_.shape if isinstance(type_, Tensor) else None
    axis = first.role.axis
    extent = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    shown = f" ({show_dim(extent)} of them)" if extent is not None else ""
    words = f"once per item of {name_of(first.operand)} along axis {axis}{shown}"
    return "length of a slice", extent if isinstance(extent, int) else None, words


def _scalar(origin: Origin | None) -> int | None:
    if origin is None or origin.array is None or origin.array.size != 1:
        return None
    return int(origin.array.reshape(-1)[0])


def _made_of(origin: Origin | None) -> str:
    return "input" if origin is not None and origin.kind == "input" else "computed"


def _whence(value: Value, origin: Origin | None) -> str:
    """The origin of a value, in brackets, after its name."""
    if origin is None:
        return ""
    also = f"{origin.value.name}, " if origin.value.name != value.name else ""
    if origin.kind == "input":
        holder = "a model input" if origin.path == "main" else f"an input of {origin.path}"
        return f" ({also}{holder})"
    if origin.kind == "step":
        return f" (from {origin.path})"
    return f" ({also}{_ROLE_WORDS[origin.kind]} {origin.path})"


_ROLE_WORDS = {
    "constant": "a constant of",
    "iteration": "the iteration number of",
    "condition": "the condition of",
    "carried": "carried by",
    "sliced": "sliced by",
}


def _stops(view: Ports, known: Origins) -> tuple[str, str]:
    """The condition that can end the loop early, and its origin; "" for none."""
    following = view.next_condition
    if following is None:
        return "", ""
    origin = known.get(following)
    if origin is not None and origin.value is view.condition:
        return "", ""
    if origin is not None and origin.array is not None and origin.array.all():
        return "", ""
    return following.name, _whence(following, origin)


def _starts(condition: Value | None, known: Origins) -> str:
    """A remark on the condition before the first iteration."""
    if condition is None:
        return ""
    origin = known.get(condition)
    if origin is None or origin.array is None:
        return f"; begins only if {condition.name} is true{_whence(condition, origin)}"
    return "" if origin.array.all() else "; never begins: its condition is constant false"

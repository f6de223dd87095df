"""Unrolls a loop that may end early to its maximum number of iterations.

    live[0]     condition and trip > 0
    live[k+1]   live[k] and the body's condition in iteration k and k + 1 < trip
    inputs of iteration k   live[k] ? the results of k - 1 : the inputs of k - 1   (and its number)

An iteration past the end repeats the last one that ran: the same inputs, the same results, and no
new failures. The last iteration gives the loop's results; if the loop may not run at all, they are
the initial values unless `live[0]`. Stacks are cut to the number of iterations. If the loop may
need more iterations than were unrolled, either a guarded result makes such a run fail, or an output
reports that the loop is unfinished.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treadle.ir import DType, Loop, StackedPort, Value
from treadle.passes.rewrites.select import select
from treadle.passes.rewrites.unroll.line import Line
from treadle.passes.rewrites.unroll.trips import Trips
from treadle.passes.simplify.context import PassContext

_INT64 = 7


@dataclass(frozen=True, slots=True)
class Frozen:
    """How to unroll a loop that may end early, and the additional outputs."""

    most: int
    padded: bool = False
    truncate: bool = False
    is_bounded: bool = True


@dataclass(slots=True)
class FrozenLine:
    """The straight-line code, and the values that may become outputs of the model."""

    line: Line
    trips: Value
    unfinished: Value | None


def frozen_line(loop: Loop, trips: Trips, how: Frozen, at: PassContext) -> FrozenLine:
    """The straight-line code of a loop with at most `how.most` iterations."""
    line = Line(loop, at)
    live = _begins(line, trips)
    first = live
    carried = [port.initial for port in line.view.carried]
    inputs, counter = carried, line.number(0)
    rows: list[list[Value | None]] = []
    for number in range(how.most):
        if number and live is not None:
            counter = select(line, live, line.number(number), counter, DType.INT64)
            inputs = _select_all(line, live, carried, inputs)
        elif number:
            counter, inputs = line.number(number), carried
        carried, elements, condition = line.iterate(number, inputs, counter, last=False)
        rows.append(elements)
        if number + 1 < how.most or not how.is_bounded:
            live = _goes_on(line, live, condition, number + 1)
    if first is not None:
        initial = [port.initial for port in line.view.carried]
        carried = _select_all(line, first, carried, initial)
    count = _count(line, counter, first)
    unfinished = None if how.is_bounded else live or line.true()
    guard = None if how.truncate or unfinished is None else _index(line, unfinished)
    for port, value in zip(line.view.carried, carried, strict=True):
        line.gives(port.result, _guarded(line, value, guard))
    for index, stack in enumerate(line.view.stacked):
        if stack.result is not None:
            rowwise = [row[index] for row in rows]
            made = _stacked(line, stack, rowwise, None if how.padded else count)
            line.gives(stack.result, _guarded(line, made, guard))
    return FrozenLine(line, count, unfinished if how.truncate else None)


def _begins(line: Line, trips: Trips) -> Value | None:
    """Whether the first iteration runs; None if it always does."""
    if trips.begins:
        return None
    loop, at = line.loop, line.at
    found = []
    if loop.condition is not None and at.truth(loop.condition) is not True:
        found.append(line.scalar(loop.condition))
    if loop.trip is not None and at.whole(loop.trip) is None:
        found.append(_is_below(line, 0))
    if not found:
        return line.writer.constant(np.array(False), "false")
    return found[0] if len(found) == 1 else line.leaf("And", *found)


def _is_below(line: Line, number: int) -> Value:
    assert line.loop.trip is not None, "asked for a loop with a trip count"
    return line.leaf("Less", line.number(number), line.scalar(line.loop.trip))


def _goes_on(line: Line, live: Value | None, condition: Value | None, number: int) -> Value | None:
    """Whether iteration `number` runs if those before it did; None if it always does."""
    found = [] if live is None else [live]
    if condition is not None and line.at.truth(line.view.next_condition) is not True:
        found.append(line.scalar(condition, line.view.next_condition))
    if line.loop.trip is not None and line.at.whole(line.loop.trip) is None:
        found.append(_is_below(line, number))
    both = None
    for each in found:
        both = each if both is None else line.leaf("And", both, each)
    return both


def _select_all(
    line: Line, live: Value, new: list[Value | None], old: list[Value | None]
) -> list[Value | None]:
    found: list[Value | None] = []
    for port, one, other in zip(line.view.carried, new, old, strict=True):
        assert one is not None, "a carried value that is left out is refused"
        assert other is not None, "a carried value that is left out is refused"
        found.append(select(line, live, one, other, line.at.dtype(port.param)))
    return found


def _index(line: Line, condition: Value) -> Value:
    return line.leaf("Cast", condition, to=_INT64)


def _count(line: Line, counter: Value, first: Value | None) -> Value:
    """The number of iterations that ran."""
    ran = line.leaf("Add", counter, line.number(1))
    return ran if first is None else line.leaf("Mul", ran, _index(line, first))


def _stacked(
    line: Line, port: StackedPort, elements: list[Value | None], count: Value | None
) -> Value:
    axis = line.axis(port)
    forward = port._replace(role=type(port.role)(port.role.axis))
    found = line.stack(forward, elements)
    if count is not None:
        found = line.slice(found, line.number(0, 1), line.unsqueeze(count, 0), axis, 1)
    return line.reversed(found, axis) if port.role.reverse else found


def _guarded(line: Line, value: Value | None, guard: Value | None) -> Value | None:
    """The value; the run fails here if the loop had not ended: an index of 1 into one row."""
    if value is None or guard is None:
        return value
    return line.leaf("Gather", line.unsqueeze(value, 0), guard, axis=0)

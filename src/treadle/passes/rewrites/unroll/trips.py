"""Derives bounds on the number of a loop's iterations before the run.

exact   the number of iterations; None where a condition or an unknown trip count decides
most    no run has more iterations than this; None if unbounded
begins  whether the loop always runs at least one iteration when reached
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from treadle.infer import range_of_array, range_of_result
from treadle.ir import Leaf, Loop, Ports, Range, Step, Value, ports
from treadle.passes.simplify.context import PassContext

_ENDLESS = 2**31
"""Trip counts from here on mean unlimited: exporters write them for `while` loops."""


class Trips(NamedTuple):
    """Known bounds on the number of iterations."""

    exact: int | None
    most: int | None
    begins: bool


Makers = Mapping[Value, Step]
_DEEPEST = 8
"""The number of steps before a loop that are searched for a bound of its trip count."""


def trips_of(loop: Loop, makers: Makers, at: PassContext) -> Trips:
    """The bounds on a loop's iterations; `makers` maps outer values to their steps."""
    view = ports(loop)
    starts = loop.condition is None or at.truth(loop.condition)
    if starts is False:
        return Trips(0, 0, begins=False)
    low, high = _limits(loop, view, makers, at)
    stays = view.next_condition is None or at.truth(view.next_condition) is True
    begins = starts is True and low > 0
    ends_at_once = at.truth(view.next_condition) is False
    if ends_at_once and begins and not view.sliced:
        return Trips(1, 1, begins)
    most = 1 if ends_at_once and not view.sliced else high
    is_exact = high is not None and (high == 0 or (low == high and starts is True and stays))
    return Trips(high if is_exact else None, most, begins)


def _limits(loop: Loop, view: Ports, makers: Makers, at: PassContext) -> tuple[int, int | None]:
    """The least and the greatest number of iterations that trip count and slices allow."""
    lengths = {_length(port.operand, port.role.axis, at) for port in view.sliced}
    found = [_whole(loop.trip, makers, at)] if loop.trip is not None else []
    found += [(0, None) if length is None else (length, length) for length in lengths]
    if not found:
        return _ENDLESS, None
    low = min(low for low, _ in found)
    bounds = [high for _, high in found if high is not None]
    return low, min(bounds, default=None)


def _length(value: Value | None, axis: int, at: PassContext) -> int | None:
    shape = at.shape(value)
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    extent = shape[axis]
    return extent if isinstance(extent, int) else None


def _whole(value: Value | None, makers: Makers, at: PassContext) -> tuple[int, int | None]:
    low, high = _range(value, makers, at, _DEEPEST) or (0, _ENDLESS)
    return max(low, 0), None if high >= _ENDLESS else max(high, 0)


def _range(
    value: Value | None, makers: Makers, at: PassContext, depth: int
) -> tuple[int, int] | None:
    """The numbers that a value of one element may hold."""
    array = at.array(value)
    if array is not None:
        return range_of_array(array)
    fact = at.facts.get(value) if value is not None else None
    if fact is not None and fact.content and len(fact.content) == 1:
        match fact.content[0]:
            case Range(low, high):
                return low, _ENDLESS if high is None else high
    maker = makers.get(value) if value is not None and depth else None
    if value is None or not isinstance(maker, Leaf) or maker.results[0] is not value:
        return None
    given = [_range(operand, makers, at, depth - 1) for operand in maker.operands]
    typed = replace(maker, results=(replace(value, inferred=at.type(value)),))
    return range_of_result(typed, given)

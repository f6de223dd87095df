"""Decides which iterations a recorder keeps: a range, the last ones, or those near a condition."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from treadle.errors import InputError
from treadle.tracing.events import ValueMade

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_TESTS: Mapping[str, Callable[[Any], Any]] = {"isnan": np.isnan, "isinf": np.isinf}


def test_of(words: str) -> Callable[[object], bool]:
    """The test of an element: `isnan`, `isinf`, or a comparison such as `> 1e6`."""
    if words in _TESTS:
        return _of_numbers(_TESTS[words])
    for sign, holds in _COMPARISONS.items():
        if words.startswith(sign):
            try:
                return _of_numbers(partial(_holds, holds, float(words.removeprefix(sign))))
            except ValueError:
                break
    wanted = '"isnan", "isinf" or a comparison as "> 1e6"'
    raise InputError(f'around is "{words}", wanted {wanted}')


def _holds(comparison: Callable[[Any, Any], Any], bound: float, value: Any) -> Any:
    return comparison(value, bound)


def _of_numbers(test: Callable[[Any], Any]) -> Callable[[object], bool]:
    def passes(value: object) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype.kind in "OUSb":
            return False
        numbers = value if value.dtype.kind in "iufc" else value.astype(np.float64)
        return bool(np.any(test(numbers)))

    return passes


@dataclass(slots=True)
class Window:
    """Filters events by iteration; undecided events are kept in `waiting`.

    Iterations are those of the outermost loop around a value; values outside loops pass.
    `iterations` is a range; `last` the number of last iterations to keep; `around` a test, with
    `margin` iterations kept before and after each one in which it holds.
    """

    iterations: slice | None = None
    last: int | None = None
    around: Callable[[object], bool] | None = None
    margin: int = 5
    waiting: deque[ValueMade] = field(default_factory=deque)
    _until: int = -1
    _now: int = -1

    def takes(self, number: int) -> bool:
        """Whether an iteration is in the range."""
        if self.iterations is None:
            return True
        start, stop, step = self.iterations.start, self.iterations.stop, self.iterations.step
        first = start or 0
        is_in = number >= first and (stop is None or number < stop)
        return is_in and (number - first) % (step or 1) == 0

    def through(self, event: ValueMade) -> Iterable[ValueMade]:
        """The events that are kept, now that this event has arrived."""
        if not event.iterations:
            return (event,)
        number = event.iterations[0]
        if not self.takes(number):
            return ()
        if self.around is None and self.last is None:
            return (event,)
        if number < self._now:  # a different loop, or another run of the same loop
            done = self.rest()
            self._now = number
            return [*done, *self._waited(event, number)]
        self._now = number
        return self._waited(event, number)

    def _waited(self, event: ValueMade, number: int) -> Iterable[ValueMade]:
        reach = self.margin if self.last is None else self.last - 1
        while self.waiting and self.waiting[0].iterations[0] < number - reach:
            self.waiting.popleft()
        self.waiting.append(event)
        if self.around is not None and self.around(event.value):
            self._until = number + self.margin
        return self._taken() if self.around is not None and number <= self._until else ()

    def _taken(self) -> list[ValueMade]:
        taken = list(self.waiting)
        self.waiting.clear()
        return taken

    def rest(self) -> list[ValueMade]:
        """The waiting events that are kept, since this loop has ended."""
        taken = self._taken() if self.last is not None else []
        self.waiting.clear()
        self._until = -1
        return taken

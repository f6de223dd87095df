"""Decides which iterations a recorder keeps: a range, the last ones, or those near a condition."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from treadle.arguments import expect
from treadle.errors import InputError
from treadle.tracing.events import ValueMade

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_TESTS: Mapping[str, Callable[[Any], Any]] = {"isnan": np.isnan, "isinf": np.isinf}


@dataclass(frozen=True, slots=True)
class ElementTest:
    """A test of the elements of numeric tensors; everything else fails it."""

    holds: Callable[[Any], Any]

    def __call__(self, value: object) -> bool:
        """Whether any element passes."""
        return isinstance(value, np.ndarray) and bool(self.of_rows(value[np.newaxis])[0])

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Whether any element of a row passes, bool[n], for rows [n, *shape]."""
        if rows.dtype.kind in "OUSb":
            return np.zeros(len(rows), bool)
        numbers = rows if rows.dtype.kind in "iufc" else rows.astype(np.float64)
        passed = np.asarray(self.holds(numbers)).reshape(len(rows), -1)
        return np.asarray(passed.any(axis=1))


def test_of(words: str) -> ElementTest:
    """The test of an element: `isnan`, `isinf`, or a comparison such as `> 1e6`."""
    expect(words, str, "around", "a test of elements")
    if words in _TESTS:
        return ElementTest(_TESTS[words])
    for sign, holds in _COMPARISONS.items():
        if words.startswith(sign):
            try:
                return ElementTest(partial(_holds, holds, float(words.removeprefix(sign))))
            except ValueError:
                break
    wanted = '"isnan", "isinf" or a comparison as "> 1e6"'
    raise InputError(f'around is "{words}", wanted {wanted}')


def _holds(comparison: Callable[[Any, Any], Any], bound: float, value: Any) -> Any:
    return comparison(value, bound)


@dataclass(slots=True)
class Window:
    """Filters events by iteration; undecided events are kept in `waiting`.

    Iterations are those of the outermost loop around a value; values outside loops pass.
    `iterations` is a range; `last` the number of last iterations to keep; `around` a test, with
    `margin` iterations kept before and after each one in which it holds.
    """

    iterations: slice | None = None
    last: int | None = None
    around: ElementTest | None = None
    margin: int = 5
    waiting: deque[ValueMade] = field(default_factory=deque)
    _until: int = -1
    _now: int = -1

    def takes(self, number: Any) -> Any:
        """Whether an iteration, or each in an array of them, is in the range."""
        if self.iterations is None:
            return number >= 0
        start, stop, step = self.iterations.start, self.iterations.stop, self.iterations.step
        first = start or 0
        is_in = (number >= first) & ((number - first) % (step or 1) == 0)
        return is_in if stop is None else is_in & (number < stop)

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

"""Keeps the iterations that a window keeps, of many iterations at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from treadle.tracing.columns import Column, merge_columns
from treadle.tracing.window import Window


class ColumnFilter:
    """Filters the columns of one loop as a `Window` filters its events.

    `through` takes columns in the order of iterations, any number of iterations at once, and gives
    what is kept of them; `rest` gives what is kept now that the loop has ended. At most the columns
    of `margin` iterations, or the `last` ones, wait in between.
    """

    def __init__(self, window: Window) -> None:
        self._window, self._waiting = window, list[Column]()
        self._until = -1

    def through(self, columns: Iterable[Column]) -> list[Column]:
        """The part that is kept of columns, and of those that waited."""
        window = self._window
        taken = [each.picked(np.asarray(window.takes(_outer(each)))) for each in columns]
        taken = [each for each in taken if len(each)]
        if (window.around is None and window.last is None) or not taken:
            return taken
        newest = max(int(_outer(each).max()) for each in taken)
        hits = np.unique(np.concatenate([_hits(each, window) for each in taken]))
        known = merge_columns([*self._waiting, *taken])
        keep = [self._near(_outer(each), hits) for each in known]
        if len(hits):
            self._until = int(hits[-1]) + window.margin
        reach = window.margin if window.last is None else window.last - 1
        wait = [~k & (_outer(c) >= newest - reach) for c, k in zip(known, keep, strict=True)]
        self._waiting = _nonempty(known, wait)
        return _nonempty(known, keep)

    def rest(self) -> list[Column]:
        """The part that is kept of columns that waited, at the loop's end."""
        kept = self._waiting if self._window.last is not None else []
        self._waiting, self._until = [], -1
        return kept

    def _near(self, numbers: np.ndarray, hits: np.ndarray) -> np.ndarray:
        """Whether iterations are within the margin of one in which the test holds."""
        near = numbers <= self._until
        if len(hits):
            margin = self._window.margin
            first = np.searchsorted(hits, numbers - margin)
            has = first < len(hits)
            near |= has & (hits[np.minimum(first, len(hits) - 1)] <= numbers + margin)
        return near


def _outer(column: Column) -> np.ndarray:
    return column.at[:, 0]


def _hits(column: Column, window: Window) -> np.ndarray:
    """The iterations in which the test holds for an element of the column."""
    if window.around is None:
        return np.zeros(0, np.int64)
    if isinstance(column.made, np.ndarray):
        holds = window.around.of_rows(column.made)
    else:
        holds = np.array([window.around(value) for value in column.made], bool)
    return np.asarray(_outer(column)[holds])


def _nonempty(columns: Sequence[Column], masks: Sequence[np.ndarray]) -> list[Column]:
    picked = [each.picked(mask) for each, mask in zip(columns, masks, strict=True)]
    return [each for each in picked if len(each)]

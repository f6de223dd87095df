"""Finds repetitions in a block: runs of equal operators at a fixed distance.

    Mul Add Tanh Mul Add Tanh Mul Add Tanh     ->     start 0, period 3, 3 times

Two steps are equal here if operator, version and attributes are, and their bodies (`signature.py`);
operands are compared when a run is matched (`matching.py`). Runs are ordered by the number of steps
they cover, then by the shortest period.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treadle.ir import Step
from treadle.passes.rewrites.reroll.signature import signature

_FEWEST = 3
_MOST_PERIODS = 24


class Run(NamedTuple):
    """`times` segments of `period` steps, from step `start` on."""

    start: int
    period: int
    times: int

    @property
    def size(self) -> int:
        """The number of steps the run covers."""
        return self.period * self.times


def runs(steps: Sequence[Step]) -> list[Run]:
    """The runs of a block, the longest first; they may overlap."""
    numbers = _numbered(steps)
    found = {run for period in _periods(numbers) for run in _of_period(numbers, period)}
    return sorted(found, key=lambda run: (-run.size, run.period, run.start))


def _numbered(steps: Sequence[Step]) -> np.ndarray:
    """A number for each step, equal for equal steps; unique for steps without a signature."""
    known: dict[object, int] = {}
    numbers = []
    for index, step in enumerate(steps):
        key = signature(step)
        numbers.append(-1 - index if key is None else known.setdefault(key, len(known)))
    return np.array(numbers, np.int64)


def _periods(numbers: np.ndarray) -> list[int]:
    """The most frequent distances between equal steps."""
    last: dict[int, list[int]] = {}
    counted: Counter[int] = Counter()
    for index, number in enumerate(numbers.tolist()):
        if number < 0:
            continue
        before = last.setdefault(number, [])
        counted.update(index - each for each in before[-8:])
        before.append(index)
    return [period for period, _ in counted.most_common(_MOST_PERIODS)]


def _of_period(numbers: np.ndarray, period: int) -> list[Run]:
    same = numbers[:-period] == numbers[period:]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
    found = []
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        times = (end - begin + period) // period
        if times >= _FEWEST:
            found.append(Run(begin, period, times))
    return found

"""Where a run is: its context, and the iteration of every loop around the step at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from treadle.plan import RunContext
from treadle.tracing import Iterations

Slots = list[object]
Action = Callable[[Slots, "Frame"], None]
"""Does one step: reads its operands from the slots of its block, writes its results there."""


@dataclass(frozen=True, slots=True)
class Frame:
    """`held` are the bytes that the loops around hold for carried and stacked values."""

    context: RunContext
    iterations: Iterations = ()
    held: int = 0

    def within(self, iteration: int, held: int) -> Frame:
        """The frame of one iteration of a loop of this frame."""
        return Frame(self.context, (*self.iterations, iteration), held)


def size_of(values: Iterable[object]) -> int:
    """The bytes of the arrays in these values."""
    total = 0
    for value in values:
        if isinstance(value, np.ndarray):
            total += value.nbytes
        elif isinstance(value, list):
            total += size_of(value)
    return total

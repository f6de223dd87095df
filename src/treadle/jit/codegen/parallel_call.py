"""The record of a parallel nest: its function and its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, slots=True)
class ParallelCall:
    """A part function, its call in the thread pool, if any, and its single-threaded call."""

    function: Any
    together: Any | None
    alone: Any

    def take(self, function: Any) -> None:
        """Call another, equal function."""
        self.alone.callee = function
        if self.together is not None:
            self.together.operands = [
                function if each is self.function else each for each in self.together.operands
            ]

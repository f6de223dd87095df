"""The record of a loop nest that is a function of its own: the function and its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, slots=True)
class ParallelCall:
    """A part, and the calls that have it written: by several threads, if they may, and by one."""

    function: Any
    together: Any | None
    alone: Any

    def take(self, function: Any) -> None:
        """Call another function that is equal."""
        self.alone.callee = function
        if self.together is not None:
            self.together.operands = [
                function if each is self.function else each for each in self.together.operands
            ]

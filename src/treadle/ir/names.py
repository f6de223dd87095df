"""Names that nothing else has, found in a step or two however many there are."""

from __future__ import annotations

from collections.abc import Iterable


class FreshNames:
    """Names that are taken, and those that were made up; a number tells equal ones apart.

    `first` is the number that the second value of a name gets.
    """

    def __init__(self, taken: Iterable[str] = (), first: int = 1) -> None:
        self.taken = set(taken)
        self._first = first
        self._next: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """The hint, or the hint with the least number that is free; now it is taken."""
        name = hint
        if name in self.taken:
            number = self._next.get(hint, self._first)
            while (name := f"{hint}_{number}") in self.taken:
                number += 1
            self._next[hint] = number + 1
        self.taken.add(name)
        return name

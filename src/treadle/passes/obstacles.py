"""Collects the obstacles of a rewrite, so that one error reports all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.errors import Finding, Unsupported

CODE = "RW001"
"""The code of an obstacle; no rule of `check`, since the model is valid."""


@dataclass(slots=True)
class Obstacles:
    """The obstacles of one rewrite, such as `unroll`, which is its `name`."""

    name: str
    found: list[Finding] = field(default_factory=list)

    def add(self, path: str, reason: str, help_: str = "", clause: str = "") -> None:
        """Record why the step at a path cannot be rewritten, a hint, and the clause behind it."""
        told = Finding(CODE, "error", path, reason, help_, clause=clause)
        if told not in self.found:
            self.found.append(told)

    def refuse(self) -> None:
        """Raise Unsupported with every obstacle, if there is any."""
        if self.found:
            raise Unsupported.of(self.name, "the model cannot be rewritten:", self.found)

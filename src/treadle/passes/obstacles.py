"""Why a model cannot be rewritten: every obstacle is found before one error tells of all."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.errors import Finding, Unsupported

CODE = "RW001"
"""A step that a rewrite has no other form for; no rule of `check`, since the model is right."""


@dataclass(slots=True)
class Obstacles:
    """Collects the obstacles of one rewrite, which is called `name`: `unroll`."""

    name: str
    found: list[Finding] = field(default_factory=list)

    def add(self, path: str, reason: str, help_: str = "", clause: str = "") -> None:
        """Say why the step at a path cannot be rewritten, what would help, and what it rests on."""
        told = Finding(CODE, "error", path, reason, help_, clause=clause)
        if told not in self.found:
            self.found.append(told)

    def refuse(self) -> None:
        """Raise Unsupported with every obstacle, if there is one."""
        if self.found:
            raise Unsupported.of(self.name, "the model cannot be rewritten:", self.found)

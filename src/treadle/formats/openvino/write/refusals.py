"""What OpenVINO IR cannot hold: one refusal stops a step, all of them are told together."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.errors import Finding

CODE = "OV001"
"""A step that OpenVINO IR has no form for; no rule of `check`, since the model is right."""


class Refusal(Exception):
    """Why a step has no form in OpenVINO IR, and what would help."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(slots=True)
class Refusals:
    """Collects the findings of one model."""

    findings: list[Finding] = field(default_factory=list)

    def add(self, path: str, what: str, refusal: Refusal) -> None:
        """Make a finding of a refusal; `what` names the operator or the value."""
        message = f"{what}: {refusal.message}" if what else refusal.message
        told = Finding(CODE, "error", path, message, refusal.hint, clause="OpenVINO IR, version 11")
        if told not in self.findings:
            self.findings.append(told)

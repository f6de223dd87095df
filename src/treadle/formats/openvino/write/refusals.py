"""Refusals: steps that OpenVINO IR cannot express; all of them are reported together."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.errors import Finding
from treadle.ir import Ports

CODE = "OV001"
"""The code of a step without a form in OpenVINO IR; no rule of `check`, the model is valid."""


class Refusal(Exception):
    """Why a step has no form in OpenVINO IR, with a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


@dataclass(slots=True)
class Refusals:
    """Collects the findings of one model."""

    findings: list[Finding] = field(default_factory=list)

    def add(self, path: str, what: str, refusal: Refusal) -> None:
        """Add a finding for a refusal; `what` names the operator or the value."""
        message = f"{what}: {refusal.message}" if what else refusal.message
        clause = "OpenVINO IR, version 11"
        finding = Finding(CODE, "error", path, message, refusal.hint, clause=clause)
        if finding not in self.findings:
            self.findings.append(finding)


def expect_operands(views: Ports) -> None:
    """Raise Refusal for a loop that a call gives no value for something it carries or slices."""
    for carried in views.carried:
        if carried.initial is None:
            raise Refusal(f"{carried.param.name}, which it carries, has no initial value")
    for port in views.sliced:
        if port.operand is None:
            raise Refusal(f"nothing is given for {port.param.name}, which it slices")

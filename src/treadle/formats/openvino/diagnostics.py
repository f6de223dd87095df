"""Faults of a file found while it is read: a single error, and a collection of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from treadle.checks import finding
from treadle.errors import Finding
from treadle.formats.openvino.records import Layer


class IrError(Exception):
    """One fault, at a line; the reader of the whole file makes a Finding of it."""

    def __init__(self, code: str, message: str, hint: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.line = code, message, hint, line


@dataclass(slots=True)
class Report:
    """Collects the findings of one file."""

    file: str
    findings: list[Finding] = field(default_factory=list)

    def add(self, fault: IrError, layer: Layer | None = None) -> None:
        """Add a finding for a fault; for a layer's, with the layer's line and name."""
        line = fault.line or (layer.line if layer is not None else 0)
        where = f"{self.file}:{line}" if line else self.file
        message = f"{layer}: {fault.message}" if layer is not None else fault.message
        self.findings.append(finding(fault.code, where, message, fault.hint))

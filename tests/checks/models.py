"""Invalid models as text, and their findings."""

from __future__ import annotations

from treadle import checks, formats
from treadle.errors import Finding


def found(text: str, opset: int = 21) -> list[Finding]:
    """Everything found in a text that starts at its graph, advice aside."""
    return [finding for finding in every(text, opset) if finding.severity != "advice"]


def advised(text: str, opset: int = 21) -> list[tuple[str, str, str]]:
    """The advice on it: codes, paths and messages."""
    findings = every(text, opset)
    return [(f.code, f.path, f.message) for f in findings if f.severity == "advice"]


def every(text: str, opset: int = 21) -> list[Finding]:
    """Everything found in it."""
    header = f'<ir_version: {10 if opset > 8 else 3}, opset_import: ["" : {opset}]>'
    model, findings = formats.read(f"{header}\n{text}")
    return list(findings) if model is None else [*findings, *checks.check(model)]


def only(text: str, opset: int = 21) -> Finding:
    """The one thing found in it."""
    findings = found(text, opset)
    assert len(findings) == 1, [str(finding) for finding in findings]
    return findings[0]

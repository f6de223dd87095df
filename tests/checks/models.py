"""Bad models in text, and what is found in them."""

from __future__ import annotations

from treadle import checks, formats
from treadle.errors import Finding


def found(text: str, opset: int = 21) -> list[Finding]:
    """Everything found in a text that starts at its graph."""
    header = f'<ir_version: {10 if opset > 8 else 3}, opset_import: ["" : {opset}]>'
    model, findings = formats.read(f"{header}\n{text}")
    return list(findings) if model is None else [*findings, *checks.check(model)]


def only(text: str, opset: int = 21) -> Finding:
    """The one thing found in it."""
    findings = found(text, opset)
    assert len(findings) == 1, [str(finding) for finding in findings]
    return findings[0]

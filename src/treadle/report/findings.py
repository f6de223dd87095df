"""Prints findings: grouped by path, with counts of each severity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from treadle.errors import Finding, Severity
from treadle.report.text import plural

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "advice")


def count_findings(findings: Iterable[Finding]) -> Mapping[Severity, int]:
    """The number of findings of each severity, zeros included."""
    given = list(findings)
    return {word: sum(f.severity == word for f in given) for word in _SEVERITIES}


def show_findings(findings: Sequence[Finding]) -> str:
    """All findings, grouped by path in the order they were found, then the counts."""
    if not findings:
        return "no findings"
    paths = {finding.path: number for number, finding in reversed(list(enumerate(findings)))}
    ordered = sorted(findings, key=lambda finding: paths[finding.path])
    lines: list[str] = []
    for path, group in groupby(ordered, key=lambda finding: finding.path):
        lines.append(path or "the model")
        for finding in group:
            lines += _show(finding)
    return "\n".join([*lines, "", _counts(findings)])


def _show(finding: Finding) -> list[str]:
    blocks = "; it cannot run" if finding.blocks else ""
    at = f"line {finding.line}, column {finding.column}: " if finding.line else ""
    where = "" if at in finding.message else at
    lines = [f"  {finding.code} {finding.severity}  {where}{finding.message}{blocks}"]
    if finding.hint:
        lines.append(f"    {finding.hint}")
    if finding.clause:
        lines.append(f"    see {finding.clause}")
    return lines


def _counts(findings: Sequence[Finding]) -> str:
    counts = count_findings(findings)
    words = [
        plural(counts["error"], "error"),
        plural(counts["warning"], "warning"),
        f"{plural(counts['advice'], 'piece')} of advice",
    ]
    shown = [w for w, severity in zip(words, _SEVERITIES, strict=True) if counts[severity]]
    return ", ".join(shown)

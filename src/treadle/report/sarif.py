"""Findings as SARIF 2.1.0, the form in which code hosts and editors take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treadle.checks import RULES, Rule
from treadle.errors import Finding, Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "advice": "note"}


def as_sarif(findings: Iterable[Finding], uri: str, version: str) -> dict[str, object]:
    """One run of `treadle check` over one model at `uri`, which may be relative: plain data.

    The path inside the model is a logical location; a text model has a region, too.
    """
    given = list(findings)
    codes = sorted({finding.code for finding in given})
    driver = {"name": "treadle", "version": version, "rules": [_rule(RULES[c]) for c in codes]}
    results = [_result(finding, codes.index(finding.code), uri) for finding in given]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, object]:
    described: dict[str, object] = {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"blocks": rule.blocks},
    }
    if rule.clause:
        described["fullDescription"] = {"text": f"{rule.title} ({rule.clause})"}
    return described


def _result(finding: Finding, index: int, uri: str) -> dict[str, object]:
    text = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(finding, uri)],
    }


def _location(finding: Finding, uri: str) -> dict[str, object]:
    physical: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if finding.line is not None:
        physical["region"] = {"startLine": finding.line, "startColumn": finding.column or 1}
    location: dict[str, object] = {"physicalLocation": physical}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path, "kind": "element"}]
    return location

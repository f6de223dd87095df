"""Writes findings as SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treadle.checks import RULES, Rule
from treadle.errors import Finding, Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "advice": "note"}


def as_sarif(
    found: Iterable[tuple[str, Finding]], version: str, failed: Iterable[tuple[str, str]] = ()
) -> dict[str, object]:
    """Convert one run of `treadle check`; the uri of a model may be relative.

    `failed`: models that could not be checked, and why. The path inside a model is a logical
    location; a text model has a region, too.
    """
    given = list(found)
    codes = sorted({finding.code for _, finding in given})
    driver = {"name": "treadle", "version": version, "rules": [_rule(RULES[c]) for c in codes]}
    results = [_result(finding, codes.index(finding.code), uri) for uri, finding in given]
    notes = [_notification(uri, message) for uri, message in failed]
    run: dict[str, object] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _notification(uri: str, message: str) -> dict[str, object]:
    location = {"physicalLocation": {"artifactLocation": {"uri": uri}}}
    return {"level": "error", "message": {"text": message}, "locations": [location]}


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

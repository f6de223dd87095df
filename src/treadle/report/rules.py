"""Describes the rules: one for `treadle check --explain`, all of them for the docs page."""

from __future__ import annotations

from collections.abc import Sequence

from treadle import checks, formats
from treadle.checks import HEADER, RULES, RUNTIMES, Rule, examples, whole
from treadle.errors import Finding
from treadle.report.findings import show_findings

_FAMILIES = {
    "CF0": "The file",
    "CF1": "Names and scopes",
    "CF2": "Counts of inputs and outputs",
    "CF3": "Types and shapes",
    "CF4": "Loops",
    "CF5": "Scans",
    "CF6": "Branches",
    "CF7": "Functions and opsets",
    "CF80": "onnxruntime",
    "CF81": "onnxruntime",
    "CF85": "OpenVINO",
    "CF86": "OpenVINO",
    "CF9": "OpenVINO IR",
}
_HEAD = f"""# Rules

What `treadle check` finds. An **error** breaks the standard; a session runs the model all the same
unless the rule says that it stops, and why. A
**warning** is probably not what was meant, **advice** is what could be said better. Rules of a
runtime are asked for with `--for`. Each rule has a bad model, what is said of it, and the model
mended; a model that shows only its graph starts with `{HEADER}`.

`treadle check --explain CODE` prints one of them. This page is written by
`pytest tests/checks/test_rules_page.py --update-golden`.
"""


def runtimes_of(code: str) -> tuple[str, ...]:
    """The runtime that a rule is about; None for a general rule."""
    clause = RULES[code].clause.lower()
    return tuple(name for name in RUNTIMES if clause.startswith(f"measured on {name}"))


def found_in(model: str, portable: Sequence[str] = ()) -> list[Finding]:
    """The findings in the text of an example."""
    text = whole(model)
    closed, _ = formats.read(text)
    _, findings = formats.read(text, broken=True)
    if closed is None:
        return findings
    return [*findings, *formats.locate(text, checks.check(closed, portable), closed)]


def explain_rule(code: str) -> str:
    """Describe the rule with its example, for a terminal."""
    rule, example = RULES[code], examples()[code]
    found = [f for f in found_in(example.bad, runtimes_of(code)) if f.code == code]
    parts = [
        f"{code} {_severity(rule)}: {rule.title}",
        example.about,
        *([f"Why it stops a session: {rule.stops}."] if rule.stops else []),
        *([f"It rests on: {rule.clause}"] if rule.clause else []),
        f"Bad:\n{_indented(example.bad)}",
        _indented(show_findings(found).rpartition("\n\n")[0]),
        f"Mended:\n{_indented(example.good)}",
    ]
    return "\n\n".join(parts)


def rules_page() -> str:
    """The page with every rule."""
    lines = [_HEAD]
    family = ""
    for code, rule in RULES.items():
        title = next(t for prefix, t in _FAMILIES.items() if code.startswith(prefix))
        if title != family:
            family = title
            lines.append(f"## {title}\n")
        lines.append(_section(code, rule))
    return "\n".join(lines)


def _section(code: str, rule: Rule) -> str:
    example = examples()[code]
    found = [f for f in found_in(example.bad, runtimes_of(code)) if f.code == code]
    clause = f" Rests on: {rule.clause}." if rule.clause else ""
    stops = f" Why it stops: {rule.stops}." if rule.stops else ""
    return "\n".join(
        [
            f"### {code}: {rule.title}\n",
            f"{_severity(rule).capitalize()}. {example.about}{stops}{clause}\n",
            f"```text\n{example.bad}\n```\n",
            *(f"> {_said(each)}\n" for each in found),
            f"```text\n{example.good}\n```\n",
        ]
    )


def _said(finding: Finding) -> str:
    where = f"`{finding.path}`: " if finding.path else ""
    hint = f" ({finding.hint})" if finding.hint else ""
    return f"{where}{finding.message}{hint}"


def _severity(rule: Rule) -> str:
    return f"{rule.severity} that stops a session" if rule.stops else rule.severity


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())

"""The output of `treadle check`: text, JSON, SARIF, GitHub's annotations, or counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import treadle
from treadle.checks import RULES
from treadle.cli.checking.checked import Checked
from treadle.cli.output import echo, echo_json
from treadle.errors import Finding
from treadle.passes import REPAIRED
from treadle.report import as_data, as_sarif, count_findings, plural, show_findings, table

__all__ = ["show"]

JSON_VERSION = 1
"""The version of what --output-format json prints: docs/check.schema.json describes it."""
_LEVELS = {"error": "error", "warning": "warning", "advice": "notice"}


def show(checked: Sequence[Checked], form: str, *, statistics: bool) -> None:
    """Print the findings in one of the formats; `statistics`: counts of each rule instead."""
    if statistics and form == "text":
        _show_statistics(checked)
    else:
        _FORMS[form](checked)


def _show_text(checked: Sequence[Checked]) -> None:
    for each in checked:
        for part in _paragraphs(each, alone=len(checked) == 1):
            echo(part)
    if len(checked) > 1:
        echo(_summary(checked))


def _paragraphs(checked: Checked, *, alone: bool) -> Iterator[str]:
    name, mended = checked.target.name, checked.mended
    told = [f"{fix}" if alone else f"{name}: {fix}" for fix in mended]
    if checked.wrote and (mended or alone):
        yield "\n".join([*told, f"wrote {checked.wrote}, {len(mended)} mended", ""])
    if checked.diff:
        yield f"{checked.diff}\n"
    if checked.error is not None:
        yield f"{name}\n  {checked.error}\n"
    elif checked.findings and alone:
        yield show_findings(checked.findings)
    elif checked.findings:
        indented = show_findings(checked.findings).replace("\n", "\n  ").replace("\n  \n", "\n\n")
        yield f"{name}\n  {indented}\n"
    elif alone:
        yield f"{checked.wrote or name}: no findings"


def _summary(checked: Sequence[Checked]) -> str:
    counts = count_findings(_all_findings(checked))
    clean = sum(not c.findings and c.error is None for c in checked)
    failed = sum(c.error is not None for c in checked)
    words = [plural(counts["error"], "error"), plural(counts["warning"], "warning")]
    words += [f"{plural(counts['advice'], 'piece')} of advice"]
    words += [f"{failed} could not be checked"] if failed else []
    return f"{len(checked)} models, {clean} without findings: {', '.join(words)}"


def _all_findings(checked: Sequence[Checked]) -> list[Finding]:
    return [finding for each in checked for finding in each.findings]


def _show_statistics(checked: Sequence[Checked]) -> None:
    counts = Counter(finding.code for finding in _all_findings(checked))
    severities = {finding.code: finding.severity for finding in _all_findings(checked)}
    rows = [
        (f"{count}", f"{code} {severities[code]}", _fixable(code), RULES[code].title)
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    if rows:
        echo(table(rows) + "\n")
    echo(_summary(checked))


def _fixable(code: str) -> str:
    return "--fix mends it" if code in REPAIRED else ""


def _show_json(checked: Sequence[Checked]) -> None:
    counts = count_findings(_all_findings(checked))
    echo_json(
        {
            "version": JSON_VERSION,
            "files": [each.target.name for each in checked],
            "findings": _with_files(checked, lambda each: each.findings),
            "counts": counts,
            "mended": _with_files(checked, lambda each: each.mended),
            "written": [each.wrote for each in checked if each.wrote],
            "errors": [
                {"file": c.target.name, "kind": type(c.error).__name__, "message": str(c.error)}
                for c in checked
                if c.error is not None
            ],
        }
    )


def _with_files(
    checked: Sequence[Checked], of: Callable[[Checked], Sequence[object]]
) -> list[dict[str, object]]:
    found = []
    for each in checked:
        for item in of(each):
            data = as_data(item)
            assert isinstance(data, dict)
            found.append({"file": each.target.name, **data})
    return found


def _show_sarif(checked: Sequence[Checked]) -> None:
    found = [(_uri(each.target.name), finding) for each in checked for finding in each.findings]
    failed = [(_uri(c.target.name), str(c.error)) for c in checked if c.error is not None]
    echo_json(as_sarif(found, treadle.__version__, failed))


def _uri(name: str) -> str:
    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _show_github(checked: Sequence[Checked]) -> None:
    for each in checked:
        for finding in each.findings:
            echo(_annotation(each.target.name, finding))
        if each.error is not None:
            echo(f"::error file={_property(each.target.name)}::{_data(str(each.error))}")


def _annotation(file: str, finding: Finding) -> str:
    """A command of GitHub's workflows: `::error file=model.onnxtxt,line=4,title=CF103::...`."""
    given = {"file": file, "line": finding.line, "col": finding.column, "title": finding.code}
    told = ",".join(f"{k}={_property(str(v))}" for k, v in given.items() if v is not None)
    where = f"{finding.path}: " if finding.path else ""
    hint = f" ({finding.hint})" if finding.hint else ""
    return f"::{_LEVELS[finding.severity]} {told}::{_data(f'{where}{finding.message}{hint}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_FORMS: Mapping[str, Callable[[Sequence[Checked]], None]] = {
    "text": _show_text,
    "json": _show_json,
    "sarif": _show_sarif,
    "github": _show_github,
}

"""The data of the page: blocks, findings, engines, values, a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treadle import checks
from treadle.comparing import Comparison, prepared
from treadle.errors import Finding, TreadleError
from treadle.html_report.drawing import Drawings
from treadle.html_report.engines import engines_of
from treadle.html_report.facts import control_flow_rows, model_rows
from treadle.html_report.series import first_nan, series_of
from treadle.ir import Model
from treadle.profiler import profile
from treadle.session import InferenceSession
from treadle.tracing import Recorder

Data = dict[str, Any]


def contents(
    model: Model,
    title: str,
    findings: Sequence[Finding],
    feeds: Mapping[str, object] | None,
    comparison: Comparison | None,
) -> Data:
    """Collect the data of the page for a model; with feeds it raises the errors of the run."""
    typed, _ = checks.infer_with_findings(model)
    drawings = Drawings(typed.functions)
    drawings.add(typed.main, "main")
    for identity in typed.functions:
        drawings.of_function(identity)
    summary, rows = control_flow_rows(typed)
    data: Data = {
        "title": title,
        "rows": model_rows(summary),
        "blocks": drawings.blocks,
        "facts": rows,
        "findings": [_finding(each) for each in findings],
    }
    data |= _planned(model)
    if feeds is not None:
        data |= _run(model, feeds)
    if comparison is not None:
        data["comparison"] = _compared(comparison)
    return data


def _finding(finding: Finding) -> Data:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "path": finding.path,
        "message": finding.message,
        "hint": finding.hint,
    }


def _planned(model: Model) -> Data:
    """The engine and reason of each step, by path; or why the model cannot be planned."""
    try:
        plan = InferenceSession(model).plan
    except TreadleError as error:
        return {"unplanned": str(error), "engines": {}, "reasons": []}
    found = engines_of(plan)
    reasons = list(dict.fromkeys(found.values()))
    numbers = {pair: number for number, pair in enumerate(reasons)}
    return {"reasons": reasons, "engines": {path: numbers[pair] for path, pair in found.items()}}


def _run(model: Model, feeds: Mapping[str, object]) -> Data:
    recorder, session = Recorder(select="*"), InferenceSession(model)
    session.run(None, feeds, listener=recorder)
    found = series_of(recorder.columns)
    profiled = profile(session, feeds, runs=_RUNS).as_plain()
    return {"series": found, "nan": first_nan(prepared(model), found), "profile": profiled}


def _compared(comparison: Comparison) -> Data:
    first = comparison.first
    growths = {
        pair.wanted: comparison.growth(pair.wanted).tolist()[:_MOST_GROWTH]
        for pair in comparison.matches
    }
    return {
        "words": str(comparison),
        "agrees": bool(comparison),
        "path": "" if first is None else first.path,
        "growth": {name: grown for name, grown in growths.items() if any(grown)},
    }


_RUNS = 5
"""The number of timed runs for the profile."""
_MOST_GROWTH = 120
"""The number of iterations for which the page shows the error of a value."""

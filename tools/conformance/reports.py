"""Writes docs/reports: a report for each fault of another runtime, with a model to paste."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cases import loader
from tests.values import write_value
from tools.conformance.kit.asking import Child, Question
from tools.conformance.kit.verdicts import judged
from tools.conformance.results import Answer, Runtime, opsets
from tools.conformance.script import script
from tools.conformance.writing import runs_of

FOLDER = Path(__file__).parents[2] / "docs" / "reports"
FAULTS = Path(__file__).parent / "faults.toml"
SECONDS = 30.0
_BAD = ("wrong", "crashed")
_INTRODUCTION = """# Reports

Faults of other runtimes that [the conformance kit](../conformance.md) finds, each with a small
model that reproduces it, ready to be filed. Written by `python -m tools.conformance all`.

| runtime | version | fault | cases |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Report:
    """A fault of a runtime, the cases that show it, and the text."""

    runtime: str
    title: str
    path: str
    cases: Sequence[str]
    row: str
    text: str


def reports(
    kit: Path, index: Sequence[Mapping[str, Any]], runtimes: Sequence[Runtime]
) -> list[Report]:
    """A report for each fault of faults.toml that still occurs, and for each other wrong case."""
    entries = {case["name"]: case for case in index}
    return [
        _report(kit, runtime, title, names, entries)
        for runtime in runtimes
        for title, names in _grouped(runtime)
    ]


def write_reports(found: Sequence[Report]) -> None:
    """Write the folder anew, so that reports of faults that no longer occur are deleted."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    for report in found:
        path = FOLDER / report.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report.text, encoding="utf-8")
    rows = "".join(report.row for report in found)
    (FOLDER / "README.md").write_text(_INTRODUCTION + rows, encoding="utf-8")


def _grouped(runtime: Runtime) -> Iterator[tuple[str, list[str]]]:
    bad = [name for name, answers in runtime.answers.items() if _bad(answers)]
    for fault in tomllib.loads(FAULTS.read_text(encoding="utf-8")).get(runtime.name, []):
        names = [name for name in fault["cases"] if name in bad]
        bad = [name for name in bad if name not in names]
        if names:
            yield fault["title"], names
    for name in bad:
        yield loader.cases()[name].title, [name]


def _bad(answers: Sequence[Answer]) -> list[Answer]:
    return [answer for answer in answers if answer.verdict in _BAD]


def _report(
    kit: Path,
    runtime: Runtime,
    title: str,
    names: Sequence[str],
    entries: Mapping[str, Mapping[str, Any]],
) -> Report:
    case = loader.cases()[names[0]]
    bad = _bad(runtime.answers[case.name])
    answer = next(each for each in bad if each.opset == bad[-1].opset)
    runs = _runs_that_show_it(kit, runtime.name, case, answer)
    path = f"{runtime.name}/{names[0].replace('/', '_')}.md"
    found = opsets(sorted({each.opset for each in bad}), entries[case.name]["opsets"])
    plural = "opset" if found.isdecimal() else "opsets"
    text = f"""# {runtime.title}: {title}

{runtime.title} {runtime.version}, {runtime.platform}; seen at {plural} {found}.

The standard, {case.source}.

{_due(runs[-1])}

{runtime.title}: {answer.detail}

```py
{script(runtime.name, case.model(answer.opset), [run.inputs for run in runs])}```

{_again(runtime, names, answer.opset)}"""
    row = f"| {runtime.title} | {runtime.version} | [{title}]({path}) | {', '.join(names)} |\n"
    return Report(runtime.name, title, path, names, row, text)


def _runs_that_show_it(
    kit: Path, runtime: str, case: loader.Case, answer: Answer
) -> list[loader.Run]:
    """The wrong run; with earlier ones if a new process computes it rightly without them."""
    folder = kit / "cases" / case.name / f"opset_{answer.opset}"
    runs = runs_of(case)
    for first in (answer.run, max(answer.run - 1, 0)):
        if _shows(runtime, folder, range(first, answer.run + 1), runs):
            return runs[first : answer.run + 1]
    return runs[: answer.run + 1]


def _shows(runtime: str, folder: Path, numbers: range, runs: Sequence[loader.Run]) -> bool:
    """Whether the last of these runs is wrong in a new process."""
    ask = Child(runtime, SECONDS)
    for k in numbers:
        question = Question(folder / "model.onnx", folder / f"test_data_set_{k}")
        verdict, _ = judged(ask(question), question, must_fail=runs[k].outputs is None)
    ask.close()
    return verdict in _BAD


def _due(run: loader.Run) -> str:
    if run.outputs is None:
        return "Due: an error."
    lines = [f"- `{name}` is {write_value(value)}" for name, value in run.outputs.items()]
    return "\n".join(["Due:", "", *lines])


def _again(runtime: Runtime, names: Sequence[str], opset: int) -> str:
    command = f"python -m conformance {runtime.name} --only {' '.join(names)} --opset {opset}"
    return f"With the conformance kit:\n\n```text\n{command}\n```\n"

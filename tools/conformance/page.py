"""Writes docs/conformance.md: one row for each case, one column for each runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.conformance.kit.verdicts import KINDS
from tools.conformance.reports import Report, reports, write_reports
from tools.conformance.results import Answer, Runtime, cases, opsets, read_results, worst

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"
COLUMNS = ("treadle", "onnxruntime", "onnx.reference", "openvino")
_INTRODUCTION = """# Conformance of runtimes

Results of runtimes on {count} small models with `If`, `Loop` and `Scan`. Each model tests one
rule of the standard, at the opsets that changed it; the expected outputs come from plain Python
written from the standard's text. Written by `python -m tools.conformance all`.

- **right**: every run gives the expected outputs, or fails where the standard demands it.
- **wrong**: other outputs, or outputs where the run has to fail.
- **refused**: an error which says that the runtime cannot load or run the model.
- **crashed**: the process ends, or gives no answer in 30 seconds.

OpenVINO runs with its default number of threads: with one thread it loses errors of a run and
returns memory of earlier runs. Numbers after a verdict are opsets. Every wrong answer and crash of
another runtime has a [report](reports/README.md) with a model to paste.
[Known bugs of onnxruntime](known_bugs.md) lists wrong answers of operators outside control flow at
the limits of their types; [another page](which_runtime.md) helps to choose a runtime for a loop.

## See it yourself

The kit tests any runtime and needs only Python, numpy and onnx. In a clone of this repository,
write it into a folder:

```sh
python -m tools.conformance write conformance-kit
```

Then run it in that folder, without treadle:

```text
cd conformance-kit
pip install numpy onnx onnxruntime
python -m conformance onnxruntime
python -m conformance onnxruntime --only loop/collatz
python -m conformance onnxruntime --only scan/state_passed_through --opset 25
python -m conformance --name mine --python my_module:prepare
python -m conformance --name mine --command "my-runtime {{model}} {{inputs}} {{outputs}}"
```

The commands with `--only` print the outputs of a case in full, the second of them for one opset.
The exit code is 1 if a runtime was wrong or crashed. The README of the kit describes the function
or the command that you have to write.

"""


def write_pages(kit: Path) -> None:
    """Write the page, and a report for each fault of another runtime."""
    runtimes = read_results(kit, COLUMNS)
    index = cases(kit)
    found = reports(kit, index, runtimes[1:])
    write_reports(found)
    parts = [_INTRODUCTION.format(count=len(index)), _summary(index, runtimes)]
    for folder in dict.fromkeys(case["name"].partition("/")[0] for case in index):
        rows = [case for case in index if case["name"].startswith(f"{folder}/")]
        parts.append(_table(folder, rows, runtimes, found))
    PAGE.write_text("".join(parts), encoding="utf-8")


def _summary(index: Sequence[Mapping[str, Any]], runtimes: Sequence[Runtime]) -> str:
    total = sum(len(case["opsets"]) for case in index)
    lines = [f"## Counts\n\nOf {total} models, a case at an opset each:\n"]
    lines += ["| runtime | version | " + " | ".join(KINDS) + " |", "|---|---|" + "---:|" * 4]
    for runtime in runtimes:
        counts: Counter[str] = Counter()
        for case in index:
            for opset in case["opsets"]:
                counts[worst(runtime.answers[case["name"]], opset).verdict] += 1
        numbers = " | ".join(str(counts[kind]) for kind in KINDS)
        lines.append(f"| {runtime.title} | {runtime.version} | {numbers} |")
    return "\n".join([*lines, "", f"{runtimes[0].platform}.", "", ""])


def _table(
    folder: str,
    rows: Sequence[Mapping[str, Any]],
    runtimes: Sequence[Runtime],
    found: Sequence[Report],
) -> str:
    head = "| case | " + " | ".join(runtime.title for runtime in runtimes) + " |"
    lines = [f"## {folder.capitalize()}", "", head, "|---|" + "---|" * len(runtimes)]
    for case in rows:
        cells = [_cell(case, runtime, found) for runtime in runtimes]
        asks = f"`{case['name']}`<br>{case['asks']}<br>*{case['clause']}*"
        lines.append(" | ".join(["| " + asks.replace("|", "\\|"), *cells]) + " |")
    return "\n".join([*lines, "", ""])


def _cell(case: Mapping[str, Any], runtime: Runtime, found: Sequence[Report]) -> str:
    answers = runtime.answers[case["name"]]
    by_verdict: dict[str, list[Answer]] = {}
    for opset in case["opsets"]:
        answer = worst(answers, opset)
        by_verdict.setdefault(answer.verdict, []).append(answer)
    return "<br>".join(
        _verdict(case, runtime, verdict, by_verdict[verdict], found)
        for verdict in KINDS
        if verdict in by_verdict
    )


def _verdict(
    case: Mapping[str, Any],
    runtime: Runtime,
    verdict: str,
    answers: Sequence[Answer],
    found: Sequence[Report],
) -> str:
    everywhere = len(answers) == len(case["opsets"])
    where = "" if everywhere else " " + opsets([a.opset for a in answers], case["opsets"])
    if verdict in ("right", "refused"):
        return verdict + where
    report = next((r for r in found if r.runtime == runtime.name and case["name"] in r.cases), None)
    name = f"**[{verdict}](reports/{report.path})**" if report else f"**{verdict}**"
    detail = answers[-1].detail.replace("|", "\\|")
    return f"{name}{where}: {detail[:90]}{'...' if len(detail) > 90 else ''}"

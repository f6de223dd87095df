"""Judges the outputs of a runtime for every case, opset and run of an index."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx

from .asking import Answer, Question
from .values import difference, read, shown

KINDS = ("right", "refused", "wrong", "crashed")
"""The verdicts from best to worst; a case has the verdict of its worst run."""


def read_index(root: Path) -> list[dict[str, Any]]:
    """The cases: name, title, clause, opsets, and which runs must fail."""
    found: list[dict[str, Any]] = json.loads((root / "index.json").read_text())["cases"]
    return found


def verdicts(
    root: Path, case: Mapping[str, Any], opset: int, ask: Callable[[Question], Answer]
) -> Iterator[dict[str, str]]:
    """Judge each run of a case: a verdict and its reason."""
    folder = root / "cases" / case["name"] / f"opset_{opset}"
    for k, must_fail in enumerate(case["must_fail"]):
        question = Question(folder / "model.onnx", folder / f"test_data_set_{k}")
        kind, text = judged(ask(question), question, must_fail=must_fail)
        yield {"verdict": kind, "detail": text}


def judged(answer: Answer, question: Question, *, must_fail: bool) -> tuple[str, str]:
    """Judge an answer: a verdict and its reason."""
    if answer.kind == "crashed":
        return "crashed", answer.text
    if must_fail:
        return _failure(answer)
    return _compared(answer, question)


def _failure(answer: Answer) -> tuple[str, str]:
    if answer.kind == "refused":
        return "right", "it fails, as it must: " + answer.text
    return "wrong", f"gave {', '.join(map(shown, answer.values))}, and must fail"


def _compared(answer: Answer, question: Question) -> tuple[str, str]:
    if answer.kind != "gave":
        return answer.kind, answer.text
    outputs = onnx.load(question.model).graph.output
    if len(answer.values) != len(outputs):
        return "wrong", f"gave {len(answer.values)} outputs, not {len(outputs)}"
    for k, (found, output) in enumerate(zip(answer.values, outputs, strict=True)):
        text = difference(found, read(question.data / f"output_{k}.pb", output.type))
        if text:
            return "wrong", f"{output.name}: {text}"
    return "right", ""

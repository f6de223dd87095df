"""Finds edge cases of If, Loop and Scan, as treadle writes them, that OpenVINO runs right.

    python -m tools.openvino.control_flow [NAME ...] [--update]

Asks OpenVINO about every edge case with recorded answers, or those named; `--update` writes the
table into docs/openvino.md. Right is what it is in exporters.py.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import treadle
from tests.conformance.data import Edge, edges
from tests.conformance.test_control_flow import LITERAL
from tools.openvino.exporters import (
    command,
    holds_what_openvino_has_not,
    short,
    written,
)
from tools.openvino.oracle import Oracle

START = "<!-- control flow, written by a command -->\n"


class Verdict(NamedTuple):
    """Of one case: why OpenVINO's answer is not right; "" where it is."""

    name: str
    title: str
    reason: str


def asked_about(name: str) -> bool:
    """Whether there are answers to compare, by our reading, and values that OpenVINO has."""
    edge: Edge = edges()[name]
    if not isinstance(edge.expect, tuple) or name in LITERAL:
        return False
    return not holds_what_openvino_has_not(treadle.infer(edge.source))


def verdict(name: str, oracle: Oracle) -> Verdict:
    """What OpenVINO makes of one case."""
    edge = edges()[name]
    assert isinstance(edge.expect, tuple)
    model = treadle.load(edge.source)
    given = _named([value.name for value in model.main.params], edge.inputs)
    wanted = _named([value.name for value in model.main.results if value], edge.expect)
    with tempfile.TemporaryDirectory() as folder:
        reason = written(model, Path(folder) / "model.xml", given, wanted, oracle)
    return Verdict(name, edge.title, reason)


def _named(names: list[str], values: tuple[object, ...]) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in zip(names, values, strict=False)}


def table(verdicts: list[Verdict], left_out: int, version: str) -> Iterator[str]:
    """The lines of the page."""
    right, release = sum(not each.reason for each in verdicts), version.partition("-")[0]
    yield f"Of {len(verdicts)} edge cases of `If`, `Loop` and `Scan` OpenVINO {release} answers"
    yield f"{right} right as treadle writes them. {left_out} more have sequences, optionals or"
    yield "strings, no answer to compare, or one that only a literal reading gives. The rest:"
    yield ""
    yield "| case | what it is | why not |"
    yield "|---|---|---|"
    for each in verdicts:
        if each.reason:
            yield f"| {each.name} | {short(each.title)} | {short(each.reason)} |"


def _lines(names: list[str], oracle: Oracle) -> Iterator[str]:
    asked = [name for name in names if asked_about(name)]
    verdicts = [verdict(name, oracle) for name in asked]
    return table(verdicts, len(names) - len(asked), oracle.version)


if __name__ == "__main__":
    sys.exit(command(__doc__, START, list(edges()), _lines))

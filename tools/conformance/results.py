"""Reads the results of the runtimes from a kit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.conformance.kit.verdicts import KINDS, read_index

NAMES = {"onnx.reference": "onnx.reference", "openvino": "OpenVINO"}
"""The titles of runtimes on the page, where they differ from their names in the kit."""


@dataclass(frozen=True)
class Answer:
    """The verdict on one run of a case at an opset."""

    opset: int
    run: int
    verdict: str
    detail: str


@dataclass(frozen=True)
class Runtime:
    """A runtime's version, machine and answers by case."""

    name: str
    version: str
    platform: str
    answers: Mapping[str, Sequence[Answer]]

    @property
    def title(self) -> str:
        """Its name on a page."""
        return NAMES.get(self.name, self.name)


def read_results(kit: Path, names: Sequence[str]) -> list[Runtime]:
    """Read the results of the runtimes of these names."""
    return [_runtime(json.loads((kit / "results" / f"{each}.json").read_text())) for each in names]


def _runtime(written: Mapping[str, Any]) -> Runtime:
    answers = {name: list(_answers(by_opset)) for name, by_opset in written["cases"].items()}
    return Runtime(written["runtime"], written["version"], written["platform"], answers)


def _answers(by_opset: Mapping[str, Sequence[Mapping[str, str]]]) -> Iterator[Answer]:
    for opset, runs in by_opset.items():
        for k, run in enumerate(runs):
            yield Answer(int(opset), k, run["verdict"], run["detail"])


def cases(kit: Path) -> list[Mapping[str, Any]]:
    """The entries of the kit's index."""
    return list(read_index(kit))


def worst(answers: Sequence[Answer], opset: int) -> Answer:
    """The worst answer of a runtime at an opset."""
    return max((a for a in answers if a.opset == opset), key=lambda a: KINDS.index(a.verdict))


def opsets(found: Sequence[int], every: Sequence[int]) -> str:
    """Opsets as ranges of neighbours among all opsets of the case: `8 to 13, 21`."""
    parts: list[list[int]] = []
    for opset in found:
        if parts and every.index(opset) == every.index(parts[-1][-1]) + 1:
            parts[-1].append(opset)
        else:
            parts.append([opset])
    return ", ".join(f"{p[0]} to {p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)

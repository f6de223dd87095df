"""Writes the kit: cases in the form of onnx's backend tests, an index, and the package."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx
import onnx.parser

from tests.cases.loader import Case, Run, cases
from tools.conformance.kit.values import write as write_value

KIT = Path(__file__).parent / "kit"
LICENSE = Path(__file__).parents[2] / "LICENSE"
FORMAT = 1
OPSETS = (8, 9, 11, 13, 16, 21, 25, 28)
"""The opsets that change more than element types, and some of the newer ones."""


def write_kit(folder: Path, names: Mapping[str, Case] | None = None) -> int:
    """Write all or some cases into a new folder; returns the number of folders of cases."""
    folder.mkdir(parents=True)
    chosen = [case for case in (names or cases()).values() if runs_of(case)]
    index = {"format": FORMAT, "cases": [_entry(case) for case in chosen]}
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    shutil.copytree(KIT, folder / "conformance", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(LICENSE, folder / "LICENSE")
    (folder / "conformance" / "README.md").rename(folder / "README.md")
    written = [_write_case(folder, case, opset) for case in chosen for opset in opsets_of(case)]
    return len(written)


def runs_of(case: Case) -> list[Run]:
    """The runs on which the standard is clear, without options of a runtime."""
    return [run for run in case.runs if not run.options and not run.disputed]


def opsets_of(case: Case) -> list[int]:
    """The opsets of a case in the kit: its first, and those of OPSETS."""
    return [opset for opset in case.versions() if opset == case.opsets[0] or opset in OPSETS]


def _entry(case: Case) -> dict[str, Any]:
    return {
        "name": case.name,
        "asks": case.title,
        "clause": case.source,
        "opsets": opsets_of(case),
        "must_fail": [run.outputs is None for run in runs_of(case)],
    }


def _write_case(folder: Path, case: Case, opset: int) -> Path:
    place = folder / "cases" / case.name / f"opset_{opset}"
    place.mkdir(parents=True)
    proto = onnx.parser.parse_model(case.model(opset))
    (place / "model.onnx").write_bytes(proto.SerializeToString())
    for k, run in enumerate(runs_of(case)):
        data = place / f"test_data_set_{k}"
        data.mkdir()
        for path, type_, value in _files(data, proto, run):
            write_value(path, type_, value)
    return place


def _files(
    data: Path, proto: onnx.ModelProto, run: Run
) -> Iterator[tuple[Path, onnx.TypeProto, object]]:
    for word, values, given in (
        ("input", proto.graph.input, run.inputs),
        ("output", proto.graph.output, run.outputs or {}),
    ):
        for k, each in enumerate(values):
            if each.name in given:
                yield data / f"{word}_{k}.pb", each.type, given[each.name]

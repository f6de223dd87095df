"""Reads case files: a model as text, inputs and the outputs the standard demands.

A case names no engine. Its file is TOML:

    title   = "what it is about"
    source  = "which sentence or example of the standard"
    opsets  = [11, 28]           the first and the last opset at which the model is legal
    model   = '''text, with {opset} and {ir} in its header'''
    findings = ["CF103"]         the errors `check` reports; none when left out
    [[run]]
    inputs  = {...}              values as tests/values.py reads them
    outputs = {...}              or: error = ["words", "the message has"]
    options = {...}              fields of SessionOptions
    disputed = "why"             where the standard's text can be read to demand something else

Expected values come from tests/cases/oracles, plain Python written from the standard.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx.helper

from tests.values import read_value

FOLDER = Path(__file__).parent
NEWEST = 28
VERSIONS = (7, 8, 9, 11, 13, 16, 19, 21, 23, 24, 25, 26, 27, 28)
"""Every opset that changes If, Loop or Scan, and the newest ones, which change none of them."""


@dataclass(frozen=True)
class Run:
    """One call: what goes in, and what must come out or what the error must say."""

    inputs: Mapping[str, object]
    outputs: Mapping[str, object] | None
    error: tuple[str, ...]
    options: Mapping[str, object]
    disputed: str


@dataclass(frozen=True)
class Case:
    """A model and its runs."""

    name: str
    title: str
    source: str
    opsets: tuple[int, int]
    text: str
    runs: tuple[Run, ...]
    findings: tuple[str, ...]

    def model(self, opset: int) -> str:
        """The text of the model at an opset."""
        return self.text.replace("{opset}", str(opset)).replace("{ir}", str(_ir_version(opset)))

    def versions(self) -> list[int]:
        """The opsets at which this case is run: the first, and each that changed something."""
        first, last = self.opsets
        return sorted({first, *(v for v in VERSIONS if first <= v <= last)})


def _ir_version(opset: int) -> int:
    needed = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)], True)
    return max(needed, 4) if opset > 8 else needed


def _values(written: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    return {name: read_value(value) for name, value in written.items()}


def _run(written: Mapping[str, object]) -> Run:
    outputs = written.get("outputs")
    return Run(
        _values(written["inputs"]),
        None if outputs is None else _values(outputs),
        tuple(written.get("error", ())),
        written.get("options", {}),
        written.get("disputed", ""),
    )


def read_case(path: Path) -> Case:
    """The case of one file, named by its folder and stem."""
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    return Case(
        name=f"{path.parent.name}/{path.stem}",
        title=written["title"],
        source=written["source"],
        opsets=tuple(written["opsets"]),
        text=written["model"],
        runs=tuple(map(_run, written["run"])),
        findings=tuple(written.get("findings", ())),
    )


@functools.cache
def cases() -> Mapping[str, Case]:
    """Every case by name."""
    return {case.name: case for case in map(read_case, sorted(FOLDER.glob("*/*.toml")))}

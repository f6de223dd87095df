"""Reads the conformance data, which data/README.md describes."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treadle.ir import DType

FOLDER = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Edge:
    """A model at an edge of the standard; `expect`: outputs, "error", or None for no opinion."""

    title: str
    source: str | bytes
    inputs: tuple[object, ...]
    expect: tuple[object, ...] | str | None


def _value(written):
    if written is None:
        return None
    if "seq" in written:
        return [_value(item) for item in written["seq"]]
    array = np.array(written["data"], DType(written["dtype"]).numpy)
    return array.reshape(written["shape"])


def case_of(path: Path) -> Edge:
    """The case in a file."""
    written = json.loads(path.read_text(encoding="utf-8"))
    expect = written["expect"]
    return Edge(
        written["title"],
        written["model"] or bytes.fromhex(written["model_proto_hex"]),
        tuple(map(_value, written["inputs"])),
        tuple(map(_value, expect)) if isinstance(expect, list) else expect,
    )


@functools.cache
def edges() -> Mapping[str, Edge]:
    """Every edge case by its id."""
    return {path.stem: case_of(path) for path in sorted(FOLDER.glob("control_flow/*.json"))}


EXPORTED = tuple(sorted(path.stem for path in FOLDER.glob("exporters/*.onnx")))


@functools.cache
def exported(name: str) -> tuple[Path, Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """An exporter's model, its inputs and its expected outputs, by name."""
    with np.load(FOLDER / "exporters" / f"{name}.npz") as data:
        return (
            FOLDER / "exporters" / f"{name}.onnx",
            {key[3:]: _unpacked(data[key]) for key in data.files if key.startswith("in:")},
            {key[4:]: _unpacked(data[key]) for key in data.files if key.startswith("out:")},
        )


def _unpacked(array: np.ndarray) -> np.ndarray:
    return array.astype(object) if array.dtype.kind == "U" else array

"""One layer of every kind: treadle gives OpenVINO 2026.4.1's recorded outputs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import treadle
from tests.formats.openvino.fixtures import DATA, differences
from treadle.formats.openvino import parse
from treadle.formats.openvino.operators import OPERATORS, Row, operator_of
from treadle.formats.openvino.operators.registry import NEWEST_OPSET
from treadle.formats.openvino.records import Layer

NO_KERNEL = {"one_hot_axis"}
"""What onnxruntime has no kernel for: OneHot of int32 values."""
TOLERANCE = 1e-4


@cache
def _archive() -> dict[str, np.ndarray]:
    with np.load(DATA / "operators.npz") as archive:
        return {key: archive[key] for key in archive.files}


NAMES = sorted({key.split("/")[0] for key in _archive()})


def _case(name: str, folder: Path) -> tuple[Path, dict[str, np.ndarray], dict[str, np.ndarray]]:
    parts = {k.split("/")[1]: v for k, v in _archive().items() if k.split("/")[0] == name}
    path = folder / "m.xml"
    path.write_text(str(parts["xml"]))
    path.with_suffix(".bin").write_bytes(parts["bin"].tobytes())
    given, wanted = (
        {k.removeprefix(prefix): v for k, v in parts.items() if k.startswith(prefix)}
        for prefix in ("in__", "out__")
    )
    return path, given, wanted


def _near(got: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> list[str]:
    types = [n for n, v in wanted.items() if n not in got or got[n].dtype != v.dtype]
    floats = [n for n, v in wanted.items() if n not in types and v.dtype.kind == "f"]
    far = [
        f"{n}: {got[n]}, wanted {wanted[n]}"
        for n in floats
        if got[n].shape != wanted[n].shape
        or not np.allclose(got[n], wanted[n], TOLERANCE, TOLERANCE / 10, equal_nan=True)
    ]
    rest = {n: v for n, v in wanted.items() if n not in floats}
    return far + differences(got, rest)


@pytest.mark.parametrize("name", NAMES)
def test_an_operator_gives_openvinos_recorded_outputs(name: str, tmp_path: Path) -> None:
    path, given, wanted = _case(name, tmp_path)
    session = treadle.InferenceSession(path, engines=["interp"])
    names = [output.name for output in session.get_outputs()]
    assert _near(dict(zip(names, session.run(None, given), strict=True)), wanted) == []


@pytest.mark.parametrize("name", sorted(set(NAMES) - NO_KERNEL))
def test_the_model_saved_as_onnx_agrees_in_onnxruntime(name: str, tmp_path: Path) -> None:
    path, given, wanted = _case(name, tmp_path)
    treadle.save(treadle.load(path), tmp_path / "m.onnx", external_data=False)
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", options)
    names = [output.name for output in session.get_outputs()]
    assert _near(dict(zip(names, session.run(None, given), strict=True)), wanted) == []


ROWS = {(row.type, row.version): row for forms in OPERATORS.values() for row in forms.values()}
BY_HAND = {
    ("RandomUniform", 8): "test_random.py, as its values are never the same",
    ("RMS", 14): "test_by_hand.py, as no layer of OpenVINO's is written so",
}
"""Rows that no recorded case shows: where they are shown, and why there."""


@cache
def _shown() -> dict[tuple[str, int], list[tuple[str, Layer]]]:
    """The recorded cases of each row, and the layer in them."""
    found: dict[tuple[str, int], list[tuple[str, Layer]]] = {}
    for name in NAMES:
        for layer in parse(str(_archive()[f"{name}/xml"]).encode()).body.layers:
            if layer.type.lower() in OPERATORS:
                row = operator_of(layer)
                found.setdefault((row.type, row.version), []).append((name, layer))
    return found


def test_every_row_is_shown_by_a_case() -> None:
    assert set(ROWS) == set(_shown()) | set(BY_HAND)
    assert not set(_shown()) & set(BY_HAND)
    for (type_, _), where in BY_HAND.items():
        assert f'"{type_}"' in (Path(__file__).parent / where.partition(",")[0]).read_text()


def _last_opset(row: Row) -> int:
    """The newest opset that has this form of the operator."""
    later = [version for version in OPERATORS[row.type.lower()] if version > row.version]
    return min(later, default=NEWEST_OPSET + 1) - 1


@pytest.mark.parametrize(
    "key", sorted(set(ROWS) - set(BY_HAND)), ids=lambda key: f"{key[0]}-{key[1]}"
)
def test_a_form_has_the_same_outputs_in_every_opset(key: tuple[str, int], tmp_path: Path) -> None:
    name, layer = _shown()[key][0]
    path, given, wanted = _case(name, tmp_path)
    said = f'type="{layer.type}" version="{{}}"'
    text = path.read_text()
    for opset in {ROWS[key].version, _last_opset(ROWS[key])}:
        path.write_text(text.replace(said.format(layer.version), said.format(f"opset{opset}")))
        session = treadle.InferenceSession(path, engines=["interp"])
        names = [output.name for output in session.get_outputs()]
        assert _near(dict(zip(names, session.run(None, given), strict=True)), wanted) == []


def test_the_table_has_at_least_130_operators() -> None:
    assert len(OPERATORS) >= 130

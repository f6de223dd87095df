"""Models are found in wheels of a folder; models that the table does not list are reported."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from benchmarks import wheels

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
main (float[N, 4] x, int64[1] n) => (float[N, 4] y) { f = Cast <to = 1> (n) y = Add(x, f) }"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = onnx.parser.parse_model(MODEL).SerializeToString()
    with zipfile.ZipFile(tmp_path / "of_mine-1-py3-none-any.whl", "w") as archive:
        archive.writestr("of_mine/data/add.onnx", model)
        archive.writestr("of_mine/data/strange.onnx", model)
    return tmp_path


def test_models_and_feeds_come_from_a_wheel(folder, monkeypatch, capsys):
    inputs = {"x": (3, 4), "n": np.array([2.0])}
    monkeypatch.setattr(wheels, "SHIPPED", [wheels.Shipped("of-mine", "add.onnx", inputs)])
    ((name, model, feed),) = wheels.shipped_models(folder)
    assert name == "of-mine/data/add.onnx"
    assert onnx.load_from_string(model).graph.input[0].name == "x"
    assert {key: (value.shape, value.dtype.name) for key, value in feed.items()} == {
        "x": ((3, 4), "float32"),
        "n": ((1,), "int64"),
    }
    assert "of-mine/data/strange.onnx: inputs that no row" in capsys.readouterr().err


def test_a_package_that_cannot_be_had_is_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(wheels, "SHIPPED", [wheels.Shipped("treadle-of-nobody", "*", {})])
    assert list(wheels.shipped_models(tmp_path)) == []
    assert "no wheel of treadle-of-nobody" in capsys.readouterr().err

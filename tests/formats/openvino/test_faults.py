"""Unsupported and invalid layers are all reported at once."""

# ruff: noqa: E501 - tables, a row a line

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import treadle
from tests.formats.openvino.fixtures import DATA
from tools.openvino.sketch import Sketch, Weights, write
from treadle.errors import LoadError

F32 = [("f32", (2, 3))]


def _findings(path: Path) -> list[str]:
    with pytest.raises(LoadError) as caught:
        treadle.load(path)
    return [str(found) for found in caught.value.findings]


def test_all_unsupported_layers_are_listed(tmp_path: Path) -> None:
    sketch = Sketch(Weights())
    x = sketch.parameter("x", "f32", 2, 3)
    first = sketch.layer("Proposal", [x], F32, name="boxes", version="opset4")
    fine = sketch.layer("ReLU", [first], F32)
    second = sketch.layer("Gathr", [fine], F32, name="typo")
    third = sketch.layer("Tanh", [second], F32, version="opset99")
    sketch.result(third)
    found = _findings(write(tmp_path, sketch))
    assert len(found) == 3
    assert found[0].startswith('CF908 error sketch.xml:13: layer 1 "boxes" (Proposal, opset4): ')
    assert "did you mean Gather?" in found[1]
    assert 'the version "opset99" of it is not supported' in found[2]


def test_an_unread_layer_is_left_out(tmp_path: Path) -> None:
    sketch = Sketch(Weights())
    x = sketch.parameter("x", "f32", 2, 3)
    sketch.layer("Proposal", [x], F32)
    sketch.result(sketch.layer("ReLU", [x], F32), "y")
    model = treadle.load(write(tmp_path, sketch))
    assert [step.op for step in model.main.steps] == ["Relu", "Identity"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("type_", "data", "wanted"),
    [
        ("SoftMax", {"axis": "one"}, 'axis is "one", wanted a whole number'),
        ("Convert", {}, "it has no attribute destination_type"),
        ("Convert", {"destination_type": "nf4"}, "has no element type"),
        ("TopK", {"axis": "0", "mode": "odd"}, "it has 1 inputs, at least 2 are wanted"),
        ("DepthToSpace", {"mode": "odd"}, 'mode is "odd", wanted blocks_first or depth_first'),
        ("Add", {}, "it has 1 inputs, at least 2 are wanted"),
        ("Concat", {}, "it has no attribute axis"),
        ("Clamp", {"min": "0", "max": "x"}, 'max is "x", wanted a number'),
    ],
)
def test_invalid_layers_are_findings(
    type_: str, data: dict[str, str], wanted: str, tmp_path: Path
) -> None:
    sketch = Sketch(Weights())
    x = sketch.parameter("x", "f32", 2, 3)
    sketch.result(sketch.layer(type_, [x], F32, data=data))
    (found,) = _findings(write(tmp_path, sketch))
    assert wanted in found
    assert "sketch.xml:13: layer 1" in found


def test_an_operand_that_has_to_be_constant(tmp_path: Path) -> None:
    sketch = Sketch(Weights())
    x, order = sketch.parameter("x", "f32", 2, 3), sketch.parameter("order", "i64", 2)
    sketch.result(sketch.layer("Transpose", [x, order], F32))
    (found,) = _findings(write(tmp_path, sketch))
    assert "CF909" in found
    assert "the order (input 1) is not constant" in found


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ('purpose="execution_condition"', "", "no Result of its body is its condition"),
        ('<edge from-layer="6" to-layer="1" />', '<edge from-layer="6" to-layer="0" />', "which is sliced"),
        ('<edge from-layer="6" to-layer="1" />', '<edge from-layer="2" to-layer="1" />', "layer 2 of the body is not a Result"),
        ('external_port_id="3"', 'external_port_id="9"', "names input port 9, which does not exist"),
        ('<input external_port_id="3" internal_layer_id="1" />', "", "a back edge leads to Parameter 1"),
        ('internal_layer_id="1"', 'internal_layer_id="0"', "feeds Parameter 0 of the body twice"),
        ("<body>", "<nobody>", "CF901"),
    ],
)  # fmt: skip
def test_ports_of_a_loop_that_do_not_fit(old: str, new: str, wanted: str, tmp_path: Path) -> None:
    text = (DATA / "loop_sliced_concat_axis1.xml").read_text()
    assert old in text
    (tmp_path / "m.xml").write_text(text.replace(old, new, 1))
    (tmp_path / "m.bin").write_bytes((DATA / "loop_sliced_concat_axis1.bin").read_bytes())
    assert any(wanted in found for found in _findings(tmp_path / "m.xml"))


def test_a_state_keeps_its_value_between_runs() -> None:
    session = treadle.InferenceSession(DATA / "state_readvalue.xml")
    assert [each.name for each in session.get_inputs()] == ["x"]
    assert [each.name for each in session.get_overridable_initializers()] == ["state:acc_var"]
    x = np.ones((1, 3), np.float32)
    total, after = session.run(None, {"x": x})
    again, _ = session.run(None, {"x": x, "state:acc_var": after})
    np.testing.assert_array_equal(again, total + 1)

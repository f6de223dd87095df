"""save(load(m)) equals m for every model of onnx's backend suite."""

import json
import warnings
from pathlib import Path

import onnx
import pytest

import treadle
from tests.formats.onnx.normal import normal
from treadle import formats
from treadle.formats.onnx import write_model

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def backend_models():
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx's own generators divide by zero and overflow
        for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
            for case in load_model_tests(kind=kind):
                yield case.name, case.model or onnx.load(f"{case.model_dir}/model.onnx")


def assert_lossless(proto):
    model, findings = formats.read(proto)
    assert model is not None, findings
    assert normal(write_model(model)) == normal(proto)


def test_every_backend_model_is_lossless():
    lossy = []
    for name, proto in backend_models():
        model, findings = formats.read(proto)
        if model is None:
            lossy.append((name, findings))
        elif normal(write_model(model)) != normal(proto):
            lossy.append((name, "differs"))

    assert lossy == []


@pytest.mark.parametrize("path", sorted(LIGHT.glob("*.onnx")), ids=lambda path: path.stem)
def test_light_models_are_lossless(path):
    assert_lossless(onnx.load(path))


def test_saved_file_is_the_loaded_one(tmp_path):
    source = (
        '<ir_version: 10, opset_import: ["" : 21]>\n'
        "g (float[n] x) => (float[n] y) { y = Add(x, x) }"
    )
    treadle.save(treadle.load(source), tmp_path / "m.onnx")
    treadle.save(treadle.load(tmp_path / "m.onnx"), tmp_path / "m.onnxtxt")

    proto = onnx.load(tmp_path / "m.onnx")
    assert normal(proto) == normal(onnx.parser.parse_model(source))
    text = (tmp_path / "m.onnxtxt").read_text()
    assert normal(onnx.parser.parse_model(text)) == normal(proto)


CONFORMANCE = Path(__file__).parents[2] / "conformance" / "data"
MENDED = {"L27", "I13"}
"""An outer value returned directly, which the standard forbids, is written through an Identity."""


@pytest.mark.parametrize("path", sorted(CONFORMANCE.rglob("*.onnx")), ids=lambda path: path.stem)
def test_exporter_models_are_lossless(path):
    assert_lossless(onnx.load(path))


@pytest.mark.parametrize("path", sorted(CONFORMANCE.rglob("*.json")), ids=lambda path: path.stem)
def test_edge_cases_are_lossless(path):
    case = json.loads(path.read_text())
    text, data = case["model"], case.get("model_proto_hex")
    proto = (
        onnx.parser.parse_model(text) if text else onnx.ModelProto.FromString(bytes.fromhex(data))
    )
    model, findings = formats.read(proto)
    if path.stem in MENDED:
        assert normal(write_model(model)) != normal(proto)
    elif model is not None:
        assert normal(write_model(model)) == normal(proto)
    else:
        assert case["expect"] == "error", findings


def test_attributes_of_graphs_round_trip():
    proto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21, "own" : 1]>\n'
        "g (bool c, float x) => (float y, u) {\n"
        " y = If (c) <then_branch = t () => (float p) { p = Neg (x) },"
        " else_branch = e () => (float q) { q = Abs (x) }>\n u = own.Many (x) }"
    )
    choice, many = proto.graph.node
    for attribute in choice.attribute:
        attribute.doc_string = f"about {attribute.name}"
    graphs = many.attribute.add(name="graphs", doc_string="two", type=onnx.AttributeProto.GRAPHS)
    graphs.graphs.extend(attribute.g for attribute in choice.attribute)
    many.attribute.add(name="no_graphs", type=onnx.AttributeProto.GRAPHS)

    assert_lossless(proto)
    treadle.check(proto)

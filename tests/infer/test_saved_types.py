"""Inferred types are in the saved file, which is valid and loads with the same types."""

import onnx
import pytest

import treadle
from tests.backend import suite
from tests.conformance.data import EXPORTED, edges, exported
from tests.infer.standard import types_of
from treadle import formats
from treadle.formats.onnx.write import write_model
from treadle.infer import infer

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'


def models():
    """Every edge case, every exporter's model and the suite's control flow."""
    for edge in edges().values():
        yield edge.source
    for name in EXPORTED:
        yield exported(name)[0]
    for sample in suite.node_samples().values():
        if sample.has_control_flow:
            yield sample.model


def is_valid(proto):
    try:
        onnx.checker.check_model(proto, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def test_a_valid_model_is_valid_with_its_types_and_loads_again_the_same():
    valid = 0
    for source in models():
        model, _ = formats.read(source)
        if model is None:
            continue
        written = write_model(infer(model))
        again, findings = formats.read(written)
        assert again is not None, findings
        assert write_model(again) == written
        if is_valid(write_model(model)):
            valid += 1
            onnx.checker.check_model(written, full_check=True)
    assert valid > 150


def saved(text, path):
    treadle.save(treadle.infer(HEADER + text), path)
    proto = onnx.load(path)
    onnx.checker.check_model(proto, full_check=True)
    return proto


def dims(type_):
    tensor = type_.tensor_type
    if not tensor.HasField("shape"):
        return None
    return [dim.dim_value or dim.dim_param for dim in tensor.shape.dim]


GROWING = """g (int64 M, float[N,1] s0, float[N,2] x) => (float[N,K] s) {
    s = Loop <body = b (int64 i, bool c, float[N,1] a) => (bool e, float[N,1] d) {
        e = Identity(c) z = Relu(x) d = Concat<axis=1>(a, z) }> (M, "", s0) }"""


@pytest.mark.parametrize("suffix", ["onnx", "onnxtxt"])
def test_every_value_of_a_body_is_written_with_its_expressions(tmp_path, suffix):
    path = tmp_path / f"typed.{suffix}"
    treadle.save(treadle.infer(HEADER + GROWING), path)
    types = types_of(write_model(treadle.load(path)).graph)
    body = ("s.body",)
    assert dims(types[body, "a"]) == ["N", "2*main/loop_0.iteration+1"]
    assert dims(types[body, "d"]) == ["N", "2*main/loop_0.iteration+3"]
    assert dims(types[body, "z"]) == ["N", 2]
    assert dims(types[body, "i"]) == []


def test_the_main_graph_keeps_the_names_its_callers_know(tmp_path):
    proto = saved(GROWING, tmp_path / "typed.onnx")
    assert dims(proto.graph.output[0].type) == ["N", "K"]


def test_a_false_declaration_of_a_body_is_replaced(tmp_path):
    text = """g (int64 M, float[1] s0) => (float[n] s) {
        s = Loop <body = b (int64 i, bool c, float[1] a) => (bool e, float[1] d) {
            e = Identity(c) d = Concat<axis=0>(a, a) }> (M, "", s0) }"""
    types = types_of(saved(text, tmp_path / "typed.onnx").graph)
    assert dims(types[("s.body",), "a"]) == ["main/loop_0:a.0"]
    assert dims(types[("s.body",), "d"]) == ["2*main/loop_0:a.0"]


def test_the_values_of_a_function_are_written_from_the_ir_version_that_has_them(tmp_path):
    function = """<opset_import: ["" : 21], domain: "local"> f (a) => (c) {
        b = Relu(a) c = Neg(b) }"""
    main = "g (float[2,N] x) => (float[2,N] y) { y = local.f(x) }"
    for version, known in ((9, []), (10, ["a", "c", "b"])):
        header = f'<ir_version: {version}, opset_import: ["" : 21, "local" : 1]>'
        path = tmp_path / "typed.onnx"
        treadle.save(treadle.infer(f"{header}\n{main}\n{function}"), path)
        proto = onnx.load(path)
        onnx.checker.check_model(proto, full_check=True)
        assert [value.name for value in proto.functions[0].value_info] == known

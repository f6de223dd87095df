"""Models in other opsets: the same outputs in onnxruntime and interp, or every obstacle."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import treadle
from tests.conformance.data import exported
from tests.values import assert_same
from treadle.errors import InputError, RunError, Unsupported
from treadle.formats import onnx as onnx_files
from treadle.ir import FunctionId

OPSETS = (9, 11, 13, 17, 21, 26)
LOOP = """<ir_version: 8, opset_import: ["" : {opset}]>
g (float[2,3] x, int64 n) => (float[2,3] y, float[t,2] sums) {{
  yes = Constant <value = bool {{1}}> ()
  y, sums = Loop (n, yes, x) <body = b (int64 i, bool go, float[2,3] s)
      => (bool on, float[2,3] o, float[2] r) {{
    on = Identity (go)
    axes = Constant <value = int64[1] {{1}}> ()
    {body}
  }}>
}}"""
BODY_18 = "m = Softmax <axis = 0> (s) o = Add (m, s) r = ReduceMax <keepdims = 0> (s, axes)"
BODY_9 = "m = Softmax <axis = 1> (s) o = Add (m, s) r = ReduceMax <axes = [-1], keepdims = 0> (s)"
X = np.arange(6, dtype=np.float32).reshape(2, 3) / 4


def answers(model: object, feeds: dict[str, np.ndarray]) -> list[list[np.ndarray]]:
    """What onnxruntime and interp give; the file passes onnx's checker."""
    data = onnx_files.to_bytes(treadle.load(model))
    onnx.checker.check_model(data)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    interp = treadle.InferenceSession(data, engines=["interp"])
    return [session.run(None, feeds), interp.run(None, feeds)]


def assert_converts(source: str, feeds: dict[str, np.ndarray], opsets=OPSETS) -> None:
    wanted = treadle.InferenceSession(source, engines=["interp"]).run(None, feeds)
    for opset in opsets:
        made = treadle.convert_version(source, opset)
        assert made.opsets[""] == opset
        names = [str(k) for k in range(len(wanted))]
        for found in answers(made, feeds):
            assert_same(found, wanted, names)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize(("opset", "body"), [(18, BODY_18), (9, BODY_9.replace("-1", "1"))])
def test_bodies_go_both_ways(trips, opset, body):
    assert_converts(LOOP.format(opset=opset, body=body), {"x": X, "n": np.array(trips)})


LEAVES = {
    "LayerNormalization": "y = LayerNormalization <axis = 1> (x, w, w)",
    "Gelu": "y = Gelu (x)",
    "RMSNormalization": "y = RMSNormalization (x, w)",
    "Trilu": "y = Trilu <upper = 1> (x, k)",
    "Einsum": 'y = Einsum <equation = "ij,j->i"> (x, w)',
    "CumSum": "y = CumSum <reverse = 1, exclusive = 1> (x, k)",
    "ScatterND": 'y = ScatterND <reduction = "add"> (x, at, x)',
    "ScatterElements": 'y = ScatterElements <reduction = "max"> (x, at, x)',
    "Resize": 'y = Resize <mode = "cubic", antialias = 1, axes = [1]> (x, , scales)',
    "Pad": 'y = Pad <mode = "wrap"> (x, pads)',
    "Split": "y, z = Split <num_outputs = 2> (x)",
    "Mod": "i = Cast <to = 6> (x) j = Cast <to = 6> (w) y = Mod (i, j)",
    "Bitwise": "i = Cast <to = 2> (x) y = BitwiseXor (i, i)",
    "GroupNormalization": (
        "c = Unsqueeze (x, k1) s = Shape <start = 1, end = 2> (c)"
        " o = ConstantOfShape <value = float[1] {2.0}> (s)"
        " y = GroupNormalization <num_groups = 1> (c, o, o)"
    ),
    "Swish": "y = Swish <alpha = 0.5> (x)",
    "CastLike": "y = CastLike (x, k)",
    "Range": "s = ReduceSum <keepdims = 0> (x) t = Cast <to = 7> (s)"
    " o = Constant <value_int = 1> () z = Constant <value_int = 0> () y = Range (z, t, o)",
}
GIVEN = {
    "k": "int64 {1}",
    "k1": "int64[1] {1}",
    "pads": "int64[4] {0, 1, 1, 2}",
    "scales": "float[1] {0.7}",
    "at": "int64[2,3] {0, 1, 0, 1, 0, 1}",
}


def leaf(text: str) -> str:
    constants = " ".join(
        f"{name} = Constant <value = {value}> ()" for name, value in GIVEN.items() if name != "at"
    )
    places = "int64[2,1] {1, 1}" if "ScatterND" in text else GIVEN["at"]
    return (
        '<ir_version: 10, opset_import: ["" : 24]> g (float[2,3] x, float[3] w) => (y) {'
        f" {constants} at = Constant <value = {places}> () {text} }}"
    )


@pytest.mark.parametrize("name", LEAVES)
def test_newer_operators_are_made_of_older_ones(name):
    feeds = {"x": X + 1, "w": np.array([1.5, 2, 3], np.float32)}
    low, high = {"Bitwise": (11, 26), "Swish": (9, 21)}.get(name, (9, 26))  # what onnxruntime has
    assert_converts(leaf(LEAVES[name]), feeds, [n for n in OPSETS if low <= n <= high])


def test_every_obstacle_is_reported_at_once():
    source = """<ir_version: 10, opset_import: ["" : 21]>
    g (string[2] s) => (z, u) {
      z = StringConcat (s, s)
      u, i, v, c = Unique (s)
    }"""
    with pytest.raises(Unsupported) as caught:
        treadle.convert_version(source, 10)
    told = {found.path: found.message for found in caught.value.findings}
    assert told.keys() == {"main/stringconcat_0", "main/unique_1"}
    assert "joins strings" in told["main/stringconcat_0"]


def test_functions_stay_where_they_can():
    source = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
    g (float[2,3] x) => (float[2,3] y) { y = local.twice (x) }
    <domain: "local", opset_import: ["" : 18]> twice (a) => (b) { b = Add (a, a) }"""
    made = treadle.convert_version(source, 13)
    function = made.functions[FunctionId("local", "twice")]
    assert function.opsets[""] == 13
    assert_converts(source, {"x": X}, (13, 15, 26))


def test_functions_that_cannot_stay_are_inlined():
    source = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]>
    g (float[2,3] x) => (float[2] y) { y = local.most <axis = [1]> (x) }
    <domain: "local", opset_import: ["" : 18]> most <axis> (a) => (b) {
      axes = Constant <value_ints: ints = @axis> ()
      b = ReduceMax <keepdims = 0> (a, axes)
    }"""
    assert not treadle.convert_version(source, 11).functions
    assert_converts(source, {"x": X}, (9, 11, 13))


def test_scan_8_gets_a_loop_over_its_batch():
    source = """<ir_version: 3, opset_import: ["" : 8]>
    g (float[2,1] s, float[2,3,1] x) => (float[2,1] t, float[2,3,1] ys) {
      t, ys = Scan <num_scan_inputs = 1, body = b (float[1] a, float[1] e)
        => (float[1] o, float[1] r) { o = Add (a, e) r = Identity (o) }> ("", s, x)
    }"""
    feeds = {"s": np.zeros((2, 1), np.float32), "x": X.reshape(2, 3, 1)}
    assert_converts(source, feeds)


def test_scan_8_keeps_the_lengths_of_its_sequences():
    source = """<ir_version: 3, opset_import: ["" : 8]>
    g (int64[2] n, float[2,1] s, float[2,3,1] x) => (float[2,1] t, float[2,3,1] ys) {
      t, ys = Scan <num_scan_inputs = 1, body = b (float[1] a, float[1] e)
        => (float[1] o, float[1] r) { o = Add (a, e) r = Identity (o) }> (n, s, x)
    }"""
    feeds = {"s": np.zeros((2, 1), np.float32), "x": X.reshape(2, 3, 1)}
    assert_converts(source, {**feeds, "n": np.array([3, 1])})
    made = treadle.InferenceSession(treadle.convert_version(source, 13), engines=["interp"])
    for wrong in ([4, 1], [-1, 1]):
        with pytest.raises(RunError):
            made.run(None, {**feeds, "n": np.array(wrong)})


def test_the_opset_of_a_model_is_left_as_it_is():
    model = treadle.load(LOOP.format(opset=18, body=BODY_18))
    made, report = treadle.convert_version(model, 18, with_report=True)
    assert made.main is model.main
    assert not report.done


def test_the_report_lists_converted_operators():
    _, report = treadle.convert_version(leaf(LEAVES["Gelu"]), 13, with_report=True)
    (change,) = (each for each in report.done if each.path == "main/gelu_5")
    assert change.name == "convert_version"
    assert change.done.startswith("Gelu-20 became ")


@pytest.mark.parametrize("opset", [8, 0, 99, "13", 13.0, None])
def test_unknown_opsets_are_refused(opset):
    with pytest.raises(InputError):
        treadle.convert_version(leaf(LEAVES["Gelu"]), opset)


@pytest.mark.parametrize("ir_version", [2, 99])
def test_unknown_ir_versions_are_refused(ir_version):
    with pytest.raises(InputError):
        treadle.convert_version(leaf(LEAVES["Gelu"]), 13, ir_version=ir_version)


def test_the_ir_version_is_the_one_asked_for():
    assert treadle.convert_version(leaf(LEAVES["Gelu"]), 13, ir_version=6).ir_version == 6
    assert treadle.convert_version(leaf(LEAVES["Gelu"]), 13).ir_version == 7
    assert treadle.convert_version(leaf(LEAVES["Gelu"]), 26).ir_version == 13


@pytest.mark.parametrize("name", ["skl_knn_imputer", "torch_script_rg_lru", "jax_kalman"])
@pytest.mark.parametrize("opset", [11, 13])
def test_exported_models_go_down(name, opset):
    path, feeds, wanted = exported(name)
    made = treadle.convert_version(path, opset)
    for found in answers(made, dict(feeds)):
        assert_same(found, list(wanted.values()), list(wanted))


def test_attributes_that_opset_7_withdrew() -> None:
    head = '<ir_version: 3, opset_import: ["" : 6]> g (float[2,3] x, float[3] b) => (float[2,3] y)'
    plain = treadle.convert_version(head + "{ y = Add <broadcast = 1> (x, b) }", 13)
    assert not plain.main.steps[0].attributes
    for step in (
        "Add <broadcast = 1, axis = 1> (x, b)",
        "Upsample <height_scale = 1.0, width_scale = 1.0> (x)",
    ):
        with pytest.raises(treadle.Unsupported, match="opset 7 withdrew"):
            treadle.convert_version(head + f"{{ y = {step} }}", 13)

"""Floats converted to another dtype: valid bodies, close values, same inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
import onnxruntime
import pytest

import treadle
from tests.conformance.data import exported
from treadle.errors import InputError, Unsupported
from treadle.formats import onnx as onnx_files
from treadle.infer import infer
from treadle.ir import DType, Leaf, Loop, Model, Tensor, block_values, walk

LOOP = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x, float[3] w, int64 n) => (float[2,3] y, float[t,2,3] rows) {
  yes = Constant <value = bool {1}> ()
  y, rows = Loop (n, yes, x) <body = b (int64 i, bool go, float[2,3] s)
      => (bool on, float[2,3] o, float[2,3] r) {
    on = Identity (go)
    half = Constant <value_float = 0.5> ()
    m = Mul (s, w)
    r = Softmax <axis = 1> (m)
    o = Add (r, half)
  }>
}"""
Runner = Callable[[dict[str, np.ndarray]], Sequence[np.ndarray]]
X = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
FEEDS = {"x": X, "w": np.array([0.5, 1, 2], np.float32)}
NEAR = {"float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-6}


def runners(model: Model) -> list[Runner]:
    """onnxruntime and interp, each with the model; the file passes onnx's checker."""
    data = onnx_files.to_bytes(model)
    onnx.checker.check_model(data, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    interp = treadle.InferenceSession(data, engines=["interp"])
    return [lambda feeds: session.run(None, feeds), lambda feeds: interp.run(None, feeds)]


def assert_near(model: Model, fed, near: float) -> None:
    """Each pair of feeds and outputs holds, but for what the type rounds."""
    for run in runners(model):
        for feeds, wanted in fed:
            for value, right in zip(run(feeds), wanted, strict=True):
                assert value.dtype == right.dtype
                np.testing.assert_allclose(value, right, near, near)


def dtypes(model: Model, operator: str) -> set[DType | None]:
    """The element types that results of an operator have."""
    steps = (visit.step for visit in walk(infer(model)))
    types = (s.results[0].type for s in steps if isinstance(s, Leaf) and s.op == operator)
    return {type_.dtype for type_ in types if isinstance(type_, Tensor)}


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("keep", [(), "op:Softmax", "role:carried", "r", "main/loop_1"])
def test_loops_are_consistent(dtype, keep):
    session = treadle.InferenceSession(LOOP, engines=["interp"])
    every = [{**FEEDS, "n": np.array(trips)} for trips in (0, 1, 2, 5)]
    made = treadle.convert_dtype(LOOP, dtype, keep=keep)
    assert [value.name for value in made.main.results] == ["y", "rows"]
    assert_near(made, [(feeds, session.run(None, feeds)) for feeds in every], NEAR[dtype])


def test_excluded_values_stay_float32():
    assert dtypes(treadle.convert_dtype(LOOP, "float16"), "Softmax") == {DType.FLOAT16}
    kept = treadle.convert_dtype(LOOP, "float16", keep="op:Softmax")
    assert dtypes(kept, "Softmax") == {DType.FLOAT32}
    assert dtypes(kept, "Mul") == {DType.FLOAT16}
    whole = treadle.convert_dtype(LOOP, "float16", keep="main/loop_1")
    assert dtypes(whole, "Mul") == {DType.FLOAT32}


def test_bfloat16_runs_on_interp():
    feeds = {**FEEDS, "n": np.array(2)}
    wanted = treadle.InferenceSession(LOOP, engines=["interp"]).run(None, feeds)
    made = treadle.convert_dtype(LOOP, "bfloat16")
    found = treadle.InferenceSession(made, engines=["interp"]).run(None, feeds)
    for value, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value, right, NEAR["bfloat16"], NEAR["bfloat16"])


def test_operands_that_must_be_float32_are_cast():
    source = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,4] x, float[3] scales) => (float[1,1,8] y, int64[3] k) {
      y = Resize <mode = "linear"> (x, , scales)
      k = Cast <to = 7> (scales)
    }"""
    feeds = {"x": X.reshape(1, 1, 6)[..., :4], "scales": np.array([1, 1, 2], np.float32)}
    wanted = treadle.InferenceSession(source, engines=["interp"]).run(None, feeds)
    assert_near(treadle.convert_dtype(source, "float16"), [(feeds, wanted)], NEAR["float16"])


def test_constants_beyond_the_type_become_its_greatest():
    source = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) <float big = {-3.0e38}> { y = Max (x, big) }"""
    made = treadle.convert_dtype(source, "float16")
    (constant,) = made.main.constants
    assert constant.array == np.float16(-65504)
    assert_near(made, [({"x": X[0, :2]}, [X[0, :2]])], 1e-3)


def test_sequences_at_the_border_are_refused():
    source = """<ir_version: 8, opset_import: ["" : 17]>
    g (seq(float[2]) s, float[2] x) => (seq(float[2]) t) { t = SequenceInsert (s, x) }"""
    with pytest.raises(Unsupported) as caught:
        treadle.convert_dtype(source, "float16")
    assert {found.path for found in caught.value.findings} == {"main"}


def test_sequences_inside_have_the_new_type():
    source = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[4] y) {
      s = SequenceConstruct (x, x)
      y = ConcatFromSequence <axis = 0> (s)
    }"""
    made = treadle.convert_dtype(source, "float16")
    assert_near(made, [({"x": X[0, :2]}, [np.tile(X[0, :2], 2)])], 1e-3)


@pytest.mark.parametrize("dtype", ["float32", "int8", "half", 16, None])
def test_unknown_types_are_refused(dtype):
    with pytest.raises(InputError):
        treadle.convert_dtype(LOOP, dtype)


def test_a_selector_without_a_match_is_refused():
    with pytest.raises(InputError, match="op:Softmax"):
        treadle.convert_dtype(LOOP, "float16", keep="op:Sofmax")


def test_no_value_is_left_without_use_of_the_old_type():
    made = treadle.convert_dtype(LOOP, "float16")
    loop = next(visit.step for visit in walk(infer(made)) if visit.path == "main/loop_1")
    types = {str(value.type) for value in block_values(loop.body) if isinstance(value.type, Tensor)}
    assert not {each for each in types if each.startswith("float32")}


@pytest.mark.parametrize("name", ["torch_dynamo_scan_rnn", "jax_nested_scan"])
def test_exported_models_stay_near(name):
    path, feeds, wanted = exported(name)
    made = treadle.convert_dtype(path, "float16")
    assert_near(made, [(dict(feeds), [wanted[v.name] for v in made.main.results])], 2e-2)


NARROWING = """<ir_version: 8, opset_import: ["" : 17]>
narrowing (float x) => (float y, float[N] seen) {
  y, seen = Loop ("", "", x) <body = b (int64 i, bool go, float s) => (bool on, float o, float k) {
    half = Constant <value = float {0.5}> () limit = Constant <value = float {0.00001}> ()
    one = Constant <value = float {1.0}> ()
    o = Mul (s, half)
    t = Add (one, o)
    gap = Sub (t, one)
    on = Greater (gap, limit)
    k = Mul (o, o)
  }>
}"""
"""In float16 the gap is 0 after 11 iterations; in float32 it is below the limit after 17."""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_conditions_of_while_loops_stay_float32(dtype):
    before = treadle.load(NARROWING)
    after, report = treadle.convert_dtype(before, dtype, with_report=True)
    assert "main/loop_0: what decides its end stays float32" in [str(each) for each in report.done]
    feeds = {"x": np.array(1, np.float32)}
    wanted = treadle.InferenceSession(before, engines=("interp",)).run(None, feeds)
    found = treadle.InferenceSession(after, engines=("interp",)).run(None, feeds)
    assert found[1].shape == wanted[1].shape
    (loop,) = [visit.step for visit in walk(after) if isinstance(visit.step, Loop)]
    assert "Cast" in [step.op for step in loop.body.steps]


def test_loops_with_a_trip_count_are_rounded():
    text = NARROWING.replace("(float x)", "(float x, int64 n)").replace('Loop ("",', "Loop (n,")
    _, report = treadle.convert_dtype(treadle.load(text), "float16", with_report=True)
    assert not [each for each in report.done if "decides its end" in str(each)]

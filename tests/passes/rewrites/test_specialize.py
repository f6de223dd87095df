"""Fixed extents and inputs: static shapes, the same outputs, refusals."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle
from tests.passes.simplify.models import run, run_by_onnxruntime, saved
from treadle.formats import onnx as onnx_files

HEAD = '<ir_version: {ir}, opset_import: ["" : 17, "local" : 1]>'
COUNTED = """
g (float[T,3] x, float[U] w, int64 limit) => (float[A,B] y, float[C,D] rows) {
  yes = Constant <value = bool {1}> ()
  y, rows = Loop (limit, yes, x) <body = b (int64 i, bool go, float[T,3] s)
      => (bool on, float[T,3] o, float[E] r) {
    on = Identity (go)
    o = Add (s, x)
    r = Concat <axis = 0> (w, w)
  }>
}"""
X, W = np.arange(12, dtype=np.float32).reshape(4, 3), np.ones(2, np.float32)


def source(text: str = COUNTED, ir: int = 8) -> str:
    return HEAD.format(ir=ir) + text


def output_shapes(model: object) -> list[list[int | str]]:
    proto = onnx_files.write_model(model)
    onnx.checker.check_model(proto, full_check=True)
    dims = [value.type.tensor_type.shape.dim for value in proto.graph.output]
    return [
        [d.dim_value if d.HasField("dim_value") else d.dim_param for d in each] for each in dims
    ]


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_dims_and_inputs_become_numbers_and_constants(trips):
    before = treadle.load(source())
    after = treadle.specialize(source(), dims={"T": 4, "U": 2}, inputs={"limit": trips})
    assert [value.name for value in after.main.params] == ["x", "w"]
    assert output_shapes(after) == [[4, 3], [trips, 4]]
    wanted = run(before, {"x": X, "w": W, "limit": np.array(trips)})
    feeds = {"x": X, "w": W}
    for found in (run(after, feeds), run_by_onnxruntime(saved(after), feeds)):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_report_lists_the_fixed_extents():
    _, report = treadle.specialize(source(), dims={"T": 4}, inputs={"limit": 2}, with_report=True)
    assert [each.done for each in report.done[:2]] == ["T is 4", "input limit is a constant"]
    assert report.counts["specialize"] == 2


def test_an_expression_of_names_follows():
    text = 'g (float[T] x, float["T + 1"] y, float["2*T"] z) => (float[N] r)' + (
        " { r = Concat <axis = 0> (x, y, z) }"
    )
    model = treadle.load(source(text))
    assert output_shapes(treadle.specialize(model, dims={"T": 3})) == [[13]]


def test_a_name_inside_a_function_follows():
    text = """
g (float[T] x) => (float[N] r) { r = local.twice (x) }
<domain: "local", opset_import: ["" : 17]> twice (a) => (b) { b = Concat <axis = 0> (a, a) }"""
    assert output_shapes(treadle.specialize(source(text), dims={"T": 3})) == [[6]]


def test_files_before_initializers_get_a_constant_step():
    text = "g (float[2] x, float[2] y) => (float[2] z) { z = Add (x, y) }"
    after = treadle.specialize(source(text, ir=3), inputs={"y": [1, 2]})
    assert not after.main.constants
    np.testing.assert_array_equal(run(after, {"x": W})[0], [2, 3])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dims": {"t": 4}}, "extent 't', did you mean \"T\""),
        ({"dims": {"T": -1}}, "the extent of T is -1"),
        ({"dims": {"T": 2.5}}, "the extent of T is a float"),
        ({"inputs": {"limits": 4}}, "input 'limits', did you mean \"limit\""),
        ({"inputs": {"limit": 2.5}}, "input limit"),
        ({"dims": {"T": 5}, "inputs": {"x": X}}, "input x"),
        ({"dims": 5}, "dims is an int"),
        ({"with_report": 1}, "with_report"),
    ],
)
def test_inconsistent_extents_are_an_input_error(options, words):
    with pytest.raises(treadle.InputError, match=words):
        treadle.specialize(source(), **options)


def test_extents_that_contradict_the_model_are_an_input_error():
    text = "g (float[T] x, float[4] y) => (float[4] z) { z = Add (x, y) }"
    with pytest.raises(treadle.InputError, match="does not fit T=3"):
        treadle.specialize(source(text), dims={"T": 3})


def test_a_list_cannot_be_a_constant():
    text = "g (seq(float[2]) x, int64 k) => (float[2] z) { z = SequenceAt (x, k) }"
    with pytest.raises(treadle.InputError, match="only a tensor"):
        treadle.specialize(source(text), inputs={"x": [W]})

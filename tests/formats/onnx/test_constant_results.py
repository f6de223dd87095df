"""Results of a body that never change are written as nodes of the body.

onnxslim drops an initializer of a body that is also its result.
"""

import onnx
from onnx.parser import parse_model

import treadle

LOOP = """<ir_version: 8, opset_import: ["": 17]>
g (float[2] s, int64 n, bool c) => (float[2] a, float[K,1] z) {
  a, z = Loop (n, c, s) <body = b (int64 i, bool go, float[2] v)
      => (bool next, float[2] w, float[1] k) {
    next = Identity (go)
    w = Add (v, s)
    k = Constant <value = float[1] {2.5}> ()
  }>
}"""


def test_an_optimized_loop_has_no_initializer_as_a_result(tmp_path):
    treadle.save(treadle.optimize(parse_model(LOOP)), tmp_path / "m.onnx")
    (node,) = onnx.load(tmp_path / "m.onnx").graph.node
    (body,) = [each.g for each in node.attribute if each.name == "body"]
    made = {name for step in body.node for name in step.output}
    assert not body.initializer
    assert {each.name for each in body.output} <= made

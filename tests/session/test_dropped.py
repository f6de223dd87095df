"""A session that is dropped is freed at once, without Python's cycle collector."""

import gc

import numpy as np
import pytest

import treadle

STRAIGHT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[3] x) => (float[3] y) { t = Relu (x)  y = Tanh (t) }"""
LOOP = """<ir_version: 10, opset_import: ["" : 21]>
g (float[3] x, int64 n) => (float[3] y) {
  y = Loop (n, , x) <body = b (int64 i, bool c, float[3] h) => (bool d, float[3] g) {
    d = Identity (c)
    g = Tanh (h)
  }>
}"""


@pytest.mark.parametrize(
    ("source", "engines"),
    [(STRAIGHT, None), (STRAIGHT, ("interp",)), (LOOP, ("interp",)), (LOOP, ("onnxruntime",))],
)
def test_a_dropped_session_leaves_no_cycles(source, engines):
    feeds = {"x": np.ones(3, np.float32), "n": np.array(3)}
    feeds = feeds if source is LOOP else {"x": feeds["x"]}

    def use():
        treadle.InferenceSession(source, engines=engines).run(None, feeds)

    use()
    gc.collect()
    gc.disable()
    try:
        use()
        assert gc.collect() == 0
    finally:
        gc.enable()

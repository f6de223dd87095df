"""A session that is dropped is freed at once, without Python's cycle collector."""

import gc

import numpy as np
import pytest

import treadle
from treadle.jit.runtime import compilation

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


NATIVE = {
    "fixed": LOOP,
    "open, nested, by host calls": """<ir_version: 10, opset_import: ["" : 21]>
g (float[k] x, int64 n) => (float[k] y, float[q, k] s, int64[r] w) {
  y, s = Loop (n, , x) <body = b (int64 i, bool c, float[k] h) => (bool d, float[k] g, float[k] e) {
    d = Identity (c)
    t = Tanh (h)
    z = Cast <to = 9> (i)
    g = If (z) <then_branch = p () => (float[k] u) { u = Mul (t, t) },
                else_branch = o () => (float[k] v) { v = Add (t, h) }>
    a = Constant <value_int = 0> ()
    e = CumSum (g, a)
  }>
  o = Constant <value_ints = [1]> ()
  w = Loop (n, , o) <body = f (int64 j, bool c, int64[r] h) => (bool d, int64[m] g) {
    d = Identity (c)
    x2 = Constant <value_ints = [1, 0, 2]> ()
    v, p, q, l = Unique (x2)
    g = Concat <axis = 0> (h, v)
  }>
}""",
}


@pytest.mark.parametrize("source", NATIVE.values(), ids=NATIVE)
def test_ten_native_sessions_leave_no_objects(source, monkeypatch):
    monkeypatch.setattr(compilation, "_recent", {})
    monkeypatch.setattr(compilation, "_MAX_RECENT_KERNELS", 0)
    feeds = {"x": np.ones(3, np.float32), "n": np.array(3)}

    def use():
        session = treadle.InferenceSession(source, engines=("jit", "interp"))
        session.run(None, feeds)
        assert "compiled in" in str(session.explain())

    gc.disable()
    try:
        use()
        use()
        before = len(gc.get_objects())
        for _ in range(10):
            use()
        assert len(gc.get_objects()) < before + 10
    finally:
        gc.enable()

"""A session that is dropped is freed at once, without Python's cycle collector."""

import gc
import time
import weakref

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


PRODUCT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n, m] x, float[k, j] y) => (float[a, b] z) { z = MatMul (x, y) }"""
UNKNOWN = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
g (float[n, m] x, float[k, j] y) => (float[] z) {
  z = com.microsoft.MatMulNBits <K = 8, N = 8, bits = 4, block_size = 16> (x, y, y)
}"""
REFUSED = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
g (float[2] x) => (float[2] z) { z = com.microsoft.RotaryEmbedding (x, x, x, x) }"""
GATHERED = """<ir_version: 10, opset_import: ["" : 21]>
g (float[3] x, int64 n) => (float y, float[t] z) {
  o = Constant <value = float {0.0}> ()
  y, z = Loop (n, , o) <body = b (int64 i, bool c, float h) => (bool d, float g, float e) {
    d = Identity (c)
    e = Gather (x, i)
    g = Add (h, e)
  }>
}"""
ONES = np.ones((2, 3), np.float32)
FAILURES = {
    "a product that does not fit": (PRODUCT, {"x": ONES, "y": ONES}, {}),
    "an operator without a kernel": (UNKNOWN, {"x": ONES, "y": ONES}, {}),
    "an operator that no engine accepts": (REFUSED, {"x": ONES[0, :2]}, {}),
    "an index beyond the end": (GATHERED, {"x": ONES[0], "n": np.array(7)}, {}),
    "too many iterations": (LOOP, {"x": ONES[0], "n": np.array(7)}, {"max_iterations": 2}),
    "too many bytes": (GATHERED, {"x": ONES[0], "n": np.array(3)}, {"max_bytes": 1}),
    "too long": (LOOP, {"x": ONES[0], "n": np.array(10**9)}, {"max_seconds": 0.01}),
    "inputs of another type": (LOOP, {"x": ONES[0], "n": ONES}, {}),
    "an input left out": (LOOP, {"x": ONES[0]}, {}),
}


@pytest.mark.parametrize("engines", [None, ("interp",), ("jit", "interp"), ("onnxruntime",)])
@pytest.mark.parametrize(("source", "feed", "bounds"), FAILURES.values(), ids=FAILURES)
def test_a_failure_leaves_no_cycles(source, feed, bounds, engines):
    made = []

    def use():
        session = treadle.InferenceSession(source, engines=engines)
        made.append(weakref.ref(session))
        session.run(None, feed, treadle.RunOptions(**bounds))

    def fail():
        with pytest.raises(treadle.TreadleError):
            use()

    fail()
    gc.collect()
    gc.disable()
    try:
        fail()
        end = time.monotonic() + 10  # a run that was left ends soon
        while any(each() is not None for each in made) and time.monotonic() < end:
            time.sleep(0.02)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kept = [each for each in gc.garbage if type(each).__module__.startswith("treadle.")]
        assert not kept
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()

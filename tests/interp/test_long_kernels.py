"""A product of numpy's that takes long: the run returns at its bound, at `terminate`, at Ctrl-C."""

import _thread
import threading
import time

import numpy as np
import pytest

import treadle

N = 2500
TEXT = """<ir_version: 10, opset_import: ["": 21]>
g (float[n, n] x) => (float[n, n] y) { y = MatMul (x, x) }"""
OPTIONS = [None, treadle.RunOptions(), treadle.RunOptions(max_seconds=60)]


def prepared(*engines):
    session = treadle.InferenceSession(TEXT, engines=engines)
    session.run(None, {"x": np.eye(3, dtype=np.float32)})
    return session


@pytest.fixture(params=[("interp",), ("onnxruntime", "interp")], ids="-".join)
def session(request):
    options = treadle.SessionOptions(intra_op_num_threads=1)
    yield treadle.InferenceSession(TEXT, options, engines=request.param)
    for thread in threading.enumerate():
        if thread.name == "treadle bounded run":
            thread.join(60)


def test_max_seconds_holds_inside_a_product():
    session = prepared("interp")
    with pytest.raises(treadle.LimitExceeded, match=r"max_seconds=0\.005"):
        session.run(
            None, {"x": np.zeros((N, N), np.float32)}, treadle.RunOptions(max_seconds=0.005)
        )


def test_terminate_holds_inside_a_product():
    options = treadle.RunOptions()
    options.terminate = True
    with pytest.raises(treadle.Terminated):
        prepared("interp").run(None, {"x": np.zeros((N, N), np.float32)}, options)


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "options", "bounded"])
def test_ctrl_c_is_heard_inside_a_product(session, options):
    x = np.zeros((N, N), np.float32)
    timer = threading.Timer(0.02, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.run(None, {"x": x}, options)
    timer.join()


def test_the_answer_is_that_of_a_short_run():
    session, x = prepared("interp"), np.full((700, 700), 0.5, np.float32)
    (found,) = session.run(None, {"x": x}, treadle.RunOptions(max_seconds=60))
    assert np.array_equal(found, np.full((700, 700), 175, np.float32))


DEFORMED = """<ir_version: 10, opset_import: ["": 22]>
g (float[1,1,a,b] x, float[1,1,3,3] w, float[1,18,c,d] o) => (float[1,1,c,d] y) {
  y = DeformConv (x, w, o)
}"""
ALIGNED = """<ir_version: 10, opset_import: ["": 16]>
g (float[1,1,4,4] x, float[1,4] r, int64[1] k) => (float[1,1,30000,p] y) {
  y = RoiAlign<output_height = 30000, output_width = 30> (x, r, k)
}"""
SPLIT = """<ir_version: 10, opset_import: ["": 20]>
g (string[n] x) => (string[n,m] y, int64[n] z) { y, z = StringSplit (x) }"""
STEPS = """<ir_version: 10, opset_import: ["": 22]>
g (float[t,1,1] x, float[1,4,1] w, float[1,4,1] r) => (float[t,1,1,1] y) {
  y = LSTM<hidden_size = 1> (x, w, r)
}"""
ONE = np.ones((1, 4, 1), np.float32)
IN_PYTHON = {
    "offsets": (
        DEFORMED,
        {
            "x": np.ones((1, 1, 60, 60), np.float32),
            "w": np.ones((1, 1, 3, 3), np.float32),
            "o": np.zeros((1, 18, 58, 58), np.float32),
        },
    ),
    "roi": (
        ALIGNED,
        {
            "x": np.ones((1, 1, 4, 4), np.float32),
            "r": np.ones((1, 4), np.float32),
            "k": np.zeros(1, np.int64),
        },
    ),
    "text": (SPLIT, {"x": np.full(500_000, "some words", object)}),
    "steps": (STEPS, {"x": np.ones((100_000, 1, 1), np.float32), "w": ONE, "r": ONE}),
}


@pytest.mark.parametrize("name", IN_PYTHON)
def test_max_seconds_holds_inside_kernels_in_python(name):
    text, feeds = IN_PYTHON[name]
    session = treadle.InferenceSession(text, engines=["interp"])
    start = time.monotonic()
    with pytest.raises(treadle.LimitExceeded, match=r"max_seconds=0\.01"):
        session.run(None, feeds, treadle.RunOptions(max_seconds=0.01))
    assert time.monotonic() - start < 2

"""A product of numpy's that takes long: the run returns at its bound, at `terminate`, at Ctrl-C."""

import _thread
import threading

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

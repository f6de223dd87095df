"""Limits hold even when a kernel of onnxruntime cannot be stopped."""

import logging
import threading
import time

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import treadle
from treadle.delegate.timed_load import stopped_in_time
from treadle.limits import within

N = 1500
LONG = f"""<ir_version: 10, opset_import: ["": 21]>
g (float[{N}, {N}] x) => (float[{N}, {N}] y)
{{ a = MatMul (x, x) b = MatMul (a, x) c = MatMul (b, x) y = MatMul (c, x) }}"""


def bounded(seconds: float) -> treadle.RunOptions:
    return treadle.RunOptions(max_seconds=seconds)


def left_behind() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "treadle bounded run"]


def test_a_limit_ends_the_run_while_the_kernel_continues(caplog):
    options = treadle.SessionOptions(intra_op_num_threads=1)
    session = treadle.InferenceSession(LONG, options, engines=["onnxruntime", "interp"])
    x = np.zeros((N, N), np.float32)
    with caplog.at_level(logging.WARNING, "treadle"):
        for _ in range(2):
            started = time.monotonic()
            with pytest.raises(treadle.LimitExceeded, match=r"max_seconds=0\.02"):
                session.run(None, {"x": x}, bounded(0.02))
            assert time.monotonic() - started < 2
            assert len(left_behind()) <= 1
    for each in left_behind():
        each.join(60)


def test_a_run_within_its_limit_returns_its_outputs():
    text = LONG.replace(str(N), "8")
    session = treadle.InferenceSession(text, engines=["onnxruntime", "interp"])
    x = np.eye(8, dtype=np.float32)
    assert np.array_equal(session.run(None, {"x": x}, bounded(60))[0], x)
    assert left_behind() == []


def test_large_products_of_constants_are_not_folded_as_a_session_is_made():
    made = helper.make_tensor("v", TensorProto.FLOAT, [1], [1.0])
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["a"], value=made),
        helper.make_node("MatMul", ["a", "a"], ["b"]),
        helper.make_node("ReduceSum", ["b"], ["d"], keepdims=0),
        helper.make_node("Add", ["x", "d"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in "xy")
    shape = numpy_helper.from_array(np.int64([5000, 5000]), "s")
    graph = helper.make_graph(nodes, "g", [x], [y], [shape])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    started = time.process_time()
    treadle.InferenceSession(model)
    assert time.process_time() - started < 5  # 10 s where it is folded


def test_terminate_ends_the_run_while_the_kernel_continues():
    options = treadle.SessionOptions(intra_op_num_threads=1)
    size = 2100  # 17 MB: a run that is likely to be long
    text = LONG.replace(str(N), str(size))
    session = treadle.InferenceSession(text, options, engines=["onnxruntime", "interp"])
    run_options = treadle.RunOptions()
    threading.Timer(0.05, setattr, (run_options, "terminate", True)).start()
    started = time.monotonic()
    with pytest.raises(treadle.Terminated):
        session.run(None, {"x": np.zeros((size, size), np.float32)}, run_options)
    assert time.monotonic() - started < 2
    for each in left_behind():
        each.join(60)


def test_a_session_that_was_slow_is_watched_from_a_thread(monkeypatch):
    monkeypatch.setattr("treadle.delegate.runnable._SLOW", -1)
    session = treadle.InferenceSession(LONG.replace(str(N), "8"), engines=["onnxruntime"])
    x = np.eye(8, dtype=np.float32)
    begun = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda t: (begun.append(t.name), start(t))[1])
    for _ in range(2):
        assert np.array_equal(session.run(None, {"x": x}, treadle.RunOptions())[0], x)
    assert begun.count("treadle bounded run") == 1


def test_a_load_is_cancelled_in_time():
    class Options:
        cancelled = False

        def set_load_cancellation_flag(self, value):
            self.cancelled = value

    options = Options()
    with (
        pytest.raises(treadle.LoadLimitExceeded, match="seconds"),
        within(treadle.LoadLimits(seconds=0.02)),
        stopped_in_time(options),
    ):
        time.sleep(0.2)
    assert options.cancelled
    with stopped_in_time(object()):
        pass

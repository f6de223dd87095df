"""Bounds that hold where a kernel of onnxruntime cannot be stopped."""

import logging
import threading
import time

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import treadle

N = 1500
LONG = f"""<ir_version: 10, opset_import: ["": 21]>
g (float[{N}, {N}] x) => (float[{N}, {N}] y)
{{ a = MatMul (x, x) b = MatMul (a, x) c = MatMul (b, x) y = MatMul (c, x) }}"""


def bounded(seconds: float) -> treadle.RunOptions:
    return treadle.RunOptions(max_seconds=seconds)


def left_behind() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "treadle bounded run"]


def test_a_run_returns_though_its_kernel_goes_on(caplog):
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


def test_a_run_in_time_answers_what_it_did():
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

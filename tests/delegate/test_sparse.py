"""Sparse inputs: fed as an OrtValue, and run by onnxruntime."""

import numpy as np
import onnx.helper as h
import pytest

import treadle
from treadle.errors import InputError

MODEL = h.make_model(
    h.make_graph(
        [
            h.make_node("SparseToDenseMatMul", ["a", "b"], ["c"], domain="com.microsoft"),
            h.make_node("Relu", ["c"], ["y"]),
        ],
        "g",
        [
            h.make_sparse_tensor_value_info("a", 1, [2, 3]),
            h.make_tensor_value_info("b", 1, [3, 2]),
        ],
        [h.make_tensor_value_info("y", 1, [2, 2])],
    ),
    opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)],
    ir_version=8,
)
B = np.float32([[1, 2], [3, 4], [5, 6]])


def test_a_sparse_tensor_is_fed_as_an_ortvalue():
    onnxruntime = pytest.importorskip("onnxruntime")
    places, processor = np.int64([[0, 1], [1, 2]]), onnxruntime.OrtDevice.make("cpu", 0)
    sparse = onnxruntime.SparseTensor.sparse_coo_from_numpy(
        np.int64([2, 3]), np.float32([2, -1]), places.reshape(-1), processor
    )
    a = onnxruntime.OrtValue.ort_value_from_sparse_tensor(sparse)
    session = treadle.InferenceSession(MODEL)
    (y,) = session.run(None, {"a": a, "b": B})
    assert y.tolist() == [[6, 8], [0, 0]]
    assert not treadle.check(MODEL)


def test_a_dense_array_is_no_sparse_tensor():
    with pytest.raises(InputError, match="OrtValue of a sparse tensor"):
        treadle.InferenceSession(MODEL).run(None, {"a": np.ones((2, 3), np.float32), "b": B})

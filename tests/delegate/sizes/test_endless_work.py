"""Attributes that ask for endless work are refused: onnxruntime's kernels cannot be stopped."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import treadle


@pytest.mark.parametrize("engines", [None, ("interp",), ("onnxruntime",)])
@pytest.mark.parametrize("samples", [2**16 + 1, 2**32, 2**62])
def test_samples_of_a_roi_align(engines, samples):
    node = helper.make_node("RoiAlign", ["x", "rois", "of"], ["y"], sampling_ratio=samples)
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4]),
        helper.make_tensor_value_info("rois", TensorProto.FLOAT, [1, 4]),
        helper.make_tensor_value_info("of", TensorProto.INT64, [1]),
    ]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", inputs, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
    feeds = {
        "x": np.ones((1, 1, 4, 4), np.float32),
        "rois": np.array([[0, 0, 3, 3]], np.float32),
        "of": np.zeros(1, np.int64),
    }
    with pytest.raises(treadle.Unsupported, match="at most 8,192 is run"):
        treadle.InferenceSession(model.SerializeToString(), engines=engines).run(None, feeds)


@pytest.mark.parametrize("engines", [None, ("interp",), ("onnxruntime",)])
@pytest.mark.parametrize("stride", [2**26 + 1, 2**31 - 1, 2**62])
def test_strides_of_a_transposed_convolution(engines, stride):
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[stride, 1])
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 2, 2]) for name in "xw"]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", inputs, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    with pytest.raises(treadle.TreadleError, match="in its strides, at most 67,108,864 is run"):
        treadle.InferenceSession(model.SerializeToString(), engines=engines)

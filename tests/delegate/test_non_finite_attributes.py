"""LRN with attributes that are not finite: onnxruntime gives nan for what the formula defines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import TensorProto, helper

import treadle


@pytest.mark.parametrize("name", ["alpha", "bias"])
def test_an_infinite_factor_gives_zeros(name: str) -> None:
    """x / inf is 0."""
    node = helper.make_node("LRN", ["x"], ["y"], size=3, **{name: math.inf})
    shape = [1, 4, 2, 2]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    feeds = {"x": np.arange(1, 17, dtype=np.float32).reshape(shape)}
    for engines in (None, ("interp",)):
        session = treadle.InferenceSession(model.SerializeToString(), engines=engines)
        assert np.array_equal(session.run(None, feeds)[0], np.zeros(shape)), engines

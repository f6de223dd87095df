"""Sparse tensors whose indices are no positions are findings, as initializers and as attributes."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import treadle

INDICES = {
    "floats": np.array([1.0], np.float32),
    "outside": np.array([9]),
    "negative": np.array([-1]),
    "too many": np.array([0, 1]),
}


def model(indices, *, is_attribute):
    values = numpy_helper.from_array(np.array([2.0], np.float32), "w")
    sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(indices), [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    nodes = [helper.make_node("Neg", ["w"], ["y"])]
    if is_attribute:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=sparse))
    graph = helper.make_graph(nodes, "g", [], [y])
    if not is_attribute:
        graph.sparse_initializer.append(sparse)
    imports = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


@pytest.mark.parametrize("is_attribute", [False, True])
@pytest.mark.parametrize("name", INDICES)
def test_indices_that_are_no_positions(name, is_attribute):
    found = treadle.check(model(INDICES[name], is_attribute=is_attribute))
    assert "CF002" in {each.code for each in found}


@pytest.mark.parametrize("is_attribute", [False, True])
def test_sparse_indices_within_the_shape_load(is_attribute):
    session = treadle.InferenceSession(model(np.array([3]), is_attribute=is_attribute))
    assert session.run(None, {})[0].tolist() == [0, 0, 0, -2]

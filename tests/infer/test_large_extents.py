"""Extents that a few nodes multiply by themselves: they become unknown instead of endless."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import treadle

GROWTH = {
    "terms": ("Concat", "s"),
    "symbols": ("Identity", "s"),
    "digits": ("Identity", 3),
}


def squares(count, op, extent):
    """Each round makes every element a row of all of them, and that one axis again."""
    last, nodes = "x", []
    for k in range(count):
        operands = [last, f"i{k}"] if op == "Concat" else [last]
        attributes = {"axis": 0} if op == "Concat" else {}
        nodes += [
            helper.make_node(op, operands, [f"u{k}"], **attributes),
            helper.make_node("Unsqueeze", [f"u{k}", "one"], [f"w{k}"]),
            helper.make_node("Mul", [f"u{k}", f"w{k}"], [f"p{k}"]),
            helper.make_node("Reshape", [f"p{k}", "all"], [f"v{k}"]),
        ]
        last = f"v{k}"
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [extent])]
    inputs += [
        helper.make_tensor_value_info(f"i{k}", TensorProto.FLOAT, [f"s{k}"]) for k in range(count)
    ]
    outputs = [helper.make_tensor_value_info(last, TensorProto.FLOAT, [None])]
    constants = [
        numpy_helper.from_array(np.array([value]), name)
        for name, value in (("one", 1), ("all", -1))
    ]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("growth", GROWTH.values(), ids=GROWTH)
def test_extents_without_end_are_unknown(growth):
    inferred = treadle.infer(squares(60, *growth), limits=treadle.LoadLimits(seconds=30))
    assert inferred.main.results[0].inferred.shape == (None,)


def test_small_squares_are_known():
    inferred = treadle.infer(squares(2, "Identity", "s"))
    assert str(inferred.main.results[0].inferred.shape[0]) == "s*s*s*s"

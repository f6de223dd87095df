"""What onnxruntime would compute from constants as it makes a session, and when it is not to."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import treadle
from treadle.delegate.folded import is_much_to_fold
from treadle.infer import infer
from treadle.plan import Region


def region(nodes: list[onnx.NodeProto], **constants: np.ndarray) -> Region:
    """A region of all nodes; the last one makes "y"."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    imports = [helper.make_opsetid("", 21)]
    main = infer(treadle.load(helper.make_model(graph, opset_imports=imports, ir_version=10))).main
    return Region("main", "onnxruntime", "", main.steps, main.params, (), constants=main.constants)


def doubling(times: int, start: np.ndarray) -> Region:
    steps = [
        helper.make_node("Concat", [f"a{k}", f"a{k}"], [f"a{k + 1}"], axis=0) for k in range(times)
    ]
    return region([*steps, helper.make_node("Identity", [f"a{times}"], ["y"])], a0=start)


@pytest.mark.parametrize("small", [np.float32([1, 2]), np.array(["a", "b"], object)])
def test_results_of_more_than_a_gib_from_small_constants_are_not_folded(small):
    assert not is_much_to_fold(doubling(12, small))
    assert is_much_to_fold(doubling(28, small))


def test_results_of_an_input_are_not_folded():
    expand = [helper.make_node("Expand", ["x", "shape"], ["y"])]
    assert not is_much_to_fold(region(expand, shape=np.array([2**30, 1])))
    zeros = [helper.make_node("ConstantOfShape", ["shape"], ["y"])]
    assert is_much_to_fold(region(zeros, shape=np.array([2**29])))


def test_another_form_of_large_weights_is_folded():
    weights = np.zeros((2**14, 2**12), np.float16)
    cast = [helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)]
    assert not is_much_to_fold(region(cast, w=weights))
    square = [helper.make_node("MatMul", ["w", "w"], ["y"])]
    assert is_much_to_fold(region(square, w=np.zeros((2**12 + 9, 2**12 + 9), np.float32)))


def test_a_session_over_constants_that_double_is_made():
    text = " ".join(f"a{k + 1} = Concat <axis = 0> (a{k}, a{k})" for k in range(60))
    session = treadle.InferenceSession(
        f"""<ir_version: 10, opset_import: ["" : 21]> g () => (float[n] y)
        <float[2] a0 = {{1, 2}}> {{ {text} y = Identity (a60) }}"""
    )
    assert "Concat 31" in str(session.explain())
    with pytest.raises(treadle.TreadleError, match=r"memory|max_bytes"):
        session.run(None, {}, treadle.RunOptions(max_bytes=2**26))

import numpy as np
import pytest
from onnx import helper

from tests.ops.node_suite import differences, run_function
from tests.ops.peer import node_of, ours
from tests.seeded import seeded
from treadle import ops
from treadle.ir import Leaf, Value, attribute, tensor

X = seeded("X").normal(size=(2, 4, 3)).astype(np.float32)
SCALES = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.mark.parametrize(
    ("op", "version", "operands", "attributes"),
    [
        ("Celu", 12, [X], {"alpha": 2.0}),
        ("Clip", 13, [X, np.float32(0)[...], np.float32(1)[...]], {}),
        ("Elu", 22, [X], {}),
        ("Gelu", 20, [X], {"approximate": "tanh"}),
        ("GroupNormalization", 21, [X, SCALES[0], SCALES[1]], {"num_groups": 2}),
        ("HardSwish", 22, [X], {}),
        ("LayerNormalization", 17, [X, X[0, 0], X[0, 1]], {}),
        ("LogSoftmax", 13, [X], {"axis": 1}),
        ("Mish", 22, [X], {}),
        ("PRelu", 16, [X, X[0, 0]], {}),
        ("ReduceLogSumExp", 18, [X, np.array([1])], {}),
        ("Relu", 14, [X], {}),
        ("RMSNormalization", 23, [X, X[0, 0]], {}),
        ("Selu", 22, [X], {}),
        ("Shrink", 9, [X], {"bias": 0.1}),
        ("Softmax", 13, [X], {}),
        ("SwiGLU", 28, [X, X], {"alpha": 0.5}),
    ],
)
def test_function_bodies_equal_kernels(op, version, operands, attributes):
    node = node_of(op, operands, 1, attributes)
    types = [ops.type_of(each) for each in operands]
    body = ops.function_proto_of_node(node, version, types)
    assert body is not None
    assert {o.domain for o in body.opset_import} >= {""}
    (found,) = run_function(body, node, operands)
    assert not differences(found, ours(op, version, operands, **attributes)[0], 1e-4, 1e-6)


def test_operators_that_are_no_functions_have_no_body():
    x = Value("x")
    assert ops.function_proto(Leaf("", "Add", 14, (x, x), (x,)), [None, None]) is None
    assert ops.function_proto(Leaf("", "NoSuch", 1, (x,), (x,)), [None]) is None
    assert ops.function_proto(Leaf("", "Relu", 13, (x,), (x,)), [tensor("float32")]) is None


def test_a_leaf_has_the_body_of_its_version():
    x, y = Value("x"), Value("y")
    alpha = {"alpha": attribute("alpha", 2.0)}
    body = ops.function_proto(Leaf("", "Celu", 12, (x,), (y,), alpha), [tensor("float32", 3)])
    assert [node.op_type for node in body.node] == ["Constant", "Div", "Elu", "Mul"]


def test_a_body_that_depends_on_a_graph_is_a_loop():
    inner = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["b"])],
        "body",
        [helper.make_tensor_value_info("a", 1, [2])],
        [helper.make_tensor_value_info("b", 1, [2])],
    )
    node = helper.make_node("SequenceMap", ["s"], ["t"], body=inner)
    body = ops.function_proto_of_node(node, 17, [ops.type_of([np.zeros(2, np.float32)])])
    assert "Loop" in {each.op_type for each in body.node}

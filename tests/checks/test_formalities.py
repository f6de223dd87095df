"""Formal rules for declarations and tensors: a check reports them, a session does not stop."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import treadle

TEXT = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Add(x, w) }'
W = helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])


def made(*initializers, ir_version=10, **fields):
    model = onnx.parser.parse_model(TEXT)
    model.ir_version = ir_version
    model.graph.initializer.extend(initializers)
    for name, values in fields.items():
        getattr(model.graph, name).extend(values)
    return model


def codes(model):
    return [finding.code for finding in treadle.check(model)]


def sparse(indices, dims=(4,)):
    count = len(indices)
    values = helper.make_tensor("s", TensorProto.FLOAT, [count], range(1, count + 1))
    shape = np.shape(indices)
    where = helper.make_tensor("", TensorProto.INT64, shape, np.ravel(indices))
    return helper.make_sparse_tensor(values, where, dims)


def test_nothing_is_said_of_a_model_in_order():
    assert codes(made(W)) == []
    assert codes(made(W, ir_version=4)) == []


def test_an_initializer_without_a_name():
    (finding,) = treadle.check(made(W, helper.make_tensor("", TensorProto.FLOAT, [1], [0])))
    assert (finding.code, finding.path) == ("CF109", "main")


@pytest.mark.parametrize("ir_version", [1, 3])
def test_initializers_that_are_no_inputs(ir_version):
    (finding,) = treadle.check(made(W, ir_version=ir_version))
    assert finding.code == "CF108"
    assert "w" in finding.message
    listed = made(W, ir_version=ir_version)
    listed.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    assert codes(listed) == []


def test_two_data_fields():
    twice = onnx.TensorProto()
    twice.CopyFrom(W)
    twice.raw_data = np.zeros(2, np.float32).tobytes()
    (finding,) = treadle.check(made(twice))
    assert finding.code == "CF004"
    assert "raw_data and in float_data" in finding.message


def test_two_data_fields_of_a_constant_in_a_body():
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (bool c, float[1] x) => (float[1] y) {'
        " y = If (c) <then_branch = t () => (float[1] p)"
        " { p = Constant <value = float[1] {1}> () },"
        " else_branch = e () => (float[1] q) { q = Abs (x) }> }"
    )
    branch = next(a for a in model.graph.node[0].attribute if a.name == "then_branch").g
    tensor = branch.node[0].attribute[0].t
    tensor.float_data[:] = [1]
    tensor.raw_data = np.ones(1, np.float32).tobytes()
    found = {finding.code: finding.path for finding in treadle.check(model)}
    assert found["CF004"] == "main/if_0.then_branch/constant_0"


@pytest.mark.parametrize(
    ("indices", "dims", "is_right"),
    [
        ([0, 3], (4,), True),
        ([3, 0], (4,), False),
        ([1, 1], (4,), False),
        ([[0, 1], [1, 0]], (2, 2), True),
        ([[1, 0], [0, 1]], (2, 2), False),
        ([[0, 1], [0, 1]], (2, 2), False),
        ([2], (4,), True),
    ],
)
def test_sparse_indices(indices, dims, is_right):
    model = made(W, sparse_initializer=[sparse(indices, dims)])
    assert ("CF005" in codes(model)) is not is_right


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        ("(x) => (float[N] y)", ["CF307"]),
        ("(float[] x) => (float[N] y)", ["CF308"]),
        ("(float[N] x) => (float[] y)", ["CF308"]),
        ("(float[N] x) => (y)", ["CF308"]),
        ("(float x) => (float y)", []),
        ("(float[N] x) => (float[N] y)", []),
    ],
)
def test_declarations_of_main_inputs_and_outputs(ports, wanted):
    text = f'<ir_version: 10, opset_import: ["" : 21]> g {ports} {{ y = Neg(x) }}'
    assert codes(text) == wanted
    x = np.ones((), np.float32) if "float x" in ports else np.ones(2, np.float32)
    assert (treadle.InferenceSession(text).run(None, {"x": x})[0] == -1).all()


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_the_softmax_of_a_scalar(op):
    head = '<ir_version: 10, opset_import: ["" : 21]> g '
    assert "CF310" in codes(f"{head}(float x) => (float y) {{ y = {op}(x) }}")
    assert codes(f"{head}(float[1] x) => (float[1] y) {{ y = {op}(x) }}") == []


@pytest.mark.parametrize(
    ("keepdims", "axis", "bias", "is_right"),
    [(0, 2, 3, False), (1, 2, 3, True), (0, 1, 4, True), (0, 2, 1, True)],
)
def test_a_vector_after_a_reduction_for_openvino(keepdims, axis, bias, is_right):
    values = ", ".join("1.0" for _ in range(bias))
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
    g (float[2,3,4] x) => (y) {{ a = Constant <value_ints = [{axis}]> ()
        k = Constant <value_floats = [{values}]> ()
        s = ReduceMax <keepdims = {keepdims}> (x, a) r = Relu (s) y = Mul (k, r) }}"""
    found = [finding.code for finding in treadle.check(text, portable="openvino")]
    assert ("CF861" in found) is not is_right

"""treadle.operator: a single operator, called with arrays."""

import io

import numpy as np
import onnx
import pytest
from onnx import helper

import treadle
from treadle.errors import InputError, InvalidModel, Unsupported
from treadle.ir import Symbol, tensor

BODY = (
    "b (int64 i, bool c, float s) => (bool co, float so, float y)"
    " { co = Identity(c) so = Add(s, k) y = Identity(so) }"
)


def running_sum():
    body = onnx.parser.parse_graph(BODY)
    return helper.make_node("Loop", ["M", "", "s0"], ["s", "ys"], body=body)


def test_operators_are_called_by_name():
    softmax = treadle.operator("Softmax", opset=13, axis=0)
    x = np.array([[0, 1], [0, 3]], np.float32)

    np.testing.assert_allclose(softmax(x), np.exp(x) / np.exp(x).sum(0), rtol=1e-6)
    np.testing.assert_allclose(
        softmax(x, axis=1), np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-6
    )
    assert softmax.version == 13
    assert softmax.attributes == {"axis": 0}
    assert softmax.inputs == ("input",)
    assert softmax.outputs == ("output",)
    assert "normalized exponential" in softmax.doc


def test_defaults_and_optional_operands():
    gemm = treadle.operator("Gemm", opset=13)

    assert gemm.attributes == {}
    assert gemm.attributes_with_defaults == {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0}
    assert gemm.mandatory == ("A", "B")
    assert gemm.optional == ("C",)
    a = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(gemm(a, a), a @ a)
    np.testing.assert_array_equal(gemm(a, a, C=a, alpha=2.0), 2 * a @ a + a)


def test_python_values_take_the_dtype_the_schema_or_a_neighbour_says():
    x = np.array([1, 2], np.float32)

    assert treadle.operator("Add", opset=14)(x, 3).dtype == np.float32
    assert treadle.operator("Reshape", opset=21)(x, [2, 1]).shape == (2, 1)
    assert treadle.operator("Clip", opset=13)(x, max=1).tolist() == [1, 1]
    with pytest.raises(InputError, match=r'input "B": 3\.5 does not fit int64'):
        treadle.operator("Add", opset=14)(np.array([1]), 3.5)


def test_sequences_and_any_number_of_values():
    insert = treadle.operator("SequenceInsert", opset=21)
    concat = treadle.operator("Concat", opset=13, axis=0)

    assert [item.tolist() for item in insert([np.float32(1)], np.float32(3))] == [1, 3]
    assert concat(np.ones(2), np.zeros(1), np.ones(1)).tolist() == [1, 1, 0, 1]


def test_a_node_with_a_body_reads_outer_values_too():
    loop = treadle.operator(running_sum(), opset=21)

    total, partial = loop(3, np.float32(1), np.float32(2))

    assert loop.inputs == ("M", "s0", "k")
    assert loop.mandatory == ("s0", "k")
    assert total == 7
    assert partial.tolist() == [3, 5, 7]


def test_verbose_tells_every_iteration():
    loop = treadle.operator(running_sum(), opset=21)
    lines, stream = [], io.StringIO()

    loop(2, np.float32(1), np.float32(2), log=lines.append)
    loop(2, np.float32(1), np.float32(2), verbose=stream)

    assert stream.getvalue().splitlines() == lines
    assert "  iteration 1" in lines
    assert "    so: float32[] 5   add_1" in lines
    assert lines[-1] == "ys: float32[2] [3, 5]   loop_0"


def test_a_function_and_its_attributes():
    function = onnx.parser.parse_function(
        '<opset_import: ["" : 18], domain: "local"> scaled <alpha: float = 2.0>(x) => (y)'
        " { a = Constant <value_float: float = @alpha>() y = Mul(x, a) }"
    )
    scaled = treadle.operator(function)

    assert scaled.attributes_with_defaults == {"alpha": 2.0}
    assert scaled(np.float32(3)) == 6
    assert scaled(np.float32(3), alpha=5.0) == 15


def test_types_from_types_alone():
    matmul = treadle.operator("MatMul", opset=13)

    types = matmul.infer_types(tensor("float32", 2, Symbol("K")), tensor("float32", Symbol("K"), 5))

    assert types == {"Y": tensor("float32", 2, 5)}


def test_old_versions():
    softmax = treadle.operator("Softmax", opset=11)  # flattens to two axes first
    x = np.zeros((2, 3, 4), np.float32)

    assert softmax.version == 11
    np.testing.assert_allclose(softmax(x), np.full_like(x, 1 / 12), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: treadle.operator("Softmacs", opset=13), Unsupported, "did you mean Softmax"),
        (lambda: treadle.operator("Concat", opset=13)(np.ones(1)), InvalidModel, "attribute axis"),
        (lambda: treadle.operator("Add", opset=13)(np.ones(1)), InputError, "wants the inputs B"),
        (
            lambda: treadle.operator("Neg", opset=13)(*[np.ones(1)] * 2),
            InputError,
            "takes 1 inputs",
        ),
        (lambda: treadle.operator(3), TypeError, "an int is not an operator"),
    ],
)
def test_invalid_calls_are_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()

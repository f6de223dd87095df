"""An operand of a wrong rank is an error that names the operand and the expected rank."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import treadle
from treadle.errors import KernelError

HEAD = '<ir_version: 10, opset_import: ["" : 20]>\n'
CASES = {
    "Conv (a, c)": "operand 0 has rank 1, wanted 2 or more",
    "Conv (c, a)": "operand 1 has rank 1, wanted 3, as operand 0 has",
    "GridSample (a, a)": "operand 0 has rank 1, wanted 3 or more",
    "LRN <size = 3> (a)": "operand 0 has rank 1, wanted 2 or more",
    "MaxPool <kernel_shape = [2]> (a)": "operand 0 has rank 1, wanted 3 or more",
    "DepthToSpace <blocksize = 2> (c)": "operand 0 has rank 3, wanted 4",
    "LSTM <hidden_size = 2> (c, a, c)": "operand 1 has rank 1, wanted 3",
    "RoiAlign (d, a, i)": "operand 1 has rank 1, wanted 2",
    "Gemm (c, c)": "operand 0 has rank 3, wanted 2",
    "Concat <axis = 0> (s, s)": "operand 0 has rank 0, wanted 1 or more",
    "MatMul (a, s)": "operand 1 has rank 0, wanted 1 or more",
    "Softmax <axis = 3> (a)": "axis 3 is out of range for a tensor of rank 1",
    "Transpose <perm = [1, 0]> (a)": "the permutation does not name each axis once",
}
SHAPES = {"s": (), "a": (3,), "c": (3, 3, 3), "d": (2, 2, 2, 2), "i": (3,)}


@pytest.mark.parametrize("call", CASES)
def test_the_message_names_the_operand_and_the_rank(call):
    names = sorted(set(call.split("(")[1].strip(")").replace(" ", "").split(",")))
    ports = ", ".join(("int64[] " if name == "i" else "float[] ") + name for name in names)
    session = treadle.InferenceSession(f"{HEAD}g ({ports}) => (float[] y) {{ y = {call} }}")
    feeds = {n: np.ones(SHAPES[n], np.int64 if n == "i" else np.float32) for n in names}
    with pytest.raises(KernelError) as raised:
        session.run(None, feeds)
    assert CASES[call] in str(raised.value)
    operator = call.split()[0]
    assert f"main/{operator.lower()}_0: {operator}-" in str(raised.value)


KERNEL = "Conv <kernel_shape = [{}]> (x, w)"


@pytest.mark.parametrize(
    ("call", "weight", "said"),
    [
        (KERNEL.format("3, 2"), "1, 1, 3, 3", "its kernel_shape is [3, 2], operand 1 has [3, 3]"),
        (KERNEL.format("3, 2"), "C, 1, 3, N", ""),
        (KERNEL.format("3, 2"), "1, 1, 3, 2", ""),
        ("Conv (x, w)", "1, 1, 3, 2", ""),
    ],
)
def test_check_finds_an_attribute_that_contradicts_the_weights(call, weight, said):
    ports = f"(float[1, 1, 5, 5] x, float[{weight}] w) => (float[A, B, C, D] y)"
    findings = treadle.check(f"{HEAD}g {ports} {{ y = {call} }}")
    found = [each.message for each in findings if each.code == "CF305"]
    assert [said in each for each in found] == [True] * bool(said)


def test_an_attribute_without_a_name_is_no_extent():
    node = helper.make_node("ArgMax", ["x"], ["y"])
    node.attribute.append(helper.make_attribute("", 3))
    ports = [helper.make_empty_tensor_value_info(name) for name in "xy"]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    found = {each.code for each in treadle.check(helper.make_model(graph))}
    assert "CF211" in found


def test_axes_named_twice_are_found_where_they_are_constants():
    head = f"{HEAD}g (float[4, 5] x) => (float[A, B] y)"
    numbers = "<int64[2] a = {{1, {}}}, int64[2] s = {{0, 0}}, int64[2] e = {{2, 2}}>"
    body = " { y = Slice (x, s, e, a) }"
    for axis, codes in ((-1, ["CF305"]), (0, [])):
        assert [each.code for each in treadle.check(head + numbers.format(axis) + body)] == codes

"""onnx's type rules read some attributes unchecked: such leaves are not asked about."""

import time

import pytest
from onnx import AttributeProto, TensorProto, ValueInfoProto, helper

import treadle

FATAL = [
    ("GatherND", {"batch_dims": -(2**31)}, "batch_dims is -2147483648"),
    ("GatherND", {"batch_dims": 2}, "batch_dims is 2"),
    ("LayerNormalization", {"axis": 2**31 - 1}, "axis is 2147483647"),
    ("Einsum", {"equation": "ab,ab/"}, 'equation "ab,ab/"'),
    ("Einsum", {"equation": "ab,ab-"}, 'equation "ab,ab-"'),
    ("Einsum", {"equation": "..ab,ab"}, 'equation "..ab,ab"'),
]
SECOND = {"GatherND": TensorProto.INT64}


def model(op, **attributes):
    node = helper.make_node(op, ["x", "y"], ["z"], **attributes)
    first = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])
    kind = SECOND.get(op, TensorProto.FLOAT)
    shape = [2] if op == "LayerNormalization" else [2, 2]
    second = helper.make_tensor_value_info("y", kind, shape)
    result = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [first, second], [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(("op", "attributes", "words"), FATAL)
def test_a_leaf_whose_type_rule_ends_or_hangs_the_process_is_refused(op, attributes, words):
    (finding,) = [f for f in treadle.check(model(op, **attributes)) if f.severity == "error"]
    assert finding.code == "CF305"
    assert words in finding.message
    with pytest.raises(treadle.InvalidModel, match="CF305"):
        treadle.InferenceSession(model(op, **attributes).SerializeToString())


@pytest.mark.parametrize("axis", [2**31, 2**63 - 1])
def test_an_axis_beyond_32_bits_is_refused_before_its_type_rule(axis):
    (finding,) = [
        each
        for each in treadle.check(model("LayerNormalization", axis=axis))
        if each.severity == "error"
    ]
    assert finding.code == "CF214"
    assert f"axis of LayerNormalization-17 is {axis}" in finding.message


@pytest.mark.parametrize(
    "equation",
    ["ab,ab", "ab, ab -> a b", "...a,...a->...", "a...,...", "", "Ab,bC->AC", ". . .a,...a"],
)
def test_an_equation_of_terms_of_letters_is_asked_about(equation):
    found = treadle.check(model("Einsum", equation=equation))
    assert not [each for each in found if "no list of terms" in each.message]


@pytest.mark.parametrize("count", [1, 2, 2**31 - 1])
def test_a_split_into_fewer_parts_than_outputs_or_endless_ones_is_refused(count):
    node = helper.make_node("Split", ["x"], ["a", "b", "c"], num_outputs=count)
    first = helper.make_tensor_value_info("x", TensorProto.FLOAT, [6])
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "abc"]
    graph = helper.make_graph([node], "g", [first], results)
    split = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (finding,) = [each for each in treadle.check(split) if each.severity == "error"]
    assert f"its num_outputs is {count}, it has 3 outputs" in finding.message


def test_a_long_equation_is_read_in_time_proportional_to_its_length():
    began = time.process_time()
    found = treadle.check(model("Einsum", equation="a" * 100_000 + "1"))
    assert any("no list of terms" in each.message for each in found)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("starts", "columns", "refused"),
    [([0, 4], range(7), False), ([0, 4], [3], True), ([0, 4], [], True), ([], [3], False)],
)
def test_fewer_columns_than_n_grams_are_refused(starts, columns, refused):
    node = helper.make_node(
        "TfIdfVectorizer", ["x"], ["z"], max_gram_length=2, max_skip_count=0, min_gram_length=2,
        mode="TF", pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
    )  # fmt: skip
    for name, values in (("ngram_counts", starts), ("ngram_indexes", columns)):
        given = AttributeProto(name=name, type=AttributeProto.INTS, ints=values)
        node.attribute.append(given)
    first = helper.make_tensor_value_info("x", TensorProto.INT32, [12])
    result = helper.make_tensor_value_info("z", TensorProto.FLOAT, [7])
    graph = helper.make_graph([node], "g", [first], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=8)
    assert any(each.code == "CF305" for each in treadle.check(model)) is refused


def test_an_operand_without_a_type():
    node = helper.make_node("TreeEnsemble", ["x"], ["z"], domain="ai.onnx.ml", n_targets=1)
    untyped = ValueInfoProto(name="x")
    result = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [untyped], [result])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5)]
    found = treadle.check(helper.make_model(graph, opset_imports=imports, ir_version=10))
    assert "CF307" in {each.code for each in found}


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize("strides", [[-(2**31)], [-1], [0]])
def test_a_stride_below_one_is_refused_before_memory_is_asked_for(op, strides):
    node = helper.make_node(op, ["x"], ["z"], kernel_shape=[2], strides=strides)
    first = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32])
    result = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [first], [result])
    pool = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (finding,) = [each for each in treadle.check(pool) if each.severity == "error"]
    assert "positive" in finding.message

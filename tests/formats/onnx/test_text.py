"""The text form can be read back, with quoted names and sparse tensors."""

import numpy as np
import onnx
import onnx.helper as h
import onnx.printer
import pytest

import treadle
from treadle.formats.onnx import to_text
from treadle.formats.onnx.text import parse_text, print_text

FLOATS = onnx.TensorProto.FLOAT
OUTPUT = [h.make_tensor_value_info("y", FLOATS, None)]
INPUTS = [h.make_tensor_value_info("x", FLOATS, [2, 3])]
SPARSE = h.make_sparse_tensor(
    h.make_tensor("values", FLOATS, [2], [1.5, -2]),
    h.make_tensor("indices", onnx.TensorProto.INT64, [2], [0, 4]),
    [2, 3],
)
X = np.float32([[1, -2, 3], [4, 5, -6]])


def model(nodes, inputs=INPUTS, **parts):
    graph = h.make_graph(nodes, "the graph", inputs, OUTPUT, **parts)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


def branch(op, name):
    return h.make_graph([h.make_node(op, ["x"], [f"{op}.1"])], name, [],
                        [h.make_tensor_value_info(f"{op}.1", FLOATS, None)])  # fmt: skip


def branches():
    condition = h.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])
    node = h.make_node("If", ["c"], ["y"], then_branch=branch("Neg", 'a-b "q" \\ (then)'),
                       else_branch=branch("Abs", "a/b"))  # fmt: skip
    return model([node], [condition, *INPUTS])


def constants():
    return model(
        [
            h.make_node(
                "Constant", [], ["w.0"], value=h.make_tensor("w.0", FLOATS, [3], [1, 2, 3])
            ),
            h.make_node("Add", ["x", "w.0"], ["y"]),
        ]
    )


def sparse_constant():
    return model(
        [
            h.make_node("Constant", [], ["w"], sparse_value=SPARSE),
            h.make_node("Add", ["x", "w"], ["y"]),
        ]
    )


def sparse_initializer():
    return model([h.make_node("Add", ["x", "values"], ["y"])], sparse_initializer=[SPARSE])


@pytest.mark.parametrize("make", [branches, constants, sparse_constant, sparse_initializer])
def test_text_round_trips(make, tmp_path):
    feeds = {"x": X} | ({"c": np.array(True)} if make is branches else {})
    wanted = treadle.InferenceSession(make()).run(None, feeds)
    treadle.save(make(), tmp_path / "m.onnxtxt")
    found = treadle.InferenceSession(tmp_path / "m.onnxtxt").run(None, feeds)
    np.testing.assert_array_equal(found, wanted)


def test_names_come_back_as_they_were():
    loaded = treadle.load(to_text(treadle.load(branches())))
    step = loaded.main.steps[0]
    assert (step.then.name, step.otherwise.name) == ('a-b "q" \\ (then)', "a/b")
    assert loaded.main.name == "the graph"


ODD_FUNCTIONS = {
    "a bar": ("loc", "aten_add|folded"),
    "numbers in the domain": ("pkg.torch.2.1.0", "add"),
    "a blank and a quote": ("my domain", 'my "fn": 1'),
    "dots": ("loc", "torch.nn.Linear"),
    "colons": ("loc", "aten::relu"),
    "a digit first": ("loc", "1fn"),
}


@pytest.mark.parametrize(("domain", "name"), ODD_FUNCTIONS.values(), ids=ODD_FUNCTIONS)
@pytest.mark.parametrize("overload", ["", "second"])
def test_odd_names_of_functions_come_back_as_they_were(domain, name, overload):
    imports = [h.make_opsetid("", 17), h.make_opsetid(domain, 1)]
    body = [h.make_node("Neg", ["x"], ["y"])]
    function = h.make_function(domain, name, ["x"], ["y"], body, imports, ["alpha"])
    function.overload = overload
    call = h.make_node(name, ["x"], ["z"], domain=domain, alpha=2, overload=overload)
    branch = h.make_graph([call], "b", [], [h.make_tensor_value_info("z", FLOATS, None)])
    flag = h.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])
    choose = h.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    graph = h.make_graph([choose], "g", [*INPUTS, flag], OUTPUT)
    proto = h.make_model(graph, opset_imports=imports, functions=[function], ir_version=10)
    read = parse_text(print_text(proto))
    (found,) = read.functions
    assert (found.domain, found.name, found.overload) == (domain, name, overload)
    for attribute in read.graph.node[0].attribute:
        (inner,) = attribute.g.node
        assert (inner.domain, inner.op_type, inner.overload) == (domain, name, overload)
    assert onnx.printer.to_text(read) == onnx.printer.to_text(proto)


def test_a_text_that_looks_like_a_quoted_name_is_left_alone():
    text = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[2,3] x) => (float[2,3] y) {
            # "a" (b) {
            w = Constant<value = string[1] "w.0" {"a (b) {"}>()
            y = Relu(x) }"""
    (constant, _) = treadle.load(text).main.steps
    literal = constant.attributes["value"].value
    assert (literal.name, literal.array.tolist()) == ("w.0", ["a (b) {"])


def test_the_message_of_an_invalid_text_names_the_fault():
    text = to_text(treadle.load(constants())).replace("Add (", "Add <axis> (")
    with pytest.raises(treadle.LoadError, match="line 7"):
        treadle.load(text)

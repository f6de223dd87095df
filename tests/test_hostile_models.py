"""Hostile models: a public function returns or raises TreadleError."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import treadle
from treadle.errors import DataError, InvalidModel, LoadError, TreadleError, Unsupported

HEAD = '<ir_version: 10, opset_import: ["" : 21, "l" : 1]>\n'
LOOP = """g (int64 n, float[2] x) => (y, z) {
  y, z = Loop (n, , x) <body = b (int64 i, bool go, float[2] a) => (on, next, row) {
    on = Identity (go)
    next = Neg (a)
    row = Abs (a)
  }>
}"""
NODES = {
    "no operand": "y = Cast (), z = Identity (y)",
    "wrong kind of attribute": 'y = Transpose <perm = "a"> (x)',
    "two results": "y, z = Slice (x, c, c)",
    "axis out of range": "s = Abs (c) y, w = Split <axis = 7> (x)",
}
RECURSION = """g (float[2] x) => (y) { y = l.f (x) }
<domain: "l", opset_import: ["" : 21, "l" : 1]> f (a) => (b) { b = l.h (a) }
<domain: "l", opset_import: ["" : 21, "l" : 1]> h (a) => (b) { b = l.f (a) }
"""


def of_nodes(nodes: str) -> str:
    return f"{HEAD}g (float[2,3] x, int64[1] c) => (y) {{ {nodes} }}"


def of_tensor(dims: list[int], **fields: object) -> onnx.ModelProto:
    """A model that adds a tensor of these fields to its input."""
    tensor = TensorProto(name="w", dims=dims, **({"data_type": TensorProto.FLOAT} | fields))
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [onnx.ValueInfoProto(name="y")],
        [tensor],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def of_declared(shape: list[int], *nodes: onnx.NodeProto) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [onnx.ValueInfoProto(name="y")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def without_body_output(position: int) -> onnx.ModelProto:
    model = onnx.parser.parse_model(HEAD + LOOP)
    model.graph.node[0].attribute[0].g.output[position].name = ""
    return model


def with_bytes() -> onnx.ModelProto:
    node = helper.make_node("Cast", ["x"], ["y"], to=1, round_mode=b"\xff\xbf")
    return of_declared([2], node)


MODELS: dict[str, object] = {
    **{name: of_nodes(nodes) for name, nodes in NODES.items()},
    "functions that call each other": HEAD + RECURSION,
    "carried value left out": without_body_output(1),
    "stacked value left out": without_body_output(2),
    "a string that is no text": with_bytes(),
    "no element of 2**62": of_tensor([0, 2**62]),
    "more than memory has addresses": of_tensor([2**62, 2**62]),
    "200 axes": of_tensor([1] * 200, float_data=[1.0]),
    "half a complex number": of_tensor([1], data_type=TensorProto.COMPLEX64, float_data=[1.0]),
    "declared with 200 axes": of_declared([1] * 200, helper.make_node("Neg", ["x"], ["y"])),
    "extents over 2**63": of_declared(
        [2**62, 2**62, 4],
        helper.make_node("Flatten", ["x"], ["f"], axis=3),
        helper.make_node("Concat", ["x", "x", "x"], ["c"], axis=0),
        helper.make_node("Flatten", ["c"], ["y"], axis=0),
    ),
}


def calls(source: object, folder: Path) -> Iterator[Callable[[], object]]:
    """Every public function on the model, as it is given and as it was read."""
    for model in (source, treadle.load(source)) if is_read(source) else (source,):
        yield lambda model=model: treadle.load(model)
        yield lambda model=model: treadle.check(model, portable=("onnxruntime", "openvino"))
        yield lambda model=model: treadle.infer(model)
        yield lambda model=model: treadle.optimize(model)
        yield lambda model=model: treadle.repair(model, portable=("onnxruntime",))
        for name in ("m.onnx", "m.onnxtxt", "m.xml"):
            yield lambda model=model, path=folder / name: treadle.save(model, path)
        for engines in (None, ("interp",), ("jit", "interp")):
            yield lambda model=model, e=engines: run(model, e)


def is_read(source: object) -> bool:
    try:
        treadle.load(source)
    except LoadError:
        return False
    return True


def run(model: object, engines: tuple[str, ...] | None) -> None:
    session = treadle.InferenceSession(model, engines=engines)
    feed = {each.name: np.zeros([2] * min(len(each.shape), 9)) for each in session.get_inputs()}
    session.run(None, feed)


@pytest.mark.parametrize("source", MODELS.values(), ids=MODELS)
def test_hostile_models_raise_treadle_errors(source, tmp_path):
    for call in calls(source, tmp_path):
        try:
            call()
        except TreadleError:
            continue


@pytest.mark.parametrize("name", ["no operand", "carried value left out"])
@pytest.mark.parametrize("read", [lambda source: source, treadle.load])
def test_models_that_cannot_run_are_not_optimized_or_written_as_ir(name, read, tmp_path):
    with pytest.raises(InvalidModel, match="cannot be optimized"):
        treadle.optimize(read(MODELS[name]))
    with pytest.raises(InvalidModel, match="cannot be written as OpenVINO IR"):
        treadle.save(read(MODELS[name]), tmp_path / "m.xml")


@pytest.mark.parametrize("read", [lambda source: source, treadle.load])
def test_functions_that_call_each_other_are_found_in_a_model_too(read):
    source = read(MODELS["functions that call each other"])
    assert [f.path for f in treadle.check(source) if f.code == "CF704"] == ["l::f", "l::h"]
    with pytest.raises(InvalidModel, match="calls itself"):
        treadle.InferenceSession(source)


def test_a_text_cannot_hold_bytes(tmp_path):
    with pytest.raises(Unsupported, match=r"no UTF-8 text; write it as \.onnx"):
        treadle.save(with_bytes(), tmp_path / "m.onnxtxt")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no element of 2**62", "more than memory has addresses"),
        ("200 axes", "200 axes, at most 64"),
        ("half a complex number", "no imaginary part"),
    ],
)
def test_a_tensor_no_array_can_hold(name, told):
    with pytest.raises(DataError, match=told):
        treadle.load(MODELS[name])


@pytest.mark.parametrize("number", [-1, 99])
def test_an_element_type_that_does_not_exist(number):
    model = of_declared([2], helper.make_node("Neg", ["x"], ["y"]))
    model.graph.input[0].type.tensor_type.elem_type = number
    (found,) = treadle.check(model)
    assert found.code == "CF001"
    assert found.message == (
        f'the declaration of "x": element type {number} is unknown to this build (1 to 28)'
    )


@pytest.mark.parametrize("location", ["a\0b", "x" * 5000, "loop"])
def test_a_location_that_is_no_path(location, tmp_path):
    os.symlink("loop", tmp_path / "loop")
    model = of_tensor([2], data_location=TensorProto.EXTERNAL)
    model.graph.initializer[0].external_data.add(key="location", value=location)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(DataError, match=r"not a path|missing"):
        treadle.load(tmp_path / "m.onnx")

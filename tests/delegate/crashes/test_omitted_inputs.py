"""Inputs left out, by an empty name or by the caller of a function: onnxruntime ends the process.

A mistake here ends the test process, which is a failure as well.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.defs import OpSchema

import treadle
from tests.ops.node_suite import control_flow, node_cases
from tests.values import differences
from treadle import InvalidModel, TreadleError

OPTIONAL = OpSchema.FormalParameterOption.Optional
RANDOM = ("Dropout",)


def left_out() -> Iterator[tuple[str, onnx.ModelProto, int, dict[str, object]]]:
    """A case for each optional input of each operator: its model and the input's position."""
    seen = set()
    for case in node_cases():
        if control_flow(case.model) or len(case.model.graph.node) != 1 or not case.data_sets:
            continue
        node = case.model.graph.node[0]
        versions = {entry.domain: entry.version for entry in case.model.opset_import}
        schema = onnx.defs.get_schema(node.op_type, versions[node.domain], node.domain)
        for position, formal in enumerate(schema.inputs):
            key = (node.op_type, position)
            if formal.option == OPTIONAL and key not in seen and node.op_type not in RANDOM:
                seen.add(key)
                data = zip(case.model.graph.input, case.data_sets[0][0], strict=False)
                feeds = {value.name: array(item) for value, item in data}
                yield f"{node.op_type}-{position}", case.model, position, feeds


def array(item: object) -> object:
    return numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def called(model: onnx.ModelProto, position: int, *, by_caller: bool) -> onnx.ModelProto:
    """The node in a function, without the input: the caller's choice, or an empty name in it."""
    outer = copy.deepcopy(model)
    (inner,) = model.graph.node
    names = [*inner.input, *[""] * (position + 1 - len(inner.input))]
    names[position] = "gone" if by_caller else ""
    node = copy.deepcopy(inner)
    del node.input[:]
    node.input.extend(names)
    formal = [name for name in names if name]
    imports = [*model.opset_import, helper.make_opsetid("local", 1)]
    made = helper.make_function(
        "local", "F", formal, [name for name in inner.output if name], [node], model.opset_import
    )
    call = helper.make_node(
        "F", [name if name != "gone" else "" for name in formal], made.output, domain="local"
    )
    del outer.graph.node[:], outer.opset_import[:]
    outer.graph.node.append(call)
    outer.opset_import.extend(imports)
    outer.functions.append(made)
    outer.ir_version = 10
    read = set(call.input)
    kept = [value for value in outer.graph.input if value.name in read]
    del outer.graph.input[:]
    outer.graph.input.extend(kept)
    return outer


def answer(model: onnx.ModelProto, feeds: dict[str, object], **options: object) -> object:
    given = {value.name: feeds[value.name] for value in model.graph.input}
    try:
        return treadle.InferenceSession(model.SerializeToString(), **options).run(None, given)
    except TreadleError:
        return None


def test_every_optional_input_left_out():
    compared = 0
    for number, (name, model, position, feeds) in enumerate(left_out()):
        changed = called(model, position, by_caller=number % 2 == 0)
        wanted = answer(changed, feeds, engines=["interp"])
        found = answer(changed, feeds)
        if wanted is not None and found is not None:
            compared += 1
            assert differences(found, wanted, name) == []
    assert compared > 25


LOOPED = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[2] x, int64 n) => (float[2] y) { y = local.f(x, n) }
<domain: "local", opset_import: ["" : 21]>
f (x, n, least) => (y) {
  y = Loop (n, , x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] e) {
    d = Identity(c)
    f = Clip(a, least)
    e = Add(f, x)
  }>
}"""


@pytest.mark.parametrize("engines", [None, ["onnxruntime"], ["interp"], ["jit", "interp"]])
def test_an_input_left_out_and_captured_by_a_loop(engines):
    options = {} if engines is None else {"engines": engines}
    found = answer(
        onnx.parser.parse_model(LOOPED),
        {"x": np.array([-1, 1], np.float32), "n": np.array(2)},
        **options,
    )
    assert found[0].tolist() == [-3, 3]


NORMALIZED = helper.make_node("LayerNormalization", ["x", "s", ""], ["y"])
TRANSFORMED = helper.make_node("DFT", ["x", "", ""], ["y"])


@pytest.mark.parametrize(
    ("node", "shapes"), [(NORMALIZED, {"x": (2, 3), "s": (3,)}), (TRANSFORMED, {"x": (1, 8, 1)})]
)
def test_an_empty_name_at_the_end(node, shapes, rng):
    inputs = [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    codes = {found.code for found in treadle.check(model, portable=["onnxruntime"])}
    assert "CF811" in codes
    feeds = {name: rng.random(shape).astype(np.float32) for name, shape in shapes.items()}
    wanted = answer(model, feeds, engines=["interp"])
    assert wanted is not None
    assert differences(answer(model, feeds), wanted) == []


CALLED = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float[2] x, bool c) => (float[2] y) { y = local.f(x, c) }
<domain: "local", opset_import: ["" : 21]>
f (x, c, other) => (y) {
BODY
}"""
GUARDED = """
  y = If (c) <
    then_branch = t () => (u) { u = OPERATOR(x, other) },
    else_branch = e () => (v) { v = Identity(x) }
  >"""


@pytest.mark.parametrize("operator", ["Max", "Min", "Mean", "Sum", "Add", "Concat<axis = 0>"])
def test_an_input_that_the_operator_needs(operator):
    name, angle, rest = operator.partition("<")
    always = CALLED.replace("BODY", f"  y = {name} {angle}{rest} (x, other)")
    with pytest.raises(InvalidModel, match=r"CF207.*call at main/f_0 leaves out the second input"):
        treadle.InferenceSession(always)
    body = GUARDED.replace("OPERATOR", f"{name} {angle}{rest} ")
    session = treadle.InferenceSession(CALLED.replace("BODY", body))
    x = np.ones(2, np.float32)
    assert session.run(None, {"x": x, "c": np.array(False)})[0].tolist() == [1, 1]
    with pytest.raises(TreadleError):
        session.run(None, {"x": x, "c": np.array(True)})

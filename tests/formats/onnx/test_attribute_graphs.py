"""Graphs in attributes of another type, and as defaults of a function's attributes."""

import numpy as np
import onnx
from onnx import AttributeProto, helper, parser

import treadle

CAST = """<ir_version: 10, opset_import: ["": 21]>
g (float[2] x) => (float[2] y) { y = Cast <to = 1> (x) }"""
CALL = """<ir_version: 10, opset_import: ["": 21, "local": 1]>
g (int64 n, float x) => (float y) { y = local.f (n, x) }
<domain: "local", opset_import: ["": 21]>
f (n, x) => (y) { y = Loop (n, "", x) <body = b (int64 i, bool c, float s) => (bool d, float t) {
  d = Identity (c)
  t = Add (s, x)
}> }"""


def test_a_graph_in_an_attribute_of_another_type_is_passed_over():
    model = parser.parse_model(CAST)
    model.graph.node[0].attribute[0].g.name = "graph"
    x = np.ones(2, np.float32)
    for engines in (("jit", "interp"), ("interp",)):
        session = treadle.InferenceSession(model.SerializeToString(), engines=engines)
        (y,) = session.run(None, {"x": x})
        np.testing.assert_array_equal(y, x)


def test_a_graph_in_place_of_a_number_is_a_finding():
    model = parser.parse_model(CAST)
    attribute = model.graph.node[0].attribute[0]
    attribute.CopyFrom(helper.make_attribute("to", helper.make_graph([], "graph", [], [])))
    (finding,) = [each for each in treadle.check(model) if each.code == "CF210"]
    assert finding.message == "to is a graph, wanted int"
    assert finding.blocks


def test_a_graph_as_the_default_of_a_function_s_attribute_is_a_finding():
    model = parser.parse_model(CALL)
    body = model.functions[0].node[0].attribute[0]
    default = AttributeProto(name="body", type=AttributeProto.GRAPH, g=body.g)
    model.functions[0].attribute_proto.append(default)
    body.CopyFrom(AttributeProto(name="body", type=AttributeProto.GRAPH, ref_attr_name="body"))
    found = [each.message for each in treadle.check(model) if each.code == "CF206"]
    assert 'the default of the attribute "body" is a graph' in found


def test_a_default_that_cannot_be_read_is_a_finding():
    model = parser.parse_model(CALL)
    default = onnx.AttributeProto(name="axis", i=1, f=2.0)
    model.functions[0].attribute_proto.append(default)
    assert "CF002" in {each.code for each in treadle.check(model)}

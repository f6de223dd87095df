"""Small model files that probes run with both APIs."""

from __future__ import annotations

from functools import cache

import onnx
import onnx.parser

TEXTS = {
    "mul": """<ir_version: 8, opset_import: ["" : 17]>
mul_1 (float[3, 2] X) => (float[3, 2] Y) <float[3, 2] W = {1, 2, 3, 4, 5, 6}> { Y = Mul (X, W) }
""",
    "open": """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 2] X, float[N, 2] Z) => (float[N, 2] Y, int64[2] S) {
  Y = Add (X, Z)
  S = Shape (X)
}
""",
    "loop": """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] h, int64 n) => (float[2] last, float[k, 2] all) {
  go = Constant <value = bool {1}> ()
  last, all = Loop <body = b (int64 i, bool c, float[2] a)
      => (bool d, float[2] e, float[2] f) {
    d = Identity (c)
    e = Add (a, a)
    f = Neg (a)
  }> (n, go, h)
}
""",
    "default": """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, float[2] w = {1, 1}) => (float[2] y) { y = Add (x, w) }
""",
    "list": """<ir_version: 8, opset_import: ["" : 17]>
g (seq(float[m]) x) => (int64 n, seq(float[m]) y) {
  n = SequenceLength (x)
  y = Identity (x)
}
""",
    "optional": """<ir_version: 8, opset_import: ["" : 17]>
g (optional(float[2]) x) => (bool y) { y = OptionalHasElement (x) }
""",
    "texts": """<ir_version: 8, opset_import: ["" : 17]>
g (string[2, 2] x) => (string[2, 2] y) { y = Identity (x) }
""",
    "bools": """<ir_version: 8, opset_import: ["" : 17]>
g (bool[2, 2] a, bool[2, 2] b) => (bool[2, 2] c) { c = And (a, b) }
""",
    "passed": """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y, float[2] x) { y = Add (x, x) }
""",
    "fails": """<ir_version: 8, opset_import: ["" : 17]>
g (float[n] x, float[m] z) => (float[k] y) { y = Add (x, z) }
""",
    "chance": """<ir_version: 8, opset_import: ["" : 17]>
g () => (float[3] y) { y = RandomNormal <shape = [3]> () }
""",
}


@cache
def model(name: str) -> bytes:
    """The file of a model."""
    proto = onnx.parser.parse_model(TEXTS[name])
    if name == "open":
        proto.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
        proto.model_version, proto.producer_name, proto.domain = 7, "me", "here"
        proto.doc_string, proto.graph.doc_string = "what it is", "what the graph is"
        onnx.helper.set_model_props(proto, {"key": "value"})
    return proto.SerializeToString()


@cache
def with_maps(name: str) -> bytes:
    """Models of ai.onnx.ml that give maps, or take one."""
    helper, proto = onnx.helper, onnx.TensorProto
    floats = helper.make_tensor_type_proto(proto.FLOAT, [])
    if name == "take":
        node = helper.make_node(
            "DictVectorizer", ["d"], ["y"], domain="ai.onnx.ml", int64_vocabulary=[0, 1, 2, 3]
        )
        given = helper.make_value_info("d", helper.make_map_type_proto(proto.INT64, floats))
        made = helper.make_tensor_value_info("y", proto.FLOAT, [1, 4])
    else:
        key = proto.INT64 if name == "numbers" else proto.STRING
        labels = (
            {"classlabels_int64s": [10, 20]}
            if name == "numbers"
            else {"classlabels_strings": ["a", "b"]}
        )
        node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", **labels)
        given = helper.make_tensor_value_info("x", proto.FLOAT, [None, 2])
        maps = helper.make_map_type_proto(key, floats)
        made = helper.make_value_info("y", helper.make_sequence_type_proto(maps))
    graph = helper.make_graph([node], "g", [given], [made])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, ir_version=8, opset_imports=imports).SerializeToString()


@cache
def external() -> bytes:
    """The model "mul" whose initializer W lies in a file w.bin that is nowhere."""
    proto = onnx.parser.parse_model(TEXTS["mul"])
    (tensor,) = proto.graph.initializer
    tensor.ClearField("raw_data")
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    tensor.external_data.add(key="length", value="24")
    return proto.SerializeToString()

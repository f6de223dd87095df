"""Sources that can be loaded, and the errors for those that cannot."""

import onnx
import onnx_ir
import onnxscript
import pytest
from onnxscript import FLOAT, opset18

import treadle
from treadle.errors import InputError, LoadError

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n] x) => (float[n] y) { y = Add(x, x) }
"""


@onnxscript.script()
def double(x: FLOAT["n"]) -> FLOAT["n"]:  # noqa: F821 - a symbol, as onnxscript writes it
    return opset18.Add(x, x)


def proto():
    return onnx.parser.parse_model(TEXT)


def test_every_kind_of_source(tmp_path):
    (tmp_path / "m.onnx").write_bytes(proto().SerializeToString())
    (tmp_path / "m.onnxtxt").write_text(TEXT)
    sources = [
        TEXT,
        proto(),
        proto().SerializeToString(),
        tmp_path / "m.onnx",
        str(tmp_path / "m.onnxtxt"),
    ]

    models = [treadle.load(source) for source in sources]

    assert [[step.op for step in model.main.steps] for model in models] == [["Add"]] * len(sources)


@pytest.mark.parametrize(
    "text", [" ".join(TEXT.split()), "g (float[2] x) => (float[2] y) { y = Neg(x) }"]
)
def test_a_text_model_visible(text):
    assert len(treadle.load(text).main.steps) == 1


def test_a_mistake_in_a_text_visible_is_not_a_missing_file():
    with pytest.raises(LoadError, match=r"this text: .*line 1, column"):
        treadle.load("<ir_version: 10> g (float x) => (float y) { y = }")


def test_models_of_other_libraries():
    model = treadle.load(onnx_ir.from_proto(proto()))

    assert model.main.name == "g"


def test_onnxscript_function():
    assert [step.op for step in treadle.load(double).main.steps] == ["Add"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("m.onnx", proto().SerializeToString()[:-9], "truncated"),
        ("m.onnx", b"", "holds no graph"),
        ("m.onnx", b"hello, world", "not an ONNX model"),
        ("m.onnxtxt", b"hello", r"line 1, column \d+: .*Expected character"),
        ("m.onnxtxt", TEXT.replace("(x, x)", "(x, ").encode(), "line 2"),
        ("m.onnxtxt", b"\xff\xfe\x00", "holds no text"),
        ("m.onnxtxt", TEXT.replace("Add", "{" * 5000).encode(), "nested 5002 deep"),
    ],
)
def test_invalid_sources_are_load_errors(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(LoadError, match=reason) as caught:
        treadle.load(tmp_path / name)

    assert name in str(caught.value)
    assert [found.code for found in treadle.check(tmp_path / name)] == ["CF001"]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(LoadError, match="no such file"):
        treadle.load(tmp_path / "none.onnx")


@pytest.mark.parametrize("source", [None, 3, 0.5, [], {}, ("m.onnx",)])
@pytest.mark.parametrize("verb", [treadle.load, treadle.check, treadle.optimize, treadle.infer])
def test_an_object_that_is_no_model(verb, source):
    with pytest.raises(InputError, match="is not a model; give a path, bytes, text") as caught:
        verb(source)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(LoadError, match="an object is not a model"):
        treadle.load(object())


@pytest.mark.parametrize("path", ["a\0b.onnx", "\ud800.onnx", "x" * 300 + ".onnx"])
def test_a_path_no_file_can_have(path):
    assert [found.code for found in treadle.check(path)] == ["CF001"]
    with pytest.raises(LoadError):
        treadle.load(path)


def test_a_proto_without_a_graph():
    assert [found.code for found in treadle.check(onnx.ModelProto())] == ["CF001"]


@pytest.mark.parametrize(
    "path",
    ["no/such/folder/m.onnx", "folder.onnx", "a\0b.onnx", "\ud800.onnx", "x" * 300 + ".onnx"],
)
def test_a_path_that_cannot_be_written(tmp_path, path):
    (tmp_path / "folder.onnx").mkdir()

    with pytest.raises(InputError):
        treadle.save(onnx.parser.parse_model(TEXT), tmp_path / path)


def test_a_graph_attribute_of_a_function():
    proto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21, "own" : 1]>\n'
        "g (bool c, float x) => (float y) { y = own.F (c, x) }\n"
        '<domain: "own", opset_import: ["" : 21]>\n'
        "F <other> (c, x) => (y) { y = If (c) <then_branch = t () => (float p) { p = Neg (x) },"
        " else_branch = e () => (float q) { q = Abs (x) }> }"
    )
    (choice,) = proto.functions[0].node
    (attribute,) = (a for a in choice.attribute if a.name == "else_branch")
    attribute.ClearField("g")
    attribute.ref_attr_name = "other"

    with pytest.raises(LoadError, match="refers to one that a caller of its function gives"):
        treadle.load(proto)


def test_protobufs_own_text_form(tmp_path):
    content = str(proto())
    (tmp_path / "m.textproto").write_text(content)

    for source in (content, tmp_path / "m.textproto"):
        assert [step.op for step in treadle.load(source).main.steps] == ["Add"]
    with pytest.raises(LoadError, match=r"protobuf's text form: 2:.*no field"):
        treadle.load("ir_version: 10\nno_such_field: 3\n")

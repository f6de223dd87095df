"""Files made to break a reader give findings and no exception."""

import resource
import subprocess
import sys

import onnx
import pytest

import treadle
from tools.mutated_models import fuzz

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def test_two_thousand_mutated_models() -> None:
    assert [f"{each.number}: {each.what}" for each in fuzz(range(2000))] == []


def nested_text(depth: int) -> str:
    opening = "y = If (c) <else_branch = e () => (z) { z = Abs (x) }, then_branch = t () => (y) { "
    body = f"{opening * depth}y = Relu (x){' }>' * depth}"
    return f"{HEADER}\ng (bool c, float x) => (float y) {{ {body} }}"


def nested_proto(depth: int, op: str) -> onnx.ModelProto:
    """A message that was never parsed: protobuf itself reads no file that deep."""
    model = onnx.ModelProto(ir_version=10)
    model.opset_import.add(domain="", version=21)
    graph = model.graph
    for name in ("c", "x"):
        graph.input.add(name=name)
    for level in range(depth):
        graph.name = "g"
        graph.output.add(name=f"y{level}")
        node = graph.node.add(op_type=op, output=[f"y{level}"])
        names = ("then_branch", "else_branch") if op == "If" else ("body",)
        node.input.extend(["c"] if op == "If" else ["", "c", "x"])
        if op == "Loop":
            del graph.output[:]
            graph.output.extend([onnx.ValueInfoProto(name=f"c{level}")] if level else [])
            graph.output.add(name=f"y{level}")
        for name in reversed(names):
            inner = node.attribute.add(name=name, type=onnx.AttributeProto.GRAPH).g
            inner.name = name
            if name == "else_branch":
                inner.node.add(op_type="Abs", input=["x"], output=["q"])
                inner.output.add(name="q")
        if op == "Loop":
            for name in ("i", f"c{level + 1}", f"a{level + 1}"):
                inner.input.add(name=f"{name}_{level}" if name == "i" else name)
        graph = inner
    graph.node.add(op_type="Relu", input=["x"], output=["last"])
    if op == "Loop":
        graph.output.add(name=f"c{depth}")
    graph.output.add(name="last")
    return model


@pytest.mark.parametrize("depth", [5, 20])
def test_a_nest_as_deep_as_files_may_be(depth: int) -> None:
    assert treadle.check(nested_text(depth)) == []


@pytest.mark.parametrize("depth", [40, 60, 150, 399, 400, 5000])
def test_a_deeper_nest_in_a_text_is_a_finding(depth: int) -> None:
    (finding,) = treadle.check(nested_text(depth))
    assert finding.code == "CF001"
    assert "nested" in finding.message


@pytest.mark.parametrize("op", ["If", "Loop"])
@pytest.mark.parametrize("depth", [30, 99])
def test_a_nest_in_memory(op: str, depth: int) -> None:
    codes = {finding.code for finding in treadle.check(nested_proto(depth, op))}
    assert codes <= {"CF307", "CF308", "CF414", "CF416", "CF415"}


@pytest.mark.parametrize("depth", [150, 1000, 5000])
def test_a_deeper_nest_in_memory_is_a_finding(depth: int) -> None:
    assert "CF001" in {finding.code for finding in treadle.check(nested_proto(depth, "If"))}
    with pytest.raises(treadle.TreadleError, match="nested more than 100 deep"):
        treadle.load(nested_proto(depth, "If"))


def test_models_nested_deeper_than_protobuf_writes_are_unsupported(tmp_path) -> None:
    model = treadle.load(nested_proto(60, "If"))
    with pytest.raises(treadle.TreadleError, match="nested deeper than protobuf writes"):
        treadle.save(model, tmp_path / "deep.onnx")


def test_names_that_are_not_text() -> None:
    proto = treadle.formats.onnx.write_model(
        treadle.load(f"{HEADER}\ng (float x) => (y) {{ naame = Relu (x) y = Abs (naame) }}")
    )
    (finding,) = treadle.check(proto.SerializeToString().replace(b"naame", b"na\xff\xfee"))
    assert finding.code == "CF001"
    assert "no UTF-8 text" in finding.message


@pytest.mark.parametrize("number", ["1e", "0e", "99999999999999999999999999"])
def test_numbers_the_parser_fails_on(number: str) -> None:
    (finding,) = treadle.check(
        f"{HEADER}\ng () => (y) {{ y = Constant <value_ints = [{number}]> () }}"
    )
    assert finding.code == "CF001"


@pytest.mark.parametrize("kind", [onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS])
def test_a_graph_attribute_without_a_graph(kind: int) -> None:
    model = nested_proto(1, "If")
    branch = model.graph.node[0].attribute[0]
    branch.Clear()
    branch.name, branch.type = "else_branch", kind
    assert {finding.code for finding in treadle.check(model)} == {"CF206", "CF307", "CF308"}


BOMB = """
import sys, treadle
text = '<ir_version: 10, opset_import: ["" : 21]> ' + sys.argv[1]
print([finding.code for finding in treadle.check(text + chr(10))])
"""


@pytest.mark.parametrize(
    "graph",
    [
        "g () => (y) { n = Constant <value_ints = [1000000000000, 1000000000000]> ()"
        " y = ConstantOfShape (n) }",
        "g () => (y) { n = Constant <value_ints = [100000, 100000]> () z = ConstantOfShape (n)"
        " m = Cast <to = 9> (z) y = If (m) <then_branch = t () => (a) { a = Abs (z) },"
        " else_branch = e () => (b) { b = Neg (z) }> }",
        "g () => (float[9223372036854775807] y) <float[9223372036854775807] w = {1}>"
        " { y = Abs (w) }",
    ],
)
def test_constants_beyond_memory_are_not_evaluated(graph: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    command = [sys.executable, "-c", BOMB, graph]
    done = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=limit, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]

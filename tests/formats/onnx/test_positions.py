"""Line and column of findings in text models."""

from pathlib import Path

import onnx.printer
import pytest

import treadle
from tests.conformance.data import EXPORTED, edges, exported
from treadle.formats.onnx.source import open_source
from treadle.formats.onnx.source_locations import scan, tokens_of
from treadle.ir import operator_of, walk

MODEL = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (int64 M, float[2] x, bool C = {1}) => (float[2] y)
  <float[2] w = {1, 2}>
{
  # a comment = with (brackets { in it
  [label] s0 = local.f (x)
  text = Constant <value_strings = ["a = b {", "c"]> ()
  s = Loop <body = b (int64 i, bool c, float[2] a) => (bool c2, e) {
      c2 = Identity (c)
      e = If (C) <then_branch : graph = t () => (p) { p = Add (a, nowhere) },
                  else_branch = f () => (q)
                  { q = Relu (a) }>
  }> (M, , s0)
  "quoted/name" = Relu (s)
  y = Add ("quoted/name", w)
}
<domain: "local", opset_import: ["" : 21]>
f (a) => (b)
{
  b = Relo (a)
}
"""


TEXTS = [n for n, e in edges().items() if isinstance(e.source, str) and e.expect != "error"]


def test_findings_of_a_text_have_line_and_column():
    findings = treadle.check(MODEL)
    assert [(f.code, f.path, f.line, f.column) for f in findings] == [
        ("CF101", "main/loop_2.body/if_1.then_branch/add_0", 10, 67),
        ("CF701", "local::f/relo_0", 20, 3),
    ]
    assert str(findings[0]).startswith(
        "CF101 error main/loop_2.body/if_1.then_branch/add_0, line 10: nothing defines"
    )


def test_findings_of_checks_have_them_too(tmp_path: Path):
    text = MODEL.replace("nowhere", "a").replace("Relo", "Relu").replace("M, , s0", "M, x, s0")
    path = tmp_path / "model.onnxtxt"
    path.write_text(text)
    for source in (text, path):
        (finding,) = treadle.check(source)
        assert (finding.code, finding.line, finding.column) == ("CF403", 8, 3)


def test_errors_of_the_parser_have_positions():
    (finding,) = treadle.check(MODEL.replace("Relo (a)", "Relo a)"))
    assert (finding.code, finding.line) == ("CF001", 20)


def test_a_binary_model_has_no_lines():
    (finding,) = treadle.check(open_source(MODEL.replace("Relo", "Relu")).proto)
    assert (finding.line, finding.column) == (None, None)


def paths_and_lines(text: str) -> None:
    model = treadle.load(text)
    places = scan(text, list(map(str, model.functions)))
    for path, step, _, _ in walk(model):
        token = places.find(path, ())
        assert path in places.spans, path
        span = places.tokens[slice(*places.spans[path])]
        assert operator_of(step) in {each.text.rpartition(".")[2] for each in span}
        assert token is span[0]
        name = next((value.name for value in step.results if value is not None), None)
        assert name is None or name in [each.text for each in span[: 3 + 2 * len(step.results) + 2]]


@pytest.mark.parametrize("name", EXPORTED)
def test_every_path_of_a_printed_model_is_found(name: str):
    path, _, _ = exported(name)
    text = onnx.printer.to_text(open_source(path).proto)
    paths_and_lines(text)


@pytest.mark.parametrize("name", TEXTS)
def test_every_path_of_an_edge_case_is_found(name: str):
    source = edges()[name].source
    assert isinstance(source, str)
    paths_and_lines(source)


def test_lines_and_columns_are_counted_from_1():
    tokens = tokens_of('a # b\n  "c d" =>\n\n e')
    assert [(token.text, token.line, token.column) for token in tokens] == [
        ("a", 1, 1),
        ("c d", 2, 3),
        ("=>", 2, 9),
        ("e", 4, 2),
    ]

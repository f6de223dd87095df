"""Representations in notebooks and the interactive Python: a line, bounded text, HTML."""

import numpy as np
import onnx.parser
import pytest

import treadle
from tests.html_report.models import SMOOTH, chain

FEEDS = {"x": np.float32([1, 2, 3]), "start": np.float32(0)}


def shown() -> dict[str, object]:
    session = treadle.InferenceSession(SMOOTH)
    recorder = treadle.Recorder(select="*")
    session.run(None, FEEDS, listener=recorder)
    other = SMOOTH.replace("Mul (n, half)", "Div (n, half)")
    return {
        "model": treadle.load(SMOOTH),
        "session": session,
        "finding": treadle.check(SMOOTH.replace("Concat <axis = 0>", "Concat"))[0],
        "recorder": recorder,
        "comparison": treadle.compare(other, SMOOTH, FEEDS),
        "profile": treadle.profile(SMOOTH, FEEDS, runs=1),
    }


OBJECTS = shown()


@pytest.mark.parametrize("kind", OBJECTS)
def test_html_is_short_and_has_no_script(kind: str) -> None:
    text = OBJECTS[kind]._repr_html_()
    assert len(text.encode()) < 100_000
    assert "<script" not in text
    assert text.count("<details") == text.count("</details>")


@pytest.mark.parametrize("kind", OBJECTS)
def test_repr_is_a_line(kind: str) -> None:
    assert "\n" not in repr(OBJECTS[kind])
    assert len(repr(OBJECTS[kind])) < 200


def test_a_large_model_is_shown_in_part() -> None:
    model = treadle.load(chain(5000))
    assert len(str(model).splitlines()) == 200
    assert str(model).endswith("more lines")
    assert "5,000 nodes" in repr(model)
    assert len(model._repr_html_().encode()) < 100_000
    session = treadle.InferenceSession(chain(300))
    assert len(session._repr_html_().encode()) < 100_000


def test_names_cannot_write_html() -> None:
    named = SMOOTH.replace("smooth (", '"<b>" (')
    try:
        model = treadle.load(named)
    except treadle.LoadError:
        pytest.skip("the text form has no such names")
    assert "<b>" not in model._repr_html_()


def test_tensors_over_16_elements_are_elided() -> None:
    text = SMOOTH.replace("[1.0, 2.0]", f"[{', '.join(['1.0'] * 17)}]")
    assert "value_floats=[1.0, 2.0]" in str(treadle.load(SMOOTH))
    assert "<value_floats=[17 values]>" in str(treadle.load(text))


def test_findings_are_a_table() -> None:
    text = treadle.check(SMOOTH.replace("Concat <axis = 0>", "Concat"))._repr_html_()
    assert text.startswith("<table>")
    assert "CF209" in text


def test_a_name_with_a_line_break_is_no_line_of_the_repr() -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float x) => (float y) { y = Neg (x) }'
    )
    proto.graph.name = proto.graph.node[0].output[0] = proto.graph.output[0].name = "a\nb\x1b[31m"
    assert repr(treadle.load(proto)).isprintable()

"""A line break in a name of a model does not feign a line of what is said about the model."""

from __future__ import annotations

import io

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

import treadle
from treadle.cli.main import main
from treadle.errors import TreadleError
from treadle.messages import visible
from treadle.tracing import IterationStarted, LoopStarted

FORGED = "\nFORGED"
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X, N, SHAPE = (name + FORGED for name in ("x", "n", "shape"))


def port(name, element, *shape):
    return helper.make_tensor_value_info(name, element, shape)


def node(op, operands, results, **attributes):
    return helper.make_node(op, operands, results, name=f"{op}{FORGED}", **attributes)


FAULTS = {
    "none": [],
    "undefined": [node("Relu", ["nothing" + FORGED], ["w"])],
    "operator": [node("Relu" + FORGED, [X], ["w"])],
    "attribute": [node("Relu", [X], ["w"], **{"gain" + FORGED: 1.0})],
    "twice": [node("Relu", [X], ["z" + FORGED])],
    "domain": [helper.make_node("Relu", [X], ["w"], domain="own" + FORGED)],
}


def model_of(fault):
    state, summed = "s" + FORGED, "t" + FORGED
    body = helper.make_graph(
        [node("Add", [state, X], [summed]), node("Identity", ["c"], ["d"])],
        "body" + FORGED,
        [port("i", INT64), port("c", BOOL), port(state, FLOAT, "dim" + FORGED)],
        [port("d", BOOL), port(summed, FLOAT, "dim" + FORGED)],
    )
    steps = [
        node("Loop", [N, "", X], ["y" + FORGED], body=body),
        node("Reshape", ["y" + FORGED, SHAPE], ["z" + FORGED]),
        *FAULTS[fault],
    ]
    inputs = [port(N, INT64), port(X, FLOAT, "dim" + FORGED), port(SHAPE, INT64, 1)]
    graph = helper.make_graph(steps, "g" + FORGED, inputs, [port("z" + FORGED, FLOAT, None)])
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own" + FORGED, 1)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=9, producer_name="p" + FORGED
    ).SerializeToString()


def expect_no_forged_line(text):
    assert "FORGED" in text
    assert not [line for line in text.split("\n") if line.strip().startswith("FORGED")]


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "none"])
def test_findings_and_errors(fault):
    model = model_of(fault)
    for found in treadle.check(model):
        assert "\n" not in str(found)
    if any(found.blocks for found in treadle.check(model)):
        with pytest.raises(TreadleError) as raised:
            treadle.InferenceSession(model)
        expect_no_forged_line(str(raised.value))


def test_the_printed_model():
    expect_no_forged_line(str(treadle.load(model_of("none"))))


FEEDS = {X: np.ones(2, np.float32), N: np.array(3), SHAPE: np.array([2])}


@pytest.mark.parametrize(
    ("outputs", "feeds"),
    [
        (None, {}),
        (None, {**FEEDS, "q" + FORGED: np.ones(1)}),
        (None, {**FEEDS, X: np.ones((2, 2), np.float32)}),
        (["w" + FORGED], FEEDS),
    ],
)
def test_errors_of_arguments(outputs, feeds):
    session = treadle.InferenceSession(model_of("none"))
    with pytest.raises(TreadleError) as raised:
        session.run(outputs, feeds)
    expect_no_forged_line(str(raised.value))


@pytest.mark.parametrize("engines", [None, ("jit", "interp")])
def test_the_explained_plan(engines):
    session = treadle.InferenceSession(model_of("none"), engines=engines)
    session.run(None, FEEDS)
    lines = str(session.explain()).split("\n")
    assert not [line for line in lines if line.startswith("FORGED")]


@pytest.mark.parametrize("verb", ["check", "inspect", "infer", "explain", "trace --random"])
@pytest.mark.parametrize("fault", ["none", "undefined", "operator"])
def test_the_command_line(verb, fault, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of(fault))
    name, *more = verb.split()
    said = CliRunner().invoke(main, [name, str(path), *more]).output
    assert not [line for line in said.split("\n") if line.strip().startswith("FORGED")]


def test_progress(monkeypatch):
    stream, path = io.StringIO(), f"own::f{FORGED}/loop_0"
    monkeypatch.setattr("treadle.tracing.progress._EVERY", 0)
    progress = treadle.Progress(stream)
    progress(LoopStarted(path, (), 8))
    progress(IterationStarted(path, (1,)))
    assert "\\nFORGED" in stream.getvalue()
    expect_no_forged_line(stream.getvalue())


def test_printable_text_is_unchanged():
    for text in ("", "a/b:0", "größe", "x_1"):
        assert visible(text) is text
    assert visible("a\nb\tc\x1b[2Jd\u202e") == "a\\nb\\tc\\x1b[2Jd\\u202e"

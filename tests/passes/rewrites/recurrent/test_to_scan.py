"""recurrent-to-scan: every option of RNN, GRU and LSTM has interp's bits."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle
from tests.ops.node_suite import node_cases
from tests.passes.rewrites.models import every_operator, model
from tests.passes.rewrites.recurrent.operators import ACTIVATIONS, operator
from tests.passes.simplify.models import run_by_onnxruntime, saved

OPERATORS = ("RNN", "GRU", "LSTM")
NODE_CASES = {
    case.name: case
    for case in node_cases()
    if {node.op_type for node in case.model.graph.node} & {*OPERATORS}
}


def interp(source, feeds):
    return treadle.InferenceSession(source, engines=("interp",)).run(None, dict(feeds))


def becomes_scans(before, feeds, *, in_onnxruntime: bool = True):
    """The model after the rewrite, which must give the same as before."""
    after = treadle.rewrite(before, "recurrent-to-scan")
    assert not {*every_operator(after)} & {*OPERATORS}
    wanted = interp(before, feeds)
    for found, each in zip(interp(after, feeds), wanted, strict=True):
        assert found.dtype == each.dtype
        np.testing.assert_array_equal(found, each)
    data = saved(after)
    onnx.checker.check_model(data, full_check=True)
    if in_onnxruntime:
        for found, each in zip(run_by_onnxruntime(data, feeds), wanted, strict=True):
            np.testing.assert_allclose(found, each, rtol=1e-4, atol=1e-5)
    return after


@pytest.mark.parametrize("name", sorted(NODE_CASES))
def test_node_cases(name: str) -> None:
    case = NODE_CASES[name]
    before = treadle.load(case.model.SerializeToString())
    feeds = zip((value.name for value in before.main.params), case.data_sets[0][0], strict=True)
    becomes_scans(before, dict(feeds))


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("op", OPERATORS)
def test_trips(op: str, trips: int) -> None:
    # a Scan of no items ends in an error of onnxruntime
    model_, feeds = operator(op, trips=trips, direction="bidirectional")
    becomes_scans(model_, feeds, in_onnxruntime=trips > 0)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("op", OPERATORS)
def test_lengths(op: str, layout: int, direction: str) -> None:
    options = {"direction": direction, "layout": layout, "batch": 4, "lengths": [5, 2, 1, 3]}
    becomes_scans(*operator(op, **options))


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_sequences_without_items(direction: str) -> None:
    becomes_scans(*operator("LSTM", direction=direction, lengths=[0, 3]))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name) -> None:
    named, alphas, betas = name
    options: dict[str, object] = {"activations": [named, "Tanh", named], "clip": 0.8}
    becomes_scans(*operator("LSTM", **options))
    if alphas:
        options["activation_alpha"] = [0.3, 0.6]
    if betas:
        options["activation_beta"] = [0.1, 0.4]
    becomes_scans(*operator("LSTM", **options))


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("LSTM", {"peepholes": True}),
        ("LSTM", {"peepholes": True, "direction": "bidirectional", "clip": 0.5}),
        ("LSTM", {"input_forget": 1}),
        ("LSTM", {"biases": False, "initial": False}),
        ("LSTM", {"outputs": "c"}),
        ("LSTM", {"outputs": "y", "direction": "bidirectional", "layout": 1}),
        ("GRU", {"linear_before_reset": 1}),
        ("GRU", {"linear_before_reset": 1, "biases": False}),
        ("GRU", {"outputs": "h", "constants": True}),
        ("RNN", {"activations": ["Relu", "Affine"], "direction": "bidirectional"}),
    ],
)
def test_options(op: str, options: dict[str, object]) -> None:
    becomes_scans(*operator(op, **options))


@pytest.mark.parametrize("opset", [9, 11, 13, 18, 24])
@pytest.mark.parametrize("op", OPERATORS)
def test_opsets(op: str, opset: int) -> None:
    options = {"opset": opset, "direction": "bidirectional", "clip": 1.5}
    lengths = [3, 5] if opset >= 10 else None
    becomes_scans(*operator(op, **options, lengths=lengths))


def test_old_ir_versions() -> None:
    becomes_scans(*operator("GRU", opset=9, ir_version=3))


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("op", OPERATORS)
def test_element_types(op: str, dtype: type) -> None:
    becomes_scans(*operator(op, dtype=dtype), in_onnxruntime=dtype is np.float64)


def test_in_bodies(rng: np.random.Generator) -> None:
    text = """
    g (float[4,2,3] x, float[1,4,3] w, float[1,4,4] r, float[1,2,4] h) => (float[1,2,4] y) {
      n = Constant <value = int64 {3}> ()
      y = Loop (n, "", h) <body = b (int64 i, bool go, float[1,2,4] s) => (bool on, float[1,2,4] o)
      {
        on = Identity (go)
        "", o = RNN <hidden_size = 4> (x, w, r, "", "", s)
      }>
    }"""
    shapes = {"x": (4, 2, 3), "w": (1, 4, 3), "r": (1, 4, 4), "h": (1, 2, 4)}
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    after = becomes_scans(model(text), feeds)
    assert sorted(name for name in every_operator(after) if name in ("Loop", "Scan")) == [
        "Loop",
        "Scan",
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"opset": 8}, "too old for a Scan"),
        ({"opset": 9, "direction": "reverse", "lengths": [3, 5]}, "no ReverseSequence"),
        ({"activations": ["Tanhh", "Tanh", "Tanh"]}, 'did you mean "tanh"'),
        ({"activations": ["Tanh", "Tanh"]}, "names 2 activations, and has 3"),
    ],
)
def test_refusals(options: dict[str, object], why: str) -> None:
    before, _ = operator("LSTM", **options)
    with pytest.raises(treadle.Unsupported) as caught:
        treadle.rewrite(before, "recurrent-to-scan")
    (found,) = caught.value.findings
    assert found.path == "main/lstm_0"
    assert why in found.message

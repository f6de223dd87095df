"""The rules about onnxruntime agree with the installed release."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import treadle
from tests.conformance.data import EXPORTED, edges, exported
from treadle.checks import examples, whole
from treadle.checks.runtimes.known_bugs import bugs_of
from treadle.checks.runtimes.onnxruntime import VERSION
from treadle.formats.onnx.source import open_source
from treadle.ir import DType, Leaf, Tensor, Value, attribute

MEASURED = onnxruntime.__version__ in VERSION.split()
MODELS = [name for name, edge in edges().items() if edge.expect != "error"]


def load(source: object) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    data = open_source(source).proto.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def loads(source: object) -> bool:
    try:
        load(source)
    except Exception:  # noqa: BLE001  onnxruntime's own exceptions have no common root of their own
        return False
    return True


def codes(source: object) -> set[str]:
    return {found.code for found in treadle.check(source, portable=["onnxruntime"])}


@pytest.mark.skipif(not MEASURED, reason="another onnxruntime than the one measured")
@pytest.mark.parametrize("code", ["CF802", "CF803", "CF809"])
def test_findings_for_models_that_onnxruntime_does_not_load(code: str) -> None:
    example = examples()[code]
    assert not loads(whole(example.bad))
    assert loads(whole(example.good))


@pytest.mark.skipif(not MEASURED, reason="another onnxruntime than the one measured")
def test_an_opset_that_one_release_loads_is_refused_by_another():
    text = whole(examples()["CF807"].bad)
    found = treadle.check(text, portable=["onnxruntime"])
    (message,) = [each.message for each in found if each.code == "CF807"]
    assert "opset 27 is refused by 1.31.1, whose newest is 26" in message
    assert loads(text) == (onnxruntime.__version__ not in message)
    assert loads(whole(examples()["CF807"].good))


def test_a_session_heeds_the_faults_of_its_release_and_of_unknown_ones_all():
    step = treadle.load(whole(examples()["CF808"].bad)).main.steps[0]
    every = bugs_of(step)
    assert every
    assert bugs_of(step, "99.0") == every
    assert bugs_of(step, "1.31.1") == [bug for bug in every if "1.31.1" in bug.releases]


@pytest.mark.skipif(not MEASURED, reason="another onnxruntime than the one measured")
def test_findings_for_models_that_onnxruntime_computes_wrongly() -> None:
    example = examples()["CF804"]
    (wrong,) = load(whole(example.bad)).run(None, {"n": np.array(3)})
    (right,) = load(whole(example.good)).run(None, {"n": np.array(3)})
    assert (wrong.tolist(), right.tolist()) == ([3, 3, 3], [0, 1, 2])


@pytest.mark.skipif(not MEASURED, reason="another onnxruntime than the one measured")
@pytest.mark.parametrize(
    ("code", "feeds"),
    [
        ("CF805", {"x": np.empty(0, np.float32)}),
        ("CF806", {"x": np.ones(3, np.float32), "s": np.array([1, 1])}),
    ],
)
def test_findings_for_models_that_fail_in_onnxruntime(
    code: str, feeds: dict[str, np.ndarray]
) -> None:
    session = load(whole(examples()[code].bad))
    with pytest.raises(Exception, match=r"onnxruntime|ONNXRuntimeError"):
        session.run(None, feeds)


@pytest.mark.skipif(not MEASURED, reason="another onnxruntime than the one measured")
@pytest.mark.parametrize("name", MODELS)
def test_edge_cases_that_do_not_load_have_a_finding(name: str) -> None:
    found = codes(edges()[name].source)
    known = bool({code for code in found if code.startswith("CF80")} - {"CF801", "CF804", "CF805"})
    assert loads(edges()[name].source) or known or "CF103" in found


VALUES = "CF808"
"""It speaks of values at the edges of their types, which a model that runs may never meet."""


@pytest.mark.parametrize("name", EXPORTED)
def test_models_that_run_in_onnxruntime_have_no_finding(name: str) -> None:
    told = set(codes(exported(name)[0])) - {VALUES}
    assert not [code for code in told if code.startswith("CF80")]


def test_attributes_that_are_no_text_are_compared_with_forms():
    x = Value("x", Tensor(DType.INT32, (3, 3)))
    equation = attribute("equation", b"\xff")
    step = Leaf("", "Einsum", 12, (x,), (Value("y"),), {"equation": equation})
    assert not bugs_of(step)

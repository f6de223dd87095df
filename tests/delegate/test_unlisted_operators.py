"""Operators that only onnxruntime can run go to it, even if its tables do not list them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import treadle
from treadle.delegate import capabilities
from treadle.errors import Unsupported

HEAD = '<ir_version: 8, opset_import: ["" : {opset}, "com.microsoft" : 1]>\n'
GELU = HEAD.format(opset=17) + (
    "g (float[n] x) => (float[n] y) { a = Relu (x) b = com.microsoft.QuickGelu (a) y = Neg (b) }"
)
INVERSE = (
    HEAD.format(opset=17) + "g (float[0, 1] x) => (float[] y) { y = com.microsoft.Inverse (x) }"
)
X = np.array([-1, 0, 2], np.float32)


@pytest.fixture
def no_records(monkeypatch):
    """onnxruntime's records have no kernel for anything of its own."""
    told = capabilities.refusal
    monkeypatch.setattr(
        capabilities, "refusal", lambda step: "no record" if step.domain else told(step)
    )


def test_an_operator_without_a_record_is_tried(no_records):
    session = treadle.InferenceSession(GELU)
    relu = np.maximum(X, 0)
    assert_allclose(session.run(None, {"x": X})[0], -relu / (1 + np.exp(-1.702 * relu)), 1e-5)
    assert "no other engine has a kernel" in session.explain()


def test_without_onnxruntime_an_unlisted_operator_is_unsupported(no_records):
    with pytest.raises(Unsupported, match=r"no kernel evaluates it$"):
        treadle.InferenceSession(GELU, engines=("interp",))


def test_operators_that_end_the_process_are_not_tried(no_records):
    with pytest.raises(Unsupported, match=r"crashes the process|no record"):
        treadle.InferenceSession(INVERSE)


def test_listed_operators_are_not_tried():
    assert "nothing else" not in treadle.InferenceSession(GELU).explain()


def test_a_function_of_onnxruntime_in_newer_operators_than_the_lowest_opset():
    text = HEAD.format(opset=12) + (
        "g (float[2, 3] x, float16[3] s) => (float16[2, 3] y) { y = LayerNormalization (x, s) }"
    )
    session = treadle.InferenceSession(text)
    x = np.array([[1, 2, 3], [3, 3, 6]], np.float32)
    found = session.run(None, {"x": x, "s": np.ones(3, np.float16)})[0]
    wanted = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    assert_allclose(found.astype(np.float32), wanted, atol=2e-3)

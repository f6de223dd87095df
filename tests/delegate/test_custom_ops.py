"""Operators of custom libraries run in onnxruntime, for the types at run time."""

import numpy as np
import pytest

import treadle
from treadle.errors import InputError, Unsupported

HEAD = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.contrib" : 1]>\n'
TEXT = """g (string[n] x, int64 k) => (y, u) {
    y = ai.onnx.contrib.StringLength(x)
    f = Cast<to=1>(y)
    w = Loop(k, "", f) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] q) {
        t = Tanh(v) q = Add(t, v) d = Identity(c) }>
    u = Mul(w, w) }"""


@pytest.fixture
def library():
    return pytest.importorskip("onnxruntime_extensions").get_library_path()


def test_custom_operators_run_and_a_loop_next_to_them_stays_native(library):
    options = treadle.SessionOptions()
    options.register_custom_ops_library(library)
    session = treadle.InferenceSession(HEAD + TEXT, options)
    y, u = session.run(None, {"x": np.array(["ab", "c"], object), "k": 1})
    wanted = np.float32([2, 1])
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_allclose(u, (np.tanh(wanted) + wanted) ** 2, rtol=1e-6)
    assert {region.engine for region in session.plan.main.regions} == {"onnxruntime", "jit"}


def test_a_missing_library_is_an_error_with_advice():
    with pytest.raises(Unsupported, match="register_custom_ops_library"):
        treadle.InferenceSession(HEAD + TEXT)


def test_a_file_that_is_no_library_is_refused(tmp_path):
    (tmp_path / "no.so").write_text("no library")
    with pytest.raises(InputError, match=r"no\.so"):
        treadle.SessionOptions().register_custom_ops_library(tmp_path / "no.so")

"""Products of transposed matrices and vectors, which an optimizer of onnxruntime makes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from treadle import InferenceSession

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
PRODUCT = """g (float[LEFT] q, float[RIGHT] a) => (float[RESULT] y) {
  t = Transpose <perm = [PERM]> (q)
  y = MatMul (t, a)
}"""
IN_A_LOOP = """g (int64 n, float[4,3] q, float[3] v) => (float[3] last) {
  last = Loop (n, "", v) <body = f (int64 i, bool on, float[3] h) => (bool more, float[3] next) {
    more = Identity (on)
    a = MatMul (q, h)
    t = Transpose <perm = [1, 0]> (q)
    next = MatMul (t, a)
  }>
}"""
PRODUCTS = [
    ("4,3", "4", "3", "1, 0"),
    ("2,4,3", "4", "2,3", "0, 2, 1"),
    ("4,3", "4,1", "3,1", "1, 0"),
]


@pytest.mark.parametrize(("left", "right", "result", "perm"), PRODUCTS)
def test_a_transposed_matrix_times_a_vector(left, right, result, perm, rng):
    text = HEAD + PRODUCT.replace("LEFT", left).replace("RIGHT", right)
    text = text.replace("RESULT", result).replace("PERM", perm)
    shapes = ([int(extent) for extent in shape.split(",")] for shape in (left, right))
    q, a = (rng.random(shape, np.float32) for shape in shapes)
    (found,) = InferenceSession(text, engines=("onnxruntime",)).run(None, {"q": q, "a": a})
    np.testing.assert_allclose(found, np.swapaxes(q, -1, -2) @ a, rtol=1e-5)


def test_it_in_the_body_of_a_loop(rng):
    q, v = rng.random((4, 3), np.float32), rng.random(3, np.float32)
    feed = {"n": np.array(2), "q": q, "v": v}
    (found,) = InferenceSession(HEAD + IN_A_LOOP, engines=("onnxruntime",)).run(None, feed)
    np.testing.assert_allclose(found, q.T @ (q @ (q.T @ (q @ v))), rtol=1e-5)

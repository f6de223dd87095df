"""Long products in chunks of rows: the same numbers, and a run that stops inside one of them."""

import numpy as np
import pytest

import treadle
from treadle.jit.codegen.chunks import is_long

TEXT = """<ir_version: 10, opset_import: ["": 21]>
g (int64 n, {kind} x, {kind} w) => ({kind} y) {{
  y = Loop (n, , x) <body = b (int64 i, bool go, {kind} s) => (bool on, {kind} t) {{
    on = Identity (go)
    {right}
    t = MatMul (s, v)
  }}>
}}"""
DIRECT, TURNED = "v = Identity (w)", "v = Transpose <perm = [1, 0]> (w)"


def native(kind, right=DIRECT):
    text = TEXT.format(kind=kind, right=right)
    return treadle.InferenceSession(text, engines=("jit", "interp"))


@pytest.mark.parametrize(
    ("kind", "shape", "right"),
    [
        ("float[661,661]", (661, 661), DIRECT),
        ("float[N,661]", (661, 661), DIRECT),
        ("float[3,520,520]", (3, 520, 520), DIRECT),
        ("double[661,661]", (661, 661), TURNED),
    ],
)
def test_chunks_make_the_same_product(kind, shape, right, rng):
    dtype = np.float64 if kind.startswith("double") else np.float32
    x, w = (rng.integers(-8, 9, shape).astype(dtype) for _ in range(2))
    session = native(kind, right)
    (found,) = session.run(None, {"n": np.array(1), "x": x, "w": w})
    assert np.array_equal(found, x @ (w.T if right is TURNED else w))


def test_a_run_stops_inside_a_product():
    session = native("float[1400,1400]")
    x = np.zeros((1400, 1400), np.float32)
    with pytest.raises(treadle.LimitExceeded, match=r"max_seconds=0\.001"):
        session.run(None, {"n": np.array(1), "x": x, "w": x}, treadle.RunOptions(max_seconds=0.001))


def test_short_products_stay_whole():
    assert not is_long((600, 600, 600))
    assert is_long((700, 700, 700))

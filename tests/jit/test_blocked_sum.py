"""Long native sums are as precise as numpy's pairwise sums."""

from __future__ import annotations

import numpy as np
import pytest

import treadle

SUM = "ReduceSum <keepdims = 0> (v, k)"
FORMS = {
    SUM: np.sum,
    "ReduceMean <keepdims = 0> (v, k)": np.mean,
    "ReduceL2 <keepdims = 0> (v, k)": lambda x: np.sqrt(np.sum(x * x)),
}
LENGTHS = (3, 4096, 4097, 300_000)


def session(form, dtype, declared):
    return treadle.InferenceSession(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        g (int64 M, {dtype}[{declared}] x) => ({dtype}[] y) {{
            k = Constant <value_ints = [1]> ()
            y = Loop <body = b (int64 i, bool c) => (bool d, {dtype}[] e)
                {{ d = Identity (c) v = Identity (x) e = {form} }}> (M, "") }}""",
        engines=("jit", "interp"),
    )


def run(form, x, declared="r, c"):
    dtype = {"float32": "float", "float64": "double"}[x.dtype.name]
    made = session(form, dtype, declared)
    (found,) = made.run(None, {"M": np.array(2), "x": x})
    assert "native code can run all its steps" in made.explain()
    return found


@pytest.mark.parametrize(
    ("form", "dtype"),
    list(zip(FORMS, (np.float64, np.float32, np.float32), strict=True)),
)
def test_sums_are_as_accurate_as_pairwise_ones(form, dtype, rng):
    for length in LENGTHS:
        x = (rng.random((2, length)) + 0.5).astype(dtype)
        wanted = np.array([FORMS[form](row.astype(np.longdouble)) for row in x])
        error = np.abs(run(form, x) - wanted) / wanted / np.finfo(dtype).eps
        assert error.max() < 3


def test_infinities_and_nan_propagate():
    x = np.ones((4, 10_000), np.float32)
    x[0, 7], x[1, 9_000], x[2, 5], x[3, 4], x[3, 9_999] = np.inf, -np.inf, np.nan, np.inf, -np.inf
    for declared in ("r, c", "4, 10000"):
        found = run(SUM, x, declared)[0]
        np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan, np.nan])

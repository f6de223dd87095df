"""Range of floats on default engines: the standard's formula, not a sum of steps."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle

TEXT = """<ir_version: 10, opset_import: ["" : {}]>
g ({dtype} start, {dtype} limit, {dtype} delta) => ({dtype}[n] y) {{
  y = Range (start, limit, delta)
}}"""
DTYPES = {"float": np.float32, "double": np.float64}
ENGINES = [None, ("onnxruntime", "interp"), ("jit", "interp"), ("interp",)]


def ran(dtype, numbers, engines, opset=20):
    text = TEXT.format(opset, dtype=dtype)
    values = (np.array(number, DTYPES[dtype]) for number in numbers)
    feeds = dict(zip(("start", "limit", "delta"), values, strict=True))
    return treadle.InferenceSession(text, engines=engines).run(None, feeds)[0]


def formula(dtype, numbers):
    start, limit, delta = (DTYPES[dtype](number) for number in numbers)
    count = max(int(np.ceil(np.float64(limit - start) / np.float64(delta))), 0)
    return start + np.arange(count).astype(DTYPES[dtype]) * delta


@pytest.mark.parametrize("opset", [11, 20, 27])
@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "numbers",
    [
        (0, 1e5, 0.1),
        (0, 1, 0.1),
        (0, 0.3, 0.1),
        (1, -1, -0.1),
        (5, 1, 1),
        (0, 1, np.inf),
        (7, 7, 2),
    ],
)
def test_the_formula_decides(dtype, numbers, engines, opset):
    np.testing.assert_array_equal(ran(dtype, numbers, engines, opset), formula(dtype, numbers))


@pytest.mark.parametrize("dtype", DTYPES)
def test_counts_at_random(dtype, rng):
    for _ in range(50):
        numbers = (*rng.normal(size=2) * 1000, 10 ** rng.uniform(-1, 1))
        np.testing.assert_array_equal(ran(dtype, numbers, None), formula(dtype, numbers))


@pytest.mark.parametrize("engines", ENGINES)
def test_the_count_is_what_shape_inference_says(engines, rng):
    for _ in range(20):
        numbers = (*rng.normal(size=2) * 10, float(10 ** rng.uniform(-1, 1)))
        constants = zip("sld", numbers, strict=True)
        lines = " ".join(f"{n} = Constant <value = float {{{v}}}> ()" for n, v in constants)
        text = '<ir_version: 8, opset_import: ["" : 18]> g (float x) => (float[n] y)'
        text += f" {{ {lines} r = Range (s, l, d) y = Add (r, x) }}"
        proto = onnx.parser.parse_model(text)
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True).graph.value_info
        (count,) = [v.type.tensor_type.shape.dim[0].dim_value for v in inferred if v.name == "r"]
        found = treadle.InferenceSession(text, engines=engines).run(None, {"x": np.float32(0)})
        assert len(found[0]) == count


@pytest.mark.parametrize("engines", ENGINES[:2] + ENGINES[3:])
@pytest.mark.parametrize(
    "numbers", [(0, 1, 0), (0, 0, 0), (0, -1, 0), (np.nan, 1, 1), (0, np.inf, 1), (0, 1, np.nan)]
)
def test_a_range_without_a_count_is_an_error(numbers, engines):
    with pytest.raises(treadle.TreadleError, match=r"no number of elements|would have"):
        ran("float", numbers, engines)


def test_whole_numbers_are_left_to_onnxruntime():
    session = treadle.InferenceSession(
        TEXT.format(20, dtype="int64"), engines=("onnxruntime", "interp")
    )
    (region,) = session.plan.main.regions
    assert not region.runnable.exported.has_guards

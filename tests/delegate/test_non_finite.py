"""NaN and infinities, where onnxruntime's kernels lose them: a default session does not."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import treadle
from treadle.checks.runtimes import known_bugs
from treadle.plan import FallbackRequired, RunContext

ROWS = "\tReduceMax\t13\tfloat32\tnan\t\t{0}\t1\t4\n\tMaxPool\t12\tfloat32\tinf\t\t{0}\t1\t4\n"
MODEL = '<ir_version: 8, opset_import: ["": {}]> g ({}) => ({}) {{ {} }}'
MAXIMUM = ("float[n, m] x", "float[n] y", "y = ReduceMax <axes = [1], keepdims = 0> (x)")
POOL = ("float[1, 1, m] x", "float[1, 1, k] y", "y = MaxPool <kernel_shape = [2]> (x)")


def session(opset, parts, **options):
    return treadle.InferenceSession(parser.parse_model(MODEL.format(opset, *parts)), **options)


@pytest.mark.parametrize("opset", [7, 8, 9, 13, 17])
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("place", range(6))
def test_a_maximum_propagates_nan(opset, dtype, place):
    parts = [each.replace("float[", f"{dtype}[") for each in MAXIMUM]
    x = np.arange(12, dtype={"float": np.float32, "double": np.float64}[dtype]).reshape(2, 6)
    x[1, place] = np.nan
    np.testing.assert_array_equal(session(opset, parts).run(None, {"x": x})[0], x.max(1))


MAGNITUDE = "a = Abs (x) y = ReduceMax {} (a)"
WHOLE = [("[]", "<keepdims = 0>"), ("[1, 1]", "")]


@pytest.mark.parametrize("opset", [7, 8, 11, 13, 18])
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize(("shape", "attributes"), WHOLE)
def test_the_largest_magnitude_is_nan_on_onnxruntime(opset, dtype, shape, attributes):
    made = session(opset, (f"{dtype}[n, m] x", f"{dtype}{shape} y", MAGNITUDE.format(attributes)))
    (region,) = made.plan.main.regions
    keeps = not attributes
    for odd in (np.nan, np.inf, -np.inf, -0.0, -7):
        for place in range(6):
            values = np.zeros((2, 3), {"float": np.float32, "double": np.float64}[dtype])
            values[:, 1] = -1.7e308 if dtype == "double" else -3e38
            values.flat[place] = odd
            wanted = abs(values).max(keepdims=keeps)
            np.testing.assert_array_equal(made.run(None, {"x": values})[0], wanted)
            if opset > 8:  # written as 7
                found = region.runnable([values], RunContext())
                np.testing.assert_array_equal(found[0], wanted)
                assert np.isnan(wanted).all() or found[0].tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("opset", "attributes"),
    [(13, "<axes = [1], keepdims = 0>"), (18, "<noop_with_empty_axes = 1>")],
)
def test_a_nan_changes_the_largest_magnitude_of_its_row_only(opset, attributes):
    x = np.array([[1, np.nan], [2, -3]], np.float32)
    made = session(opset, ("float[n, m] x", "y", MAGNITUDE.format(attributes)))
    wanted = abs(x).max(1) if opset == 13 else abs(x)
    np.testing.assert_array_equal(made.run(None, {"x": x})[0], wanted)


@pytest.mark.parametrize("opset", [8, 12])
def test_windows_of_minus_infinity(opset):
    x = np.array([[[1, -np.inf, -np.inf, np.inf, 2]]], np.float32)
    (y,) = session(opset, POOL).run(None, {"x": x})
    np.testing.assert_array_equal(y, [[[1, -np.inf, np.inf, np.inf]]])


@pytest.mark.parametrize("parts", [MAXIMUM, POOL])
def test_finite_numbers_stay_with_onnxruntime(parts, rng):
    x = rng.standard_normal((1, 1, 8) if parts is POOL else (3, 8)).astype(np.float32)
    x[..., 0] = -0.0
    made = session(13, parts)
    wanted = session(13, parts, engines=("interp",)).run(None, {"x": x})
    found = made.run(None, {"x": x})
    assert found[0].tobytes() == wanted[0].tobytes()
    assert "onnxruntime" in made.explain()


def test_both_results_are_guarded():
    parts = ("float[n] x, int64[1] k", "float[m] y, int64[m] i", "y, i = TopK (x, k)")
    x = np.array([1, np.nan, 3], np.float32)
    y, i = session(13, parts).run(None, {"x": x, "k": np.array([2])})
    np.testing.assert_array_equal(y, [np.nan, 3])
    np.testing.assert_array_equal(i, [1, 2])


QUANTIZED = '<ir_version: 8, opset_import: ["": 13]> g ({}) => ({}) {{ {} }}'


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(("result", "wanted"), [("s", np.nan), ("q", [0, 0, 0]), ("z", 0)])
def test_the_scale_of_a_range_with_nan(result, wanted, place):
    types = {"s": "float s", "q": "uint8[3] q", "z": "uint8 z"}
    text = QUANTIZED.format("float[3] x", types[result], "q, s, z = DynamicQuantizeLinear (x)")
    x = np.array([1, -2, 3], np.float32)
    prepared = treadle.InferenceSession(text)
    (region,) = prepared.plan.main.regions
    assert region.engine == "onnxruntime"
    plain = [treadle.InferenceSession(text, engines=["interp"]).run(None, {"x": x})[0]]
    np.testing.assert_array_equal(prepared.run(None, {"x": x}), plain)
    region.runnable([x], RunContext())
    x[place] = np.nan
    with pytest.raises(FallbackRequired):
        region.runnable([x], RunContext())
    np.testing.assert_array_equal(prepared.run(None, {"x": x})[0], np.array(wanted))


def test_only_rows_of_the_release_count(monkeypatch, planned):
    def refuses(release):
        monkeypatch.setattr(known_bugs, "_table", lambda: "head\n" + ROWS.format(release))
        known_bugs._rows_of.cache_clear()
        (region,) = planned(f"g ({MAXIMUM[0]}) => ({MAXIMUM[1]}) {{ {MAXIMUM[2]} }}").main.regions
        try:
            region.runnable([np.array([[0, np.nan]], np.float32)], RunContext())
        except FallbackRequired:
            return True
        return False

    monkeypatch.setattr(known_bugs, "RELEASES", (_installed(),))
    try:
        assert refuses(_installed())
        assert not refuses("0.1")
    finally:
        monkeypatch.undo()
        known_bugs._rows_of.cache_clear()


def _installed():
    import onnxruntime

    return onnxruntime.__version__

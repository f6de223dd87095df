"""Loops compute statistics themselves: the same numbers as those of interp's events."""

import numpy as np
import onnxruntime
import pytest

import treadle
from tests.comparing.test_windows import FORMS
from treadle import formats
from treadle.passes import expose
from treadle.recording import in_windows, loop_lengths
from treadle.tracing import Selector, Statistics

_HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'
WEIRD = f"""{_HEADER}
g (DTYPE[n,3] x) => (DTYPE[n,3] y) {{
    y = Scan <num_scan_inputs = 1, body = b (DTYPE[3] item) => (DTYPE[3] y) {{
        y = Neg (item)
    }}> (x)
}}"""
EVERY = {
    "float16": np.float16([[1, np.nan, -2], [np.inf, 3, -np.inf], [60000, 0, 1]]),
    "float": np.float32([[1, np.nan, -2], [np.inf, 3, -np.inf], [3e38, 3e38, 1]]),
    "double": np.float64([[1, np.nan, -2], [np.inf, 3, -np.inf], [1e300, 0, 1e-300]]),
    "int64": np.int64([[2**62 + 1, -(2**62) - 1, 5], [0, 1, 2]]),
    "int8": np.int8([[-128, 127, 3]]),
    "float, all NaN": np.full((2, 3), np.nan, np.float32),
    "float, none": np.zeros((0, 3), np.float32),
}
GROWING = f"""{_HEADER}
g (int64 m, float[n] h0) => (float[k] h) <float[1] one = {{1}}, int64 two = {{2}}> {{
    h = Loop (m, , h0) <body = b (int64 i, bool go, float[w] c) => (bool on, float[v] c2) {{
        on = Identity (go)
        half = Mod (i, two)
        odd = Cast <to = 9> (half)
        c2 = If (odd) <
            then_branch = t () => (float[p] longer) {{ longer = Concat <axis = 0> (c, one) }},
            else_branch = e () => (float[q] same) {{ same = Neg (c) }}>
    }}>
}}"""


def compiled_and_heard(model, feeds, **options):
    """The statistics of a run on native code, and those of interp's events."""
    session, found = treadle.InferenceSession(model), []
    for bound in ({}, {"max_bytes": 10**9}):
        recorder = treadle.Recorder(select="*", statistics=True, **bound)
        session.run(None, feeds, listener=recorder, **options)
        found.append({name: recorder.summary(f"{name[0]}/{name[1]}") for name in recorder._numbers})
    return found


def assert_equal(got: dict, wanted: dict):
    wanted = {name: numbers for name, numbers in wanted.items() if numbers.count}
    got = {name: numbers for name, numbers in got.items() if numbers.count}
    assert set(got) == set(wanted)
    for name, numbers in wanted.items():
        for field in ("count", "nans", "infs", "minimum", "maximum"):
            assert getattr(got[name], field) == getattr(numbers, field), (name, field)
        assert got[name].mean == pytest.approx(numbers.mean, rel=1e-13, nan_ok=True), name


def in_short_windows(monkeypatch):
    monkeypatch.setattr(loop_lengths, "LONG", -1)
    monkeypatch.setattr(in_windows, "FIRST_SIZE", 2)
    monkeypatch.setattr(in_windows, "size_in_time", lambda size, seconds: 3)


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_value(form, in_parts, monkeypatch):
    if in_parts:
        in_short_windows(monkeypatch)
    assert_equal(*compiled_and_heard(*FORMS[form]))


@pytest.mark.parametrize("dtype", EVERY)
def test_every_type(dtype):
    model = WEIRD.replace("DTYPE", dtype.partition(",")[0])
    got, wanted = compiled_and_heard(model, {"x": EVERY[dtype]})
    assert_equal(got, wanted)
    numbers, own = got["main/scan_0.body", "y"], -EVERY[dtype]
    finite = own[np.isfinite(own)]
    assert (numbers.minimum, numbers.maximum) == (
        (finite.min(), finite.max()) if finite.size else (np.inf, -np.inf)
    )


def test_branches_and_changing_shapes():
    assert_equal(*compiled_and_heard(GROWING, {"m": np.array(5), "h0": np.zeros(0, np.float32)}))


def test_what_a_failing_run_computed(monkeypatch):
    in_short_windows(monkeypatch)
    model, feeds = FORMS["counted"]
    feeds = {**feeds, "m": np.array(9)}
    recorder = treadle.Recorder(select="y", statistics=True)
    with (
        pytest.warns(RuntimeWarning, match="recorded on interp"),
        pytest.raises(treadle.RunError),
    ):
        treadle.InferenceSession(model).run(None, feeds, listener=recorder)
    assert recorder.summary("y").count == 7  # x has seven elements


@pytest.mark.parametrize(
    ("form", "loop"),
    [("counted", "loop_1"), ("while", "loop_0"), ("ragged", "loop_2"), ("nested", "loop_1")],
)
def test_outputs_are_numbers_which_onnxruntime_computes_too(form, loop, tmp_path):
    model, feeds = treadle.load(FORMS[form][0]), FORMS[form][1]

    def expand(step, types):
        return formats.schema_function(step, types, model.opsets)

    selector = Selector.of(f"main/{loop}.body*")
    exposure = expose(model, selector, expand, summarized={f"main/{loop}"})
    treadle.save(exposure.model, tmp_path / "summarized.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "summarized.onnx")
    outputs = session.run(None, {name: np.asarray(value) for name, value in feeds.items()})
    assert len(outputs) > len(model.main.results)
    assert all(value.shape == () for value in outputs[len(model.main.results) :])
    mine = treadle.InferenceSession(exposure.model, engines=["interp"]).run(None, feeds)
    for one, other in zip(outputs, mine, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_merging():
    whole, first, rest = Statistics(), Statistics(), Statistics()
    for numbers in (whole, first):
        numbers.add(np.float32([1, np.nan]))
    for numbers in (whole, rest):
        numbers.add(np.float32([-np.inf, 5]))
    first.merge(rest)
    assert first == whole

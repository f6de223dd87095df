"""Long loops are compared in windows, with the same result as without windows."""

import numpy as np
import onnx
import pytest

import treadle
from tests.passes.test_exposing import FEEDS, NESTED, RAGGED
from treadle import recording
from treadle.comparing import parts
from treadle.recording import loop_lengths, window_size

_HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'
COUNTED = f"""{_HEADER}
g (int64 m, float[T] x, float h0) => (float h, float[N] ys, float z)
<int64 fault = {{5}}, float one = {{1}}> {{
    w = Neg (h0)
    h, ys = Loop (m, , w) <body = b (int64 i, bool go, float c) => (bool on, float c2, float y) {{
        on = Identity (go)
        item = Gather (x, i)
        y = Add (c, item)
        at = Equal (i, fault)
        more = Add (y, one)
        c2 = Where (at, y, y)
    }}>
    z = Add (h, w)
}}"""
WHILE = f"""{_HEADER}
g (float h0, float top) => (float h, int64[N] seen)
<bool always = {{1}}, float two = {{2}}> {{
    h, seen = Loop (, always, h0)
    <body = b (int64 i, bool go, float c) => (bool on, float c2, int64 n) {{
        c2 = Mul (c, two)
        on = Less (c2, top)
        n = Identity (i)
    }}>
}}"""
SCAN = f"""{_HEADER}
g (float[2] h0, float[2,T] x) => (float[2] h, float[2,T] ys) {{
    h, ys = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
        scan_input_directions = [1], scan_output_directions = [1],
        body = b (float[2] c, float[2] item) => (float[2] c2, float[2] y) {{
        c2 = Add (c, item)
        y = Mul (c2, item)
    }}> (h0, x)
}}"""
GROWING = f"""{_HEADER}
g (int64 m, float[n] h0) => (float[k] h) <float[1] one = {{1}}> {{
    h = Loop (m, , h0) <body = b (int64 i, bool go, float[w] c) => (bool on, float[v] c2) {{
        on = Identity (go)
        c2 = Concat <axis = 0> (c, one)
    }}>
}}"""
_X = np.arange(7, dtype=np.float32)
FORMS = {
    "counted": (COUNTED, {"m": np.array(7), "x": _X, "h0": np.float32(1)}),
    "no iteration": (COUNTED, {"m": np.array(-1), "x": _X, "h0": np.float32(1)}),
    "while": (WHILE, {"h0": np.float32(1), "top": np.float32(60)}),
    "reversed along the last axis": (SCAN, {"h0": _X[:2], "x": _X[:6].reshape(2, 3) + 1}),
    "growing": (GROWING, {"m": np.array(5), "h0": _X[:0]}),
    "nested": (NESTED, FEEDS),
    "ragged": (RAGGED, {**FEEDS, "t": np.array(6)}),
}


@pytest.fixture
def windows(monkeypatch):
    """Every loop of a main block runs in windows of two and three iterations."""
    monkeypatch.setattr(loop_lengths, "LONG", -1)
    monkeypatch.setattr(parts, "FIRST_SIZE", 2)
    monkeypatch.setattr(window_size, "LARGEST_SIZE", 3)


@pytest.mark.parametrize("runtime", ["treadle", "onnxruntime"])
@pytest.mark.parametrize("form", FORMS)
def test_a_model_agrees_with_itself(form, runtime, windows):
    model, feeds = FORMS[form]
    found = treadle.compare((model, runtime), (model, "interp"), feeds)
    assert found, str(found)
    assert found.matches
    assert not found.unmatched_got
    assert not found.unmatched_wanted


def test_a_difference_in_a_later_window_has_its_iteration(windows):
    bad = COUNTED.replace("Where (at, y, y)", "Where (at, more, y)")
    model, feeds = FORMS["counted"]
    found = treadle.compare(bad, model, feeds)
    first = found.first
    assert (first.path, first.iterations) == ("main/loop_1.body/where_5", (5,))
    assert first.inputs["at"][0] is not None
    assert found.growth("c2").tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert [str(each.name) for each in found.outputs] == ["h", "ys", "z"]


def test_a_loop_that_ends_windows_earlier_is_found(windows):
    model, feeds = FORMS["while"]
    bad = model.replace("on = Less (c2, top)", "on = Less (c, two)")
    first = treadle.compare(bad, model, feeds).first
    assert (first.path, first.iterations) == ("main/loop_0.body/less_1", (1,))


def test_windows_grow_and_shrink_with_the_bytes_that_values_hold():
    assert window_size.next_size(64, 64 * 100) == 64 * 8
    assert window_size.next_size(8_192, 8_192 * 2_048) == 4_096
    assert window_size.next_size(1, 1 << 30) == 1


INNER = f"""{_HEADER}
g (int64 n, int64 m, float h0) => (float h) {{
    h = Loop (n, , h0) <body = b (int64 i, bool go, float c) => (bool on, float c2) {{
        on = Identity (go)
        c2 = Loop (m, , c) <body = d (int64 j, bool go2, float a) => (bool on2, float a2) {{
            on2 = Identity (go2)
            a2 = Sin (a)
        }}>
    }}>
}}"""
BRANCHED = f"""{_HEADER}
g (bool p, int64 m, float h0) => (float h) {{
    h = If (p) <
        then_branch = t () => (float a) {{
            a = Loop (m, , h0) <body = d (int64 j, bool go2, float b) => (bool on2, float b2) {{
                on2 = Identity (go2)
                b2 = Sin (b)
            }}>
        }},
        else_branch = e () => (float a) {{ a = Neg (h0) }}
    >
}}"""


@pytest.mark.parametrize(("trips", "is_found"), [((1, 60), True), ((3, 40), False)])
def test_a_loop_with_a_known_long_loop_inside_runs_in_windows(trips, is_found):
    feeds = dict(zip("nm", map(np.array, trips), strict=True))
    assert bool(recording.long_loops(treadle.load(INNER), feeds, 50)) == is_found


def _with_slashes(text: str, *names: str) -> onnx.ModelProto:
    """The model with "in/NAME" in place of these names, as exporters write them."""
    model = onnx.parser.parse_model(text)
    for name in names:
        rename_value(model.graph, name, f"in/{name}")
    return model


def rename_value(graph: onnx.GraphProto, old: str, new: str) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info):
        value.name = new if value.name == old else value.name
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new if each == old else each for each in names]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename_value(attribute.g, old, new)


def test_names_with_slashes_keep_their_paths_in_windows(windows):
    _, feeds = FORMS["counted"]
    model = _with_slashes(COUNTED, "h", "ys", "w", "y", "c2")
    found = treadle.compare(model, (model, "interp"), feeds)
    assert found
    assert not found.unmatched_got
    for columns in (found.got, found.wanted):
        assert columns["main/in/h"].path == "main"
        assert columns["main/in/h"].name == "in/h"


def test_names_with_slashes_keep_their_paths_in_unrolled_models():
    _, feeds = FORMS["counted"]
    model = _with_slashes(COUNTED, "y", "c2")
    model = treadle.specialize(model, inputs={"m": feeds["m"]})
    unrolled = treadle.unroll(model)
    found = treadle.compare(unrolled, model, {name: feeds[name] for name in ("x", "h0")})
    assert found
    made = found.got["main/loop_1.body/in/y"]
    assert (made.path, made.name, len(made)) == ("main/loop_1.body", "in/y", 7)


def test_a_recording_of_another_model_is_an_error(tmp_path):
    model, feeds = FORMS["counted"]
    np.savez(tmp_path / "other.npz", hidden=np.zeros((3, 4)))
    with pytest.raises(treadle.InputError, match=r"no value in common.* the second hidden"):
        treadle.compare(model, tmp_path / "other.npz", feeds)

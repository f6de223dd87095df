"""Exposed models: their outputs are the values of interp's events, in the documented forms."""

import time

import numpy as np
import onnx
import pytest

import treadle
from treadle.errors import InputError, InputTypeError, Unsupported
from treadle.formats.onnx import write_model
from treadle.tracing import BranchTaken, LoopEnded, ValueMade

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'
NESTED = (
    HEADER
    + """
g (float[n] x, int64 t) => (float[n] y) {
    two = Constant <value_int = 2> ()
    y = Loop <body = outer (int64 i, bool go, float[n] h) => (bool on, float[n] h2) {
        on = Identity (go)
        h2 = Loop (two, , h) <body = inner (int64 j, bool g, float[n] k) => (bool o, float[n] k2) {
            o = Identity (g)
            k2 = Add (k, x)
        }>
    }> (t, , x)
}"""
)
RAGGED = (
    HEADER
    + """
g (float[n] x, int64 t) => (int64 s) {
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    s = Loop <body = outer (int64 i, bool go, int64 h) => (bool on, int64 h2) {
        on = Identity (go)
        trips = Add (i, h)
        r = Range (zero, i, one)
        two = Constant <value_int = 2> ()
        rest = Mod (i, two)
        odd = Equal (rest, one)
        h2 = If (odd) <
            then_branch = a () => (int64 p) { p = Sub (h, one) },
            else_branch = b () => (int64 q) {
                q = Loop (i, , i) <body = d (int64 j, bool g, int64 k) => (bool o, int64 k2) {
                    o = Identity (g)
                    k2 = Add (k, one)
                }>
            }
        >
    }> (t, , zero)
}"""
)
INNER = "main/loop_2.body/if_6.else_branch/loop_0"
FEEDS = {"x": np.float32([1, 2]), "t": np.array(4)}
ENGINES = (["interp"], None, "onnxruntime")


def run(model, feeds, engines):
    if engines != "onnxruntime":
        session = treadle.InferenceSession(model, engines=engines)
    else:
        import onnxruntime

        session = onnxruntime.InferenceSession(write_model(model).SerializeToString())
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


def heard(source, feeds):
    found = {}

    def hear(event):
        match event:
            case ValueMade(path, iterations, name, value):
                found.setdefault(f"{path}/{name}", []).append((iterations, value))
            case LoopEnded(path, iterations, trips, by):
                found.setdefault(f"{path}@trips", []).append((iterations, trips))
                found.setdefault(f"{path}@ended", []).append((iterations, by == "condition"))
            case BranchTaken(path, iterations, taken):
                found.setdefault(f"{path}@taken", []).append((iterations, taken == "then_branch"))

    treadle.InferenceSession(source, engines=["interp"]).run(None, feeds, listener=hear)
    return found


def checked(model):
    proto = write_model(treadle.passes.to_onnx_loops(model))
    onnx.checker.check_model(proto, full_check=True)
    return treadle.load(proto)


@pytest.mark.parametrize("engines", ENGINES)
def test_values_of_constant_shape_in_nested_loops_have_an_axis_for_each_loop(engines):
    body = "main/loop_1.body/loop_1.body"
    exposed = checked(treadle.expose(NESTED, ["k", "k2", "main/loop_1*@trips"]))
    outputs = run(exposed, FEEDS, engines)
    assert outputs[f"{body}/k2"].shape == (4, 2, 2)
    events = heard(NESTED, FEEDS)
    for name in (f"{body}/k", f"{body}/k2", "main/loop_1.body/loop_1@trips", "main/loop_1@trips"):
        made = np.array([value for _, value in events[name]])
        assert outputs[name].ravel().tolist() == made.ravel().tolist()
    assert outputs["main/loop_1.body/loop_1@trips"].tolist() == [2] * 4
    assert outputs["y"].tolist() == run(treadle.load(NESTED), FEEDS, None)["y"].tolist()


@pytest.mark.parametrize("trips", [0, 1, 4])
@pytest.mark.parametrize("engines", ENGINES)
def test_ragged_and_branch_values_are_flat_sequences_with_iterations(engines, trips):
    feeds = {**FEEDS, "t": np.array(trips)}
    exposed = checked(treadle.expose(RAGGED, ["r", "p", "k2", "main/*@*"]))
    outputs, events = run(exposed, feeds, engines), heard(RAGGED, feeds)
    names = ("main/loop_2.body/r", "main/loop_2.body/if_6.then_branch/p", f"{INNER}.body/k2",
             f"{INNER}@trips", f"{INNER}@ended")  # fmt: skip
    for name in names:
        made = events.get(name, [])
        assert [np.asarray(v).tolist() for v in outputs[name]] == [
            np.asarray(value).tolist() for _, value in made
        ]
        assert outputs[f"{name}@at"].tolist() == [list(at) for at, _ in made]
    assert outputs["main/loop_2.body/if_6@taken"].tolist() == [
        taken for _, taken in events.get("main/loop_2.body/if_6@taken", [])
    ]


@pytest.mark.parametrize("engines", ENGINES)
def test_a_capacity_pads_and_counts_values_beyond_it(engines):
    exposed = checked(treadle.expose(RAGGED, "k2", capacity=3))
    feeds, name = {**FEEDS, "t": np.array(5)}, f"{INNER}.body/k2"
    outputs, made = run(exposed, feeds, engines), heard(RAGGED, feeds)[name]
    assert outputs[f"{name}@count"] == len(made) == 6
    assert outputs[name].tolist() == [int(value) for _, value in made[:3]]
    assert outputs[f"{name}@at"].tolist() == [list(at) for at, _ in made[:3]]


@pytest.mark.parametrize("engines", ENGINES)
def test_sequences_in_a_body_are_concatenated(engines):
    model = (
        HEADER
        + """
g (float[2] x, int64 t) => (float[2] y) {
    y = Loop <body = b (int64 i, bool go, float[2] h) => (bool on, float[2] h2) {
        on = Identity (go)
        parts = SequenceConstruct (h, x)
        h2 = Add (h, x)
    }> (t, , x)
}"""
    )
    outputs = run(checked(treadle.expose(model, "parts")), FEEDS, engines)
    name = "main/loop_0.body/parts"
    assert [v.tolist() for v in outputs[name]] == [
        item.tolist() for _, value in heard(model, FEEDS)[name] for item in value
    ]
    assert outputs[f"{name}@lengths"].tolist() == [2] * 4
    assert outputs[f"{name}@at"].tolist() == [[0], [1], [2], [3]]


@pytest.mark.parametrize("engines", ENGINES)
def test_a_scan_that_runs_backwards_comes_in_the_order_of_its_iterations(engines):
    model = (
        HEADER
        + """
g (float[2, n] x, float[2] s) => (float[2] l, float[2, n] y) {
    l, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
        scan_output_axes = [1], scan_output_directions = [1],
        body = b (float[2] h, float[2] e) => (float[2] h2, float[2] o) {
            h2 = Add (h, e)
            seven = Constant <value_int = 7> ()
            zero = Constant <value_float = 0.0> ()
            up = Greater (h2, zero)
            r = Compress (h2, up)
            o = Neg (h2)
        }> (s, x)
}"""
    )
    feeds = {"x": np.float32([[1, 2, -9], [-7, 3, 4]]), "s": np.float32([0, 1])}
    outputs, events = run(checked(treadle.expose(model)), feeds, engines), heard(model, feeds)
    for name in ("e", "h", "o"):
        made = [value.tolist() for _, value in events[f"main/scan_0.body/{name}"]]
        assert outputs[f"main/scan_0.body/{name}"].tolist() == made
    ragged = events["main/scan_0.body/r"]
    assert [v.tolist() for v in outputs["main/scan_0.body/r"]] == [v.tolist() for _, v in ragged]
    plain = run(treadle.load(model), feeds, ["interp"])
    assert all(outputs[name].tolist() == value.tolist() for name, value in plain.items())


@pytest.mark.parametrize("engines", ENGINES)
def test_a_scan_8_with_lengths_is_exposed_in_operators_of_the_standard(engines):
    model = (
        '<ir_version: 3, opset_import: ["" : 8]>\n'
        "g (int64[b] l, float[b] s0, float[b,t] x) => (float[b] sf, float[b,t] ys) {\n"
        "sf, ys = Scan <num_scan_inputs = 1, body = b (float s, float x) => (float so, float y) {"
        " so = Add (s, x) y = Neg (so) }> (l, s0, x) }"
    )
    feeds = {"l": np.array([1, 3]), "s0": np.float32([10, 20])}
    feeds["x"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    outputs, events = run(checked(treadle.expose(model)), feeds, engines), heard(model, feeds)
    name = "main/scan_0.body/y"
    assert [float(v) for v in outputs[name]] == [float(v) for _, v in events[name]]
    assert outputs[f"{name}@at"].tolist() == [[0, 0], [1, 0], [1, 1], [1, 2]]
    assert outputs["sf"].tolist() == [10, 32]


def test_functions_are_exposed_by_the_place_of_their_call():
    model = (
        '<ir_version: 10, opset_import: ["" : 21, "f" : 1]>\n'
        "g (float[2] x) => (float[2] y) { a = f.twice (x) y = f.twice (a) }\n"
        '<domain: "f", opset_import: ["" : 21]> twice (v) => (w) { u = Add (v, v) w = Neg (u) }'
    )
    exposed = treadle.expose(model, "*/u")
    names = [value.name for value in exposed.main.results]
    assert names == ["y", "main/twice_0/u", "main/twice_1/u"]


def test_values_that_cannot_be_exposed_are_named_in_the_error():
    old = RAGGED.replace('"" : 21', '"" : 13')
    with pytest.raises(Unsupported, match="opset 14; the model has opset 13") as error:
        treadle.expose(old, ["p", "k2", "r"])
    assert len(error.value.findings) == 2
    with pytest.raises(Unsupported, match="only tensors of a fixed shape"):
        treadle.expose(RAGGED, "r", capacity=4)


def test_arguments_that_make_no_sense():
    with pytest.raises(InputError, match='nothing matches "k3"; did you mean "k'):
        treadle.expose(NESTED, "k3")
    with pytest.raises(InputError, match="picks only constants"):
        treadle.expose(NESTED, "two")
    with pytest.raises(InputError, match="capacity is 0"):
        treadle.expose(NESTED, "k", capacity=0)
    with pytest.raises(InputTypeError, match="capacity is a float"):
        treadle.expose(NESTED, "k", capacity=1.5)  # type: ignore[arg-type]


def test_the_time_of_exposing_grows_linearly():
    adds = " ".join(f"v{k + 1} = Add (v{k}, x)" for k in range(5_000))
    text = f"""{HEADER} g (float[2] x, int64 t) => (float[2] y) {{
        y = Loop <body = b (int64 i, bool go, float[2] v0) => (bool on, float[2] v5000) {{
            on = Identity (go) {adds} }}> (t, , x) }}"""
    started = time.process_time()
    exposed = treadle.expose(text)
    assert len(exposed.main.results) == 5_004
    assert time.process_time() - started < 4.5  # 8 s where each name is compared with the others

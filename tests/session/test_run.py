"""InferenceSession.run: onnxruntime's behaviour, and treadle's additions."""

import threading

import numpy as np
import onnx
import pytest

import treadle
from treadle.errors import (
    InputError,
    InvalidModel,
    LoadError,
    RunError,
    TreadleError,
    Unsupported,
)
from treadle.tracing import StageDone, ValueMade

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
SUM = HEAD + (
    "g (int64 M, float[n] x) => (float[n] total, float[k, n] parts) {\n"
    " total, parts = Loop <body = b (int64 i, bool c, float[n] s)"
    " => (bool co, float[n] so, float[n] y)"
    ' { co = Identity(c) so = Add(s, x) y = Mul(so, so) }> (M, "", x) }'
)
ENGINES = [("interp",), ("onnxruntime", "interp")]


@pytest.fixture(params=ENGINES, ids=["interp", "default"])
def engines(request):
    return request.param


def session(text, engines=None, **options):
    return treadle.InferenceSession(text, engines=engines, **options)


def test_onnxruntimes_methods():
    s = session(SUM)

    assert [(a.name, a.type, a.shape) for a in s.get_inputs()] == [
        ("M", "tensor(int64)", []),
        ("x", "tensor(float)", ["n"]),
    ]
    assert [(a.name, a.type, a.shape) for a in s.get_outputs()] == [
        ("total", "tensor(float)", ["n"]),
        ("parts", "tensor(float)", ["k", "n"]),
    ]
    assert s.get_modelmeta().graph_name == "g"
    assert s.get_providers() == ["CPUExecutionProvider"]
    feeds = {"M": np.array(2), "x": np.array([1, 2], np.float32)}
    assert s.run(["parts"], feeds)[0].tolist() == [[4, 16], [9, 36]]
    assert [out.shape for out in s.run(None, feeds)] == [(2,), (2, 2)]


def test_scalars_lists_and_numpy_scalars(engines):
    s = session(SUM, engines)

    for trips, x in [(2, [1, 2]), (np.int64(2), [1.0, 2.0]), (True + 1, (1, 2))]:
        total, _ = s.run(None, {"M": trips, "x": x})

        assert total.dtype == np.float32
        assert total.tolist() == [3, 6]


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({"M": 2}, 'input "x" is missing, it wants float32[n]'),
        ({"M": 2, "x": [1], "y": 1}, 'no input "y", it has M, x'),
        ({"m": 2, "x": [1]}, 'no input "m", did you mean "M"?'),
        ({"M": 2, "x": np.ones(1)}, 'input "x": float64[1] is given, float32[n] is wanted'),
        ({"M": 2, "x": np.ones((1, 1), np.float32)}, "float32[1,1] is given, float32[n] is wanted"),
        ({"M": 2.5, "x": [1]}, 'input "M": 2.5 does not fit int64[]'),
        ({"M": 2, "x": [[1], [2, 3]]}, "its lists are not equally long"),
        ({"M": 2, "x": None}, "None is no float32[n]"),
        ({"M": 2, "x": ["a"]}, "string[1] is given"),
    ],
)
def test_feeds_that_do_not_fit(feeds, words):
    with pytest.raises(InputError) as caught:
        session(SUM).run(None, feeds)

    assert words in str(caught.value)


def test_every_fault_of_the_feeds_is_reported_at_once():
    with pytest.raises(InputError, match=r'"x" is missing.*"M": 2\.5 does not fit'):
        session(SUM).run(None, {"M": 2.5})


def test_an_unknown_output_is_an_error():
    with pytest.raises(InputError, match='did you mean "total"'):
        session(SUM).run(["totals"], {"M": 1, "x": [1]})


def test_a_listener_hears_every_value(engines):
    heard = []

    session(SUM, engines).run(None, {"M": 2, "x": [1]}, listener=heard.append)

    made = {(e.iterations, e.name): e.value for e in heard if isinstance(e, ValueMade)}
    assert made[(0,), "so"].tolist() == [2]
    assert made[(1,), "y"].tolist() == [9]
    assert made[(), "total"].tolist() == [3]


def test_a_recorder_keeps_the_named_values():
    recorder = treadle.Recorder(names="so")

    session(SUM).run(None, {"M": 3, "x": [1]}, listener=recorder)

    assert [event.value.tolist() for event in recorder.of("so")] == [[2], [3], [4]]
    assert set(recorder.values) == {("main/loop_0.body", "so")}


def test_stages_of_loading_are_events():
    stages = []
    session(SUM, listener=stages.append)

    assert [e.stage for e in stages if isinstance(e, StageDone)][:2] == ["read", "check"]


def test_several_threads(engines):
    s = session(SUM, engines)
    wrong = []

    def work(seed):
        for trips in range(20):
            x = np.full(3, seed, np.float32)
            total, parts = s.run(None, {"M": trips, "x": x})
            if not np.array_equal(total, x * (trips + 1)) or len(parts) != trips:
                wrong.append((seed, trips))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_inputs_with_a_default():
    model = onnx.parser.parse_model(
        HEAD + "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Mul(x, w) }"
    )
    s = session(model)

    assert [a.name for a in s.get_inputs()] == ["x"]
    assert [a.name for a in s.get_overridable_initializers()] == ["w"]
    assert s.run(None, {"x": [3, 4]})[0].tolist() == [3, 8]
    assert s.run(None, {"x": [3, 4], "w": [5, 6]})[0].tolist() == [15, 24]
    assert s.run(None, {"x": [3, 4]})[0].tolist() == [3, 8]


def scan(axes=""):
    return HEAD + (
        "g (float[a] x, float[b] z) => (float[n] y) {\n"
        " y = Scan <num_scan_inputs=2, body = b (float p, float q) => (float o)"
        " { o = Add(p, q) }> (x, z) }"
    )


CHANGING = HEAD + (
    "g (int64 M, float[n] x) => (float[a, b] ys) {\n"
    " s, ys = Loop <body = b (int64 i, bool c, v) => (bool co, so, y)"
    ' { co = Identity(c) so = Concat <axis=0> (v, x) y = Identity(v) }> (M, "", x) }'
)


@pytest.mark.parametrize(
    ("text", "feeds", "error", "words"),
    [
        (
            scan(),
            {"x": [1, 2], "z": [1, 2, 3]},
            RunError,
            ['main/scan_0: "x" has 2 items', '"z" has 3'],
        ),
        (
            CHANGING,
            {"M": 3, "x": [1, 2]},
            RunError,
            ["main/loop_0, iteration 1", "float32[4]", "float32[2]"],
        ),
        (HEAD + "g (float x) => (float y) { y = Sine(x) }", {"x": 1}, InvalidModel, ["Sin"]),
        (
            HEAD + "g (float x) => (float y) { y = my.Sin(x) }",
            {"x": 1},
            InvalidModel,
            ['no opset of the domain "my"'],
        ),
        (
            HEAD.replace("]>", ', "my" : 1]>') + "g (float x) => (float y) { y = my.Sin(x) }",
            {"x": 1},
            Unsupported,
            ["my::Sin"],
        ),
        (
            HEAD.replace("21", "2100") + "g (float x) => (float y) { y = Sin(x) }",
            {"x": 1},
            InvalidModel,
            ["opset 2100", "newest known"],
        ),
        (SUM.replace("bool co, float[n] so,", "bool co,"), {}, LoadError, ["main/loop_0", "body"]),
    ],
)
def test_errors_name_their_cause(engines, text, feeds, error, words):
    with pytest.raises(error) as caught:
        session(text, engines).run(None, feeds)

    assert isinstance(caught.value, TreadleError)
    for word in words:
        assert word in str(caught.value)


def test_an_error_in_nested_loops_says_every_iteration(engines):
    text = HEAD + (
        "g (int64 M, int64[n] x) => (int64[k] y) {\n"
        " y = Loop <body = b (int64 i, bool c) => (bool co, int64 o) { co = Identity(c)\n"
        "  t = Loop <body = d (int64 j, bool e, int64 v) => (bool f, int64 w)"
        ' { f = Identity(e) a = Add(i, j) g = Gather(x, a) w = Add(v, g) }> (M, "", i)\n'
        '  o = Identity(t) }> (M, "") }'
    )
    with pytest.raises(RunError) as caught:
        session(text, engines).run(None, {"M": 3, "x": [1, 2, 3]})

    assert caught.value.path == "main/loop_0.body/loop_1.body/gather_2"
    assert caught.value.iterations == (1, 2)


def test_unknown_engines_are_an_error():
    with pytest.raises(InputError, match=r"gpu.*known: jit"):
        session(SUM, ["gpu"])


def test_explain_names_engines_and_reasons():
    assert "jit: native code can run all its steps" in session(SUM).explain()
    assert "onnxruntime 1." in session(SUM, ["onnxruntime"]).explain()
    assert "interp" in session(SUM, ["interp"]).explain()


ONE = HEAD + "g (float[2,3] x, int64 n, string[1] s) => (float[2,3] y, int64 n2, string[1] s2) { y = Neg(x) n2 = Identity(n) s2 = Identity(s) }"  # noqa: E501  # fmt: skip
FED = {"x": np.ones((2, 3), np.float32), "n": 3, "s": ["a"]}


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("n", 2**63, "does not fit"),
        ("n", np.uint64(2**63), "does not fit"),
        ("n", np.float64(1.5), "does not fit"),
        ("x", [[1e300] * 3] * 2, "does not fit"),
        ("s", np.array([b"\xff"], object), "UTF-8"),
    ],
)
def test_values_that_the_dtype_cannot_hold(engines, name, value, complaint):
    with pytest.raises(InputError, match=complaint) as caught:
        session(ONE, engines).run(None, {**FED, name: value})

    assert f'"{name}"' in str(caught.value)


@pytest.mark.parametrize("value", [np.int32(7), np.uint64(7), np.float64(7), 7])
def test_numpy_scalars_of_another_dtype_that_fit(engines, value):
    assert session(ONE, engines).run(["n2"], {**FED, "n": value}) == [7]


def test_arrays_of_the_other_byte_order(engines):
    (y,) = session(ONE, engines).run(["y"], {**FED, "x": np.full((2, 3), 5, ">f4")})

    assert y.dtype == np.float32
    assert (y == -5).all()


@pytest.mark.parametrize("feed", [None, [1], "x"])
def test_a_feed_that_is_no_dict(engines, feed):
    with pytest.raises(InputError, match="wanted a dict"):
        session(ONE, engines).run(None, feed)


def test_wanted_outputs_and_options_of_the_wrong_kind(engines):
    with pytest.raises(InputError, match=r'as a list: \["y"\]'):
        session(ONE, engines).run("y", FED)
    with pytest.raises(InputError, match="no RunOptions"):
        session(ONE, engines).run(None, FED, {"terminate": True})


def test_no_names_ask_for_every_output(engines):
    every = session(ONE, engines).run(None, FED)

    for _ in range(2):
        named = session(ONE, engines).run([], FED)
        assert [np.asarray(v).tolist() for v in named] == [np.asarray(v).tolist() for v in every]


def test_an_output_asked_for_twice_is_two_arrays(engines):
    first, second = session(ONE, engines).run(["y", "y"], FED)

    first[:] = 9
    assert (second == -1).all()


def test_an_ordinary_script_of_onnxruntime(tmp_path):
    import treadle as ort

    onnx.save(onnx.parser.parse_model(ONE), tmp_path / "one.onnx")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    assert "CPUExecutionProvider" in ort.get_available_providers()
    s = ort.InferenceSession(
        path_or_bytes=str(tmp_path / "one.onnx"),
        sess_options=options,
        providers=["CPUExecutionProvider"],
    )
    assert (s.run([s.get_outputs()[0].name], FED)[0] == -1).all()


def test_the_names_and_numbers_of_onnxruntimes_options():
    import onnxruntime

    for name in ("GraphOptimizationLevel", "ExecutionMode"):
        theirs = getattr(onnxruntime, name).__members__
        ours = getattr(treadle, name).__members__
        assert {k: v.value for k, v in ours.items()} == {k: v.value for k, v in theirs.items()}


def test_an_unknown_session_option_is_an_error():
    with pytest.raises(InputError, match='did you mean "engines"'):
        treadle.InferenceSession(SUM, engine=("interp",))


@pytest.mark.parametrize("engines", [("interp",), ("jit", "interp"), None])
def test_a_returned_constant_is_a_copy(engines):
    text = """<ir_version: 10, opset_import: ["" : 18]>
      g (int64 n, float[4] p) => (float[4] a, float[4] k) {
        k = Constant <value = float[4] {1.0, 2.0, 3.0, 4.0}> ()
        a = Loop (n, , p) <body = f (int64 i, bool go, float[4] x) => (bool on, float[4] y) {
          on = Identity (go)
          y = Add (x, k)
        }>
      }"""
    session = treadle.InferenceSession(text, engines=engines)
    feed = {"n": np.array(2), "p": np.zeros(4, np.float32)}
    for _ in range(2):
        a, k = session.run(None, feed)
        assert a.tolist() == [2, 4, 6, 8]
        assert k.tolist() == [1, 2, 3, 4]
        k[...] = a[...] = 99


TOGETHER = """<ir_version: 10, opset_import: ["" : 21]>
g (float[T,B,3] x, float[B,3] h) => (float[B,3] y)
{
  y, _ = Scan <num_scan_inputs = 1, body = step
    (float[B,3] h_in, float[B,3] row) => (float[B,3] h_out, float[B,3] out)
    { h_out = Add (h_in, row)
      out = Identity (h_out) }> (h, x)
}
"""


@pytest.mark.parametrize(("in_x", "in_h"), [(1, 2), (2, 1), (3, 2)])
def test_feeds_that_do_not_fit_each_other_are_blamed_before_a_body(engines, in_x, in_h):
    x, h = np.zeros((4, in_x, 3), np.float32), np.zeros((in_h, 3), np.float32)

    if in_x == 1:  # it broadcasts, and runs
        session(TOGETHER, engines).run(None, {"x": x, "h": h})
        return
    with pytest.raises(InputError) as caught:
        session(TOGETHER, engines).run(None, {"x": x, "h": h})

    assert (
        f'"B" is {in_x} in x (float32[4,{in_x},3], axis 1) and {in_h} in h (float32[{in_h},3]'
        in str(caught.value)
    )
    assert "iteration 0" in str(caught.value)

"""Long products in chunks of rows: the same numbers, and a run that stops inside one of them."""

import time

import numpy as np
import pytest

import treadle
from treadle.jit.schedule import cost_model
from treadle.jit.schedule.steps import chunks

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
    assert not cost_model.is_long((600, 600, 600))
    assert cost_model.is_long((700, 700, 700))


LOOP = """<ir_version: 10, opset_import: ["": 21]>
g (int64 n, float[{shape}] x, float[40, 30] w) => (float[{shape}] y) {{
  y = Loop (n, , x) <body = b (int64 i, bool go, float[{shape}] s) => (bool on, float[{shape}] t) {{
    on = Identity (go)
    {step}
  }}>
}}"""
STEPS = [
    ("40,30", "t = Tan (s)"),
    ("1,1200", "t = Tan (s)"),
    ("40,30", "u = Exp (s) m = ReduceMean <keepdims = 0> (u) t = Add (x, m)"),
    ("40,30", "a = Constant <value_ints = [0]> () m = ReduceMax (s, a) t = Add (x, m)"),
    ("40,30", "a = Constant <value_ints = [1]> () m = ReduceSum (s, a) t = Add (x, m)"),
    ("40,30", "a = Constant <value_ints = [0]> () m = ReduceMin (s, a) t = Sub (s, m)"),
    ("30,30", "u = Transpose <perm = [1, 0]> (s) v = Exp (u) t = Mul (v, x)"),
    ("40,30", "p = Constant <value_ints = [1, 0, 1, 0]> () u = Pad (s, p) "
              "f = Constant <value_ints = [0]> () e = Constant <value_ints = [40]> () "
              "v = Slice (u, f, e, f) t = Add (v, x)"),
    ("4,40", "v = Transpose <perm = [1, 0]> (w) m = MatMul (w, v) t = MatMul (s, m)"),
    ("1,2,30,40", "k = Constant <value_floats = [{numbers}]> () "
                  "d = Constant <value_ints = [2, 2, 5, 5]> () c = Reshape (k, d) "
                  "t = Conv <pads = [2, 2, 2, 2]> (s, c)"),
]  # fmt: skip
NUMBERS = ", ".join(str(0.01 * (k % 7)) for k in range(100))


@pytest.mark.parametrize(("shape", "step"), STEPS)
def test_divided_nests_give_the_same_numbers(shape, step, monkeypatch, rng):
    text = LOOP.format(shape=shape, step=step.replace("{numbers}", NUMBERS))
    x = rng.uniform(-0.5, 0.5, [int(extent) for extent in shape.split(",")]).astype(np.float32)
    feeds = {"n": np.array(2), "x": x, "w": rng.uniform(-0.1, 0.1, (40, 30)).astype(np.float32)}
    (wanted,) = treadle.InferenceSession(text, engines=("interp",)).run(None, feeds)
    polls = []
    for long in (2**28, 2**9):
        for module in (chunks, cost_model):
            monkeypatch.setattr(module, "LONG", long)
        session = treadle.InferenceSession(text, engines=("jit", "interp"))
        (found,) = session.run(None, feeds)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        text_of_code = session.explain("llvm")
        polls.append(sum(map(text_of_code.count, ("@PyObject_CallNoArgs(", "@treadle_poll("))))
    assert polls[1] > polls[0] > 0


MOVED = """<ir_version: 10, opset_import: ["": 21]>
g (int64 n, float[{shape}] x, float[128,128] w) => (float[{shape}] y, float[n,128,{rows}] all) {{
  y, all = Loop (n, , x) <body = b (int64 i, bool go, float[{shape}] s)
      => (bool on, float[{shape}] t, float[128,{rows}] e) {{
    on = Identity (go)
    {step}
    e = Transpose <perm = [1, 0]> (s)
  }}>
}}"""


@pytest.mark.parametrize(
    ("rows", "step"),
    [
        (1, "v = Transpose <perm = [1, 0]> (w)  t = MatMul (s, v)"),
        (3, "v = Transpose <perm = [1, 0]> (w)  t = MatMul (s, v)"),
        (128, "t = Identity (s)"),
        (131, "t = Identity (s)"),
    ],
    ids=["a dot product", "three rows", "tiles", "tiles and a rest"],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_long_moves_of_memory_have_safepoints(rows, step, threads, monkeypatch, rng):
    text = MOVED.format(shape=f"{rows},128", rows=rows, step=step)
    x = rng.integers(-3, 4, (rows, 128)).astype(np.float32)
    w = np.eye(128, dtype=np.float32)[rng.permutation(128)]
    feeds = {"n": np.array(12), "x": x, "w": w}
    wanted = treadle.InferenceSession(text, engines=("interp",)).run(None, feeds)
    options, polls = treadle.SessionOptions(), []
    options.intra_op_num_threads = threads
    for long in (2**28, 2**11):
        for module in (chunks, cost_model):
            monkeypatch.setattr(module, "LONG", long)
        session = treadle.InferenceSession(text, options, engines=("jit",))
        for found, each in zip(session.run(None, feeds), wanted, strict=True):
            np.testing.assert_array_equal(found, each)
        text_of_code = session.explain("llvm")
        polls.append(sum(map(text_of_code.count, ("@PyObject_CallNoArgs(", "@treadle_poll("))))
    assert polls[1] > polls[0] > 0


STACKED = """<ir_version: 10, opset_import: ["": 21]>
g (int64 n, float[1000,1] x, float[1,1000] w) => (float[n,1000,1000] y) {
  z = Constant <value_float = 0.0> ()
  s, y = Loop (n, , z) <body = b (int64 i, bool go, float r) =>
      (bool on, float q, float[1000,1000] t) {
    on = Identity (go)
    q = Neg (r)
    t = Add (x, w)
  }>
}"""


def test_a_long_copy_is_divided_and_shared_by_threads(monkeypatch, rng):
    for module in (chunks, cost_model):
        monkeypatch.setattr(module, "LONG", 2**16)
    x, w = rng.normal(size=(1000, 1)), rng.normal(size=(1, 1000))
    feeds = {"n": np.array(2), "x": x.astype(np.float32), "w": w.astype(np.float32)}
    session = treadle.InferenceSession(STACKED, engines=("jit",))
    (found,) = session.run(None, feeds)
    np.testing.assert_array_equal(found, np.stack([feeds["x"] + feeds["w"]] * 2))


OPEN = """<ir_version: 10, opset_import: ["": 21]>
g (int64 n, float[k] x, int64[k] order) => (float[k] y) {{
  y = Loop (n, , x) <body = b (int64 i, bool go, float[k] s) => (bool on, float[k] t) {{
    on = Identity (go)
    {step}
  }}>
}}"""


@pytest.mark.parametrize("step", ["t = Erf (s)", "t = ScatterElements (s, order, x)"])
def test_a_run_stops_between_iterations_over_extents_known_as_it_runs(step):
    text = OPEN.format(step=step)
    session = treadle.InferenceSession(text, engines=("jit", "interp"))
    x = np.zeros(1_000_000, np.float32)
    feeds = {"n": np.array(1000), "x": x, "order": np.arange(len(x))}
    start = time.monotonic()
    with pytest.raises(treadle.LimitExceeded, match=r"max_seconds=0\.01"):
        session.run(None, feeds, treadle.RunOptions(max_seconds=0.01))
    assert time.monotonic() - start < 5


@pytest.mark.parametrize(
    "step",
    [
        "size = Shape (s)  t, at = TopK (s, size)",
        "size = Constant <value_ints = [150000]> ()  u, at = TopK (s, size)  t = Identity (s)",
        "t = Neg (s)  u, at, back, counts = Unique (s)",
    ],
)
def test_a_run_stops_inside_a_sort(step, rng):
    session = treadle.InferenceSession(OPEN.format(step=step), engines=("jit", "interp"))
    x = rng.normal(size=2_000_000).astype(np.float32)
    feeds = {"n": np.array(1), "x": x, "order": np.arange(len(x))}
    with pytest.raises(treadle.LimitExceeded, match=r"max_seconds=0\.01"):
        session.run(None, feeds, treadle.RunOptions(max_seconds=0.01))

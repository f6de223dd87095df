"""Profiles: times in native code, interp and onnxruntime, and the trace file."""

import json
import platform
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import treadle

LOOPS = """<ir_version: 10, opset_import: ["" : 21]>
g (float[64,64] w, float[64] h, int64 n) => (float[64] last, float[U,64] all) {
  last, all = Loop (n, , h) <body = b (int64 i, bool c, float[64] x) => (bool go, float[64] y, float[64] o) {
    go = Identity (c)
    axes = Constant <value_ints = [1]> ()
    column = Unsqueeze (x, axes)
    many = MatMul (w, column)
    flat = Squeeze (many, axes)
    y = Tanh (flat)
    o = Identity (y)
  }>
}"""  # noqa: E501
FEEDS = {
    "w": np.eye(64, dtype=np.float32), "h": np.ones(64, np.float32), "n": np.int64(200),
}  # fmt: skip
CALLING = """<ir_version: 10, opset_import: ["" : 21]>
g (float[8] h, int64 n) => (float[8] last) {
  last = Loop (n, , h) <body = b (int64 i, bool c, float[8] x) => (bool go, float[8] y) {
    go = Identity (c)
    y = Unique <sorted = 1> (x)
  }>
}"""
NESTED = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float x) => (float last) {
  last = Loop (n, , x) <body = b (int64 i, bool c, float a) => (bool go, float o) {
    go = Identity (c)
    o = Loop (i, , a) <body = d (int64 j, bool cc, float t) => (bool more, float u) {
      more = Identity (cc)
      s = Sin (t)
      u = Add (s, x)
    }>
  }>
}"""
STRAIGHT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[64,64] x) => (float[64,64] y) { a = MatMul (x, x)  b = Softmax (a)  y = MatMul (b, a) }"""
is_sampled = sys.platform == "linux" and platform.machine() == "x86_64"
has_clocks = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the counter of x86-64 is read"
)


@has_clocks
def test_a_loop_of_native_code_tells_its_iterations() -> None:
    found = treadle.profile(LOOPS, FEEDS, runs=5)
    (region,) = found.regions
    (loop,) = found.loops
    assert (region.engine, region.times) == ("jit", 1)
    assert (loop.path, loop.times, loop.iterations) == ("main/loop_0", 1, 200)
    assert loop.first is not None
    assert loop.steady is not None
    assert loop.last is not None
    assert 0 < loop.seconds <= region.seconds <= found.seconds
    told = loop.first + loop.last + loop.steady * 198
    assert told == pytest.approx(loop.seconds, rel=0.02)
    assert found.compiling > 0


@has_clocks
def test_times_of_nests_and_the_rest_add_up_to_the_loop() -> None:
    wide = LOOPS.replace("[64", "[512").replace(",64]", ",512]")
    feeds = {**FEEDS, "w": np.eye(512, dtype=np.float32), "h": np.ones(512, np.float32)}
    found = treadle.profile(wide, feeds, runs=5)
    assert any(each.words.startswith("matmul: float32[1,512") for each in found.nests)
    assert any(each.samples for each in found.nests) == is_sampled
    inside = [nest for nest in found.nests if nest.loop == "main/loop_0"]
    assert sum(nest.seconds for nest in inside) == pytest.approx(found.loops[0].seconds, rel=0.01)


@pytest.mark.skipif(not is_sampled, reason="samples are taken on x86-64 Linux")
def test_short_steps_are_sampled() -> None:
    found = treadle.profile(NESTED, {"n": np.int64(90), "x": np.float32(0.5)}, runs=5)
    rows = {nest.words: nest for nest in found.nests if nest.samples}
    assert {"sin: float32[]", "add: float32[]"} <= {*rows}
    assert rows["sin: float32[]"].seconds > rows["add: float32[]"].seconds
    assert {row.loop for row in rows.values()} >= {"main/loop_0.body/loop_1"}


@has_clocks
def test_an_inner_loop_is_counted_in_every_run_of_it() -> None:
    model = NESTED.replace("float x", "float[64] x").replace("float ", "float[64] ")
    found = treadle.profile(model, {"n": np.int64(90), "x": np.ones(64, np.float32)}, runs=5)
    inner = {loop.path: loop for loop in found.loops}["main/loop_0.body/loop_1"]
    assert (inner.times, inner.iterations) == (90, 90 * 89 / 2)
    assert inner.seconds > 0


@pytest.mark.skipif(not is_sampled, reason="samples are taken on x86-64 Linux")
def test_samples_leave_other_handlers_of_the_signal_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGPROF, lambda number, _: heard.append(number))
    try:
        found = treadle.profile(NESTED, {"n": np.int64(9), "x": np.float32(0.5)}, runs=1)
        assert not any(nest.samples for nest in found.nests)
        signal.raise_signal(signal.SIGPROF)
    finally:
        signal.signal(signal.SIGPROF, before)
    assert heard == [signal.SIGPROF]
    treadle.profile(NESTED, {"n": np.int64(9), "x": np.float32(0.5)}, runs=1)
    assert signal.getsignal(signal.SIGPROF) is before


@has_clocks
def test_a_call_out_of_native_code_has_its_reason() -> None:
    feeds = {"h": np.arange(8, dtype=np.float32), "n": np.int64(30)}
    session = treadle.InferenceSession(CALLING, engines=["jit", "interp"])
    found = treadle.profile(session, feeds, runs=3)
    (call,) = found.calls
    assert (call.loop, call.operator, call.times) == ("main/loop_0", "Unique-11", 30)
    assert call.why == "the operator has no native code"


def test_steps_on_interp_have_times_of_their_own() -> None:
    session = treadle.InferenceSession(LOOPS, engines=["interp"])
    found = treadle.profile(session, FEEDS, runs=3)
    paths = {each.path for each in found.operators}
    assert {"main/loop_0.body/matmul_3", "main/loop_0.body/tanh_5"} <= paths
    assert all(each.engine == "interp" for each in found.operators)
    (loop,) = found.loops
    assert (loop.engine, loop.iterations) == ("interp", 200)
    assert loop.first is not None
    assert found.compiling == 0


def test_onnxruntime_tells_its_operators_by_path() -> None:
    found = treadle.profile(STRAIGHT, {"x": np.ones((64, 64), np.float32)}, runs=3)
    told = {each.path: each.operator for each in found.operators}
    assert told["main/softmax_1"] == "Softmax"
    assert [region.engine for region in found.regions] == ["onnxruntime"]


def test_the_trace_is_one_that_chrome_opens(tmp_path: Path) -> None:
    found = treadle.profile(LOOPS, FEEDS, runs=2)
    target = tmp_path / "trace.json"
    found.write_trace(target)
    events = json.loads(target.read_text(encoding="utf-8"))
    (node,) = [event for event in events if event["cat"] == "Node"]
    assert node["ph"] == "X"
    assert node["args"]["engine"] == "jit"
    for event in events:
        assert node["ts"] <= event["ts"]
        assert event["ts"] + event["dur"] <= node["ts"] + node["dur"] + 1
    with pytest.raises(treadle.InputError, match="cannot be written"):
        found.write_trace(tmp_path / "none" / "trace.json")


def test_the_text_and_the_data_agree() -> None:
    found = treadle.profile(LOOPS, FEEDS, runs=2)
    assert "main/loop_0 (jit)" in str(found) or not found.loops
    assert json.loads(json.dumps(found.as_plain()))["runs"] == 2
    assert "\n" not in repr(found)


def test_a_profile_leaves_the_session_as_it_is() -> None:
    session = treadle.InferenceSession(LOOPS)
    before = session.run(None, FEEDS)
    treadle.profile(session, FEEDS, runs=1)
    assert not any("clocks" in made for made in _made(session))
    assert np.array_equal(before[0], session.run(None, FEEDS)[0])


def _made(session: treadle.InferenceSession) -> list[dict]:
    from treadle.report import compilations

    return [dict(each.data) for each in compilations(session.plan)]


def test_invalid_arguments_are_errors() -> None:
    with pytest.raises(treadle.InputError, match="runs is 0"):
        treadle.profile(LOOPS, FEEDS, runs=0)
    with pytest.raises(treadle.InputError):
        treadle.profile(LOOPS, {"w": FEEDS["w"]})
    with pytest.raises(TypeError, match="feeds is None"):
        treadle.profile(LOOPS, None)

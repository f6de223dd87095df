"""Profiles: times in native code, interp and onnxruntime, and the trace file."""

import json
import platform
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
STRAIGHT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[64,64] x) => (float[64,64] y) { a = MatMul (x, x)  b = Softmax (a)  y = MatMul (b, a) }"""
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
    words = {nest.words for nest in found.nests}
    assert any(each.startswith("matmul: float32[1,512") for each in words)
    assert "shorter steps" in words
    assert sum(nest.seconds for nest in found.nests) == pytest.approx(
        found.loops[0].seconds, rel=0.01
    )


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

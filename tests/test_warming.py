"""warm_up, and its log messages."""

import logging

import numpy as np
import pytest

import treadle

SUM = """<ir_version: 10, opset_import: ["" : 21]>
g (float[T,B] x, float[B] h) => (float[B] y, float[T,B] ys) {
  y, ys = Scan <num_scan_inputs = 1, body = b (float[B] s, float[B] r) => (float[B] t, float[B] o) {
    t = Add (s, r)  o = Tanh (t) }> (h, x)
}"""
ENDLESS = """<ir_version: 10, opset_import: ["" : 21]>
g (float x) => (float y) {
  yes = Constant <value = bool {1}> ()
  y = Loop ("", yes, x) <body = b (int64 i, bool c, float s) => (bool d, float t) {
    d = Identity (c)  t = Tanh (s) }>
}"""
TABLE = """<ir_version: 10, opset_import: ["" : 21]>
g (float[3] x, int64[N] at) => (float[N] y) {
  n = Shape (at)
  z = Constant <value_int = 0> ()
  k = Gather (n, z)
  y = Loop (k, "") <body = b (int64 i, bool c) => (bool d, float r) {
    d = Identity (c)  a = Gather (at, i)  r = Gather (x, a) }>
}"""


def made(session: treadle.InferenceSession) -> int:
    """How many kernels the session has."""
    return sum(
        len(region.runnable.cache.compiled)
        for region in session.plan.main.regions
        if region.runnable
    )


def fed(steps: int, width: int) -> dict[str, np.ndarray]:
    return {"x": np.ones((steps, width), np.float32), "h": np.zeros(width, np.float32)}


def session_of(model: object, cache: object = "") -> treadle.InferenceSession:
    options = treadle.SessionOptions(cache_dir=str(cache))
    return treadle.InferenceSession(model, options, engines=["jit", "interp"])


def test_a_run_after_warm_up_compiles_nothing(caplog: pytest.LogCaptureFixture) -> None:
    session = session_of(SUM)
    session.warm_up(dims={"B": 2})
    with caplog.at_level(logging.INFO, "treadle"):
        session.run(None, fed(50, 2))
    assert caplog.messages == []
    with caplog.at_level(logging.INFO, "treadle"):
        session.run(None, fed(50, 3))
    (line,) = caplog.messages
    assert line.startswith("main: ")
    assert "compiled in" in line


def test_several_extents_are_each_warmed_up() -> None:
    session = session_of(SUM)
    session.warm_up(dims={"B": [1, 2], "T": (4, 5)})
    assert made(session) == 2


def test_feeds_are_those_of_a_run() -> None:
    session = session_of(SUM)
    session.warm_up(fed(4, 7))
    assert made(session) == 1


def test_a_loop_that_never_stops_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treadle.warming.warm_up._SECONDS", 0.3)
    session = session_of(ENDLESS)
    session.warm_up()
    assert made(session) == 1


def test_a_model_that_fails_on_generated_feeds() -> None:
    session = session_of(TABLE)
    with pytest.raises(treadle.InputError, match="generated for x, at; give feeds: "):
        session.warm_up(dims={"N": 50})
    session.warm_up({"at": np.array([0, 1])})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"dims": {"L": 3}}, 'no input has an extent "L"'),
        ({"dims": {"T": -1}}, 'the extent of "T" is -1, wanted a whole number from 0'),
        ({"dims": {"T": "many"}}, "is 'many', wanted a whole number"),
        ({"dims": 3}, "dims is an int, wanted a mapping"),
        ({"feeds": [1]}, "feeds is a list, wanted a mapping"),
        ({"feeds": {"y": 1}}, '"y"'),
    ],
)
def test_invalid_arguments_of_warm_up(given: dict[str, object], told: str) -> None:
    with pytest.raises(treadle.InputError, match=told):
        session_of(SUM).warm_up(**given)  # type: ignore[arg-type]


def test_a_region_that_is_handed_over_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    session = session_of(TABLE)
    feeds = {"x": np.ones(3, np.float32), "at": np.array([0, 9])}
    with caplog.at_level(logging.INFO, "treadle"):
        for _ in range(2):
            with pytest.raises(treadle.RunError):
                session.run(None, feeds)
    told = [line for line in caplog.messages if "jit hands it over: " in line]
    assert told
    assert len(set(told)) == len(told)

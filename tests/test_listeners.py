"""A listener may use the session that calls it, from its own or another thread."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import treadle
from treadle.tracing import StageDone

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[k] x) => (float[k] y) {
  y = Loop (n, "", x) <body = b (int64 i, bool c, float[k] s) => (bool d, float[k] z) {
    d = Identity (c)
    z = Neg (s)
  }>
}"""
FEEDS = {"n": np.array(3), "x": np.ones(4, np.float32)}


def within(seconds: float, work: Any) -> bool:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    return not thread.is_alive()


def test_a_listener_explains_and_runs_the_session_it_hears_of() -> None:
    heard: list[str] = []

    def listener(event: object) -> None:
        if isinstance(event, StageDone) and sessions:
            (session,) = sessions
            ended = within(10, session.explain) and within(10, lambda: session.run(None, FEEDS))
            heard.append(f"{event.stage} {ended}")

    sessions: list[treadle.InferenceSession] = []
    sessions.append(treadle.InferenceSession(TEXT, listener=listener))
    assert within(60, lambda: sessions[0].run(None, FEEDS, treadle.RunOptions(max_iterations=9)))
    assert heard
    assert all(each.endswith("True") for each in heard)


def test_stages_are_heard_in_order_and_before_an_error() -> None:
    heard: list[str] = []

    def listener(event: object) -> None:
        assert isinstance(event, StageDone)
        heard.append(event.stage)

    treadle.InferenceSession(TEXT, listener=listener)
    assert heard[:2] == ["read", "check"]
    assert heard[-2:] == ["plan", "bind"]
    heard.clear()
    try:
        treadle.InferenceSession(TEXT.replace("Neg", "Nonsense"), listener=listener)
    except treadle.TreadleError:
        assert heard[:1] == ["read"]

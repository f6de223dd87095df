"""Runs that are limited, terminated or interrupted."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import treadle
from tests.session.test_run import ENGINES, HEAD, SUM, session
from treadle.errors import LimitExceeded, Terminated

ENDLESS = HEAD + (
    "g (float x) => (float y) {\n"
    " y = Loop <body = b (int64 i, bool c, float s) => (bool co, float so)"
    ' { co = Identity(c) so = Sin(s) }> ("", "", x) }'
)


@pytest.fixture(params=ENGINES, ids=["interp", "default"])
def engines(request):
    return request.param


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"max_iterations": 100}, "max_iterations=100 .*raise the limit"),
        ({"max_seconds": 0.05}, "max_seconds=0.05 .*raise the limit"),
    ],
)
def test_limits_end_an_endless_loop(engines, bounds, words):
    started = time.monotonic()
    with pytest.raises(LimitExceeded, match=words) as caught:
        session(ENDLESS, engines).run(None, {"x": 1}, treadle.RunOptions(**bounds))

    assert "main" in caught.value.path
    assert time.monotonic() - started < 2


def test_max_bytes(engines):
    feeds = {"M": 10**6, "x": np.zeros(1000, np.float32)}
    with pytest.raises(
        LimitExceeded, match=r"main/loop_0, iteration \d+: .*max_bytes=1000000; raise the limit"
    ):
        session(SUM, engines).run(None, feeds, treadle.RunOptions(max_bytes=10**6))


def test_terminate(engines):
    options = treadle.RunOptions()
    s = session(ENDLESS, engines)
    timer = threading.Timer(0.2, lambda: setattr(options, "terminate", True))
    timer.start()
    started = time.monotonic()

    with pytest.raises(Terminated):
        s.run(None, {"x": 1}, options)

    assert time.monotonic() - started < 0.2 + 0.5


INTERRUPTED = f"""
import sys, threading, time, treadle
main = threading.get_ident()

def report():
    while session.run.__func__.__code__ not in codes(sys._current_frames()[main]):
        time.sleep(0.01)
    time.sleep(0.1)
    print("running", flush=True)

def codes(frame):
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back

session = treadle.InferenceSession({ENDLESS!r}, engines=ENGINES)
threading.Thread(target=report, daemon=True).start()
session.run(None, {{"x": 1}})
print("ended by itself", flush=True)
"""


def test_ctrl_c(engines, tmp_path):
    """The loop has no end of its own, and the signal comes when it runs: it was stopped."""
    script = tmp_path / "endless.py"
    script.write_text(INTERRUPTED.replace("ENGINES", repr(engines)))
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "running\n"
            process.send_signal(signal.SIGINT)
            said, errors = process.communicate(timeout=60)
        finally:
            process.kill()

    assert said == ""
    assert "session.run(None" in errors
    assert errors.endswith("KeyboardInterrupt\n")

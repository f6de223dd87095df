"""A run inside onnxruntime stops on request, and other runs continue."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

from treadle.delegate import cancellation
from treadle.errors import LimitExceeded, Terminated
from treadle.plan import Limits, RunContext

ENDLESS = """g (float x) => (float y) {
    y = Loop <body = b (int64 i, bool c, float v) => (bool c, float w) { w = Add(v, v) }>
        ("", "", x) }"""
SOON = 0.5
X = np.array(0, np.float32)


@dataclass
class Options:
    terminate: bool = False


def later(seconds, act):
    threading.Timer(seconds, act).start()


def test_terminate_stops_a_run(whole):
    run, options, asked = whole(ENDLESS), Options(), []

    def stop():
        asked.append(time.monotonic())
        options.terminate = True

    later(0.2, stop)
    with pytest.raises(Terminated):
        run(X, context=RunContext(options=options))
    assert time.monotonic() - asked[0] < SOON


def test_terminate_stops_a_run_outside_the_main_thread(whole):
    run, options, ended = whole(ENDLESS), Options(), []

    def work():
        with pytest.raises(Terminated):
            run(X, context=RunContext(options=options))
        ended.append(time.monotonic())

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.1)
    asked = time.monotonic()
    options.terminate = True
    thread.join(5)
    assert ended[0] - asked < SOON


def test_terminate_set_before_the_run(whole):
    with pytest.raises(Terminated):
        whole(ENDLESS)(X, context=RunContext(options=Options(terminate=True)))


def test_max_seconds_stops_a_run(whole):
    start = time.monotonic()
    with pytest.raises(LimitExceeded, match="max_seconds"):
        whole(ENDLESS)(X, context=RunContext(limits=Limits(seconds=0.2)))
    assert time.monotonic() - start < 0.2 + SOON


def test_a_stopped_run_does_not_stop_other_runs(whole):
    run, options = whole(ENDLESS), Options()
    ours = Options()

    def work():
        with pytest.raises(Terminated):
            run(X, context=RunContext(options=ours))

    other = threading.Thread(target=work)
    other.start()
    later(0.1, lambda: setattr(options, "terminate", True))
    with pytest.raises(Terminated):
        run(X, context=RunContext(options=options))
    assert other.is_alive()
    ours.terminate = True
    other.join(5)
    assert not other.is_alive()


def test_ctrl_c_stops_a_run_in_the_main_thread(whole):
    run, asked = whole(ENDLESS), []

    def interrupt():
        asked.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    later(0.2, interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(X)
    assert time.monotonic() - asked[0] < SOON
    assert signal.set_wakeup_fd(-1) == -1


_SCRIPT = """
import sys, time
import numpy as np
from treadle.delegate import Onnxruntime
from treadle.formats import read
from treadle.plan import RunContext, plan
model, _ = read('<ir_version: 10, opset_import: ["" : 17]>\\n' + sys.argv[1])
region = plan(model, [Onnxruntime()]).main.regions[0]
print("running", flush=True)
try:
    region.runnable([np.array(0, np.float32)], RunContext())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_in_a_process_of_its_own():
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    time.sleep(0.2)
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - asked < SOON
    assert process.communicate(timeout=20) == ("", "")


def test_a_handler_that_does_not_raise_lets_the_run_go_on(whole):
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        later(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(LimitExceeded):
            whole(ENDLESS)(X, context=RunContext(limits=Limits(seconds=0.4)))
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [1]


def test_signals_still_reach_their_handlers(whole):
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    reader.settimeout(5)
    before = signal.set_wakeup_fd(writer.fileno())
    try:
        later(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            whole(ENDLESS)(X)
        assert signal.SIGINT in reader.recv(16)
        assert signal.set_wakeup_fd(writer.fileno()) == writer.fileno()
    finally:
        signal.set_wakeup_fd(before)
        reader.close()
        writer.close()


def test_a_nested_run_does_not_forward_signals():
    """Else the watcher would tell itself for ever of the byte it reads."""
    forwarded = []

    def inner():
        forwarded.extend(each.forward_to for each in cancellation._watchers)

    def outer():
        cancellation.cancellable(inner, cancellation.CancellableRun(Options(), RunContext()))

    cancellation.cancellable(outer, cancellation.CancellableRun(Options(), RunContext()))
    assert forwarded == [-1]


def test_threads_call_one_region_at_once(whole):
    run = whole("g (float[n] x) => (float[n] y) { z = Exp(x) y = Log(z) }")
    wrong = []

    def work(seed):
        x = np.full(64, seed, np.float32)
        found = [run(x)[0] for _ in range(50)]
        wrong.extend(y for y in found if not np.allclose(y, x))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_a_watcher_of_its_own(whole):
    run = whole("g (float x) => (float y) { y = Neg(x) }")
    run(X)
    child = os.fork()
    if child == 0:
        os._exit(len(cancellation._watchers))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

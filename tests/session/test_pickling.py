"""Pickled and copied sessions, and sessions after a fork, give the same results."""

from __future__ import annotations

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ProcessPoolExecutor

import joblib
import numpy as np
import pytest

import treadle
from tests.parity.models import TEXTS, external, model
from treadle.jit.runtime import compilation

H = np.array([1, 2], np.float32)
X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
W = np.array([[2, 1], [4, 3], [6, 5]], np.float32)
FEED = {"h": H, "n": np.array(3)}
WANTED = (H * 8, np.stack([-H, -2 * H, -4 * H]))


def right(session: treadle.InferenceSession) -> bool:
    """Whether a session of the model "loop" gives what it should."""
    return all(map(np.array_equal, session.run(None, FEED), WANTED))


def _sources(folder):
    path = folder / "m.onnx"
    path.write_bytes(model("loop"))
    return {
        "path": str(path),
        "path object": path,
        "bytes": model("loop"),
        "text": TEXTS["loop"],
        "model": treadle.load(TEXTS["loop"]),
    }


@pytest.mark.parametrize("again", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy])
@pytest.mark.parametrize("name", ["path", "path object", "bytes", "text", "model"])
def test_a_session_is_pickled(again, name, tmp_path) -> None:
    options = treadle.SessionOptions(intra_op_num_threads=2, cache_dir=str(tmp_path / "cache"))
    source = _sources(tmp_path)[name]
    session = treadle.InferenceSession(source, options, engines=("jit", "interp"))
    assert right(session)
    made = again(session)
    assert right(made)
    assert made.get_session_options() == options
    assert made.get_session_options() is not options
    assert [region.engine for region in made.plan.main.regions] == [
        region.engine for region in session.plan.main.regions
    ]


def test_code_of_an_unpickled_session_is_in_the_cache(tmp_path, monkeypatch) -> None:
    compilation._recent.clear()
    options = treadle.SessionOptions(cache_dir=str(tmp_path))
    session = treadle.InferenceSession(model("loop"), options, engines=("jit", "interp"))
    assert right(session)
    compilation._recent.clear()
    monkeypatch.setattr(compilation, "generate_code", pytest.fail)
    assert right(pickle.loads(pickle.dumps(session)))


@pytest.mark.parametrize("is_file", [False, True])
def test_supplied_initializers_are_pickled(is_file, tmp_path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(external())
    by_value, by_file = treadle.SessionOptions(), treadle.SessionOptions()
    by_value.add_external_initializers(["W"], [treadle.OrtValue.ortvalue_from_numpy(W)])
    by_file.add_external_initializers_from_files_in_memory(["w.bin"], [W.tobytes()], [24])
    for options in (by_value, by_file):
        session = treadle.InferenceSession(path if is_file else external(), options)
        made = pickle.loads(pickle.dumps(session))
        assert np.array_equal(made.run(None, {"X": X})[0], X * W)


def test_options_and_providers_are_pickled() -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    providers = onnxruntime.get_available_providers()
    session = treadle.InferenceSession(model("mul"), options, providers)
    made = pickle.loads(pickle.dumps(session))
    assert made.get_session_options().intra_op_num_threads == 2
    assert made.get_providers() == session.get_providers()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_session_is_sent_to_a_pool(method) -> None:
    session = treadle.InferenceSession(model("loop"))
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(right, [session] * 2)) == [True, True]


FORK = """
import os, signal, sys, threading
import numpy as np
import treadle
from tests.parity.models import model
from tests.session.test_pickling import right

def check_in_child(*sessions):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if all(map(right, sessions)) else 1)
    assert os.waitpid(child, 0)[1] == 0

made = [treadle.InferenceSession(model("loop"), engines=engines)
        for engines in (None, ("onnxruntime", "interp"), ("interp",))]
check_in_child(*made)                   # before any run
assert all(map(right, made))
check_in_child(*made)                   # between runs
assert all(map(right, made))
stop = threading.Event()

def busy(session):
    while not stop.is_set():
        right(session)

threads = [threading.Thread(target=busy, args=(each,)) for each in made]
for thread in threads:
    thread.start()
for _ in range(5):
    check_in_child(*made)               # while threads run them
stop.set()
for thread in threads:
    thread.join()
assert all(map(right, made))
held = made[0]
held._programs.lock.acquire()           # as a thread that compiles holds it
child = os.fork()
if child == 0:
    signal.alarm(30)
    bounded = treadle.RunOptions(max_bytes=9**9)
    held.run(None, {"h": np.ones(2, np.float32), "n": np.array(1)}, bounded)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_that_forks() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])},
        check=False,
    )
    assert done.stdout == "done\n", done.stderr


def test_sessions_in_joblib() -> None:
    session = treadle.InferenceSession(model("loop"))
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(right)(session) for _ in range(2))
    assert found == [True, True]


def test_sessions_in_asyncio() -> None:
    session = treadle.InferenceSession(model("loop"))

    async def all_at_once() -> list[bool]:
        return await asyncio.gather(*(asyncio.to_thread(right, session) for _ in range(8)))

    async def by_callback() -> list[np.ndarray]:
        loop = asyncio.get_running_loop()
        made = loop.create_future()

        def finished(outputs, _, error) -> None:
            assert not error
            loop.call_soon_threadsafe(made.set_result, outputs)

        session.run_async(None, FEED, finished, None)
        return await made

    assert asyncio.run(all_at_once()) == [True] * 8
    assert all(map(np.array_equal, asyncio.run(by_callback()), WANTED))


def test_threads_that_share_a_session_and_its_copies() -> None:
    session = treadle.InferenceSession(model("loop"))
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda: found.append(right(copy.deepcopy(session))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


@pytest.mark.parametrize("engines", [None, ("onnxruntime", "interp"), ("interp",)])
def test_a_session_ends_with_its_last_reference(engines) -> None:
    made = treadle.InferenceSession(model("loop"), engines=engines)
    assert right(made)
    ended = weakref.ref(made)
    was_enabled = gc.isenabled()
    gc.disable()  # nothing but counting references may be needed
    try:
        del made
        assert ended() is None
    finally:
        if was_enabled:
            gc.enable()

"""A service of 8 threads: models loaded, run and dropped, until Ctrl-C; it keeps its size.

200 models of six kinds, ragged lengths; faults, time-outs and refusals among the requests. Every
answer is held against numpy's. The resident memory is fitted from the first quarter of the time on.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import treadle
from tools.soak import requests
from treadle.errors import TreadleError

_THREADS, _MODELS, _MOST_LOADED = 8, 200, 24
_PERIOD = 5.0
_GROWTH = 1.0
_PATIENCE = 30.0
_LASTING = ("treadle watcher", "treadle-")
"""Threads that a process keeps: the one that stops runs, and those of native code."""
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Service:
    """Sessions that are loaded on demand and dropped at random, and what was counted."""

    def __init__(self, seed: int) -> None:
        self.models = [requests.model(number) for number in range(_MODELS)]
        self.loaded: dict[int, treadle.InferenceSession] = {}
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.stop = threading.Event()
        self.wrong: list[str] = []
        self.seed = seed

    def work(self, number: int) -> None:
        """One thread: requests until the service stops or an answer is wrong."""
        chance = random.Random(self.seed * 1000 + number)
        try:
            while not self.stop.is_set():
                self._request(chance)
        except BaseException as error:  # noqa: BLE001 - told by the thread that joins this one
            self.wrong.append(f"{type(error).__name__}: {error}")
            self.stop.set()

    def _request(self, chance: random.Random) -> None:
        number = chance.randrange(_MODELS)
        model = self.models[number]
        session = self._session(number, chance)
        for _ in range(chance.randrange(1, 12)):
            request = model.request(chance)
            self.counts[request.kind] += 1
            try:
                found = session.run(None, request.feeds, request.options)
            except TreadleError as error:
                if not isinstance(error, request.errors):
                    raise
                continue
            assert request.outputs is not None, f"{model.name}: {request.kind} gave an answer"
            lines = request.unlike(found)
            assert not lines, f"{model.name}: {lines[0]}"

    def _session(self, number: int, chance: random.Random) -> treadle.InferenceSession:
        with self.lock:
            held = self.loaded.get(number)
            if held is not None:
                return held
        options = treadle.SessionOptions(cache_dir="" if number % 2 else None)
        made = treadle.InferenceSession(self.models[number].text, options)
        self.counts["loaded"] += 1
        with self.lock:
            self.loaded[number] = made
            while len(self.loaded) > _MOST_LOADED:
                del self.loaded[chance.choice(list(self.loaded))]
        return made


def soak(chance: random.Random, seconds: float) -> str:
    """Serve for so long; the main thread is stopped by Ctrl-C in a run of its own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs may ignore it
    service = Service(chance.randrange(2**32))
    threads = [threading.Thread(target=service.work, args=(k,)) for k in range(_THREADS)]
    samples: list[tuple[float, float]] = []
    started = time.monotonic()
    for thread in threads:
        thread.start()
    try:
        _until(started + seconds, service, lambda: samples.append(_sample(started)))
        late = _interrupted()
    finally:
        service.stop.set()
        for thread in threads:
            thread.join()
    assert not service.wrong, service.wrong[0]
    service.loaded.clear()
    left = _left_threads()
    assert not left, f"threads go on: {left}"
    growth = _growth(samples, seconds / 4)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(service.counts.items()))
    size = f"{samples[-1][1]:.0f} MB, growth {growth:+.2f} MB a minute"
    assert growth < _GROWTH or seconds < 60 * _PERIOD, f"{size}; {told}"
    return f"{told}; {size}; Ctrl-C {late * 1e3:.0f} ms"


def _until(end: float, service: Service, sample: Callable[[], None]) -> None:
    while not service.stop.is_set():
        sample()
        left = end - time.monotonic()
        if left <= 0 or service.stop.wait(min(_PERIOD, left)):
            return


def _sample(started: float) -> tuple[float, float]:
    """Minutes since the start, megabytes resident."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return (time.monotonic() - started) / 60, pages * _PAGE / 2**20


def _growth(samples: list[tuple[float, float]], after: float) -> float:
    """Megabytes a minute, by the line of least squares."""
    kept = [each for each in samples if each[0] * 60 >= after]
    if len(kept) < 3:
        return 0.0
    minutes, sizes = np.array(kept).T
    return float(np.polyfit(minutes, sizes, 1)[0])


def _interrupted() -> float:
    """How long after Ctrl-C an endless run of the main thread ended."""
    session = treadle.InferenceSession(requests.ENDLESS)
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, send)
    timer.start()
    try:
        session.run(None, {"x": np.float32(0)})
    except KeyboardInterrupt:
        timer.join()
        return time.monotonic() - sent[0]
    raise AssertionError("an endless run ended")


def _left_threads() -> list[str]:
    """Names of threads that go on, abandoned kernels given time to end."""
    end = time.monotonic() + _PATIENCE
    while (left := _passing_threads()) and time.monotonic() < end:
        time.sleep(0.1)
    gc.collect()
    return left


def _passing_threads() -> list[str]:
    names = (thread.name for thread in threading.enumerate()[1:])
    return [name for name in names if not name.startswith(_LASTING)]

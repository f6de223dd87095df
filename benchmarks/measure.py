"""Times one model in treadle and onnxruntime: checked outputs, interleaved calls, medians."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnxruntime

import treadle
from benchmarks.subjects import Subject
from tests.values import differences
from treadle.errors import TreadleError

FACTOR, MARGIN = 1.2, 20e-6
FEWEST, MOST = 15, 400
LOADS = 12

Call = Callable[[], list[object]]


@dataclass(frozen=True)
class Result:
    """Medians in seconds of one call; `aside` says why a model was not compared.

    `loads` are the least processor time, in seconds, of loading the file and the first call:
    onnxruntime's and treadle's, with what an earlier session left on disk. (0, 0): not measured.
    """

    name: str
    onnxruntime: float = 0.0
    treadle: float = 0.0
    aside: str = ""
    loads: tuple[float, float] = (0.0, 0.0)

    @property
    def limit(self) -> float:
        """The longest time that is good enough."""
        return FACTOR * self.onnxruntime + MARGIN

    @property
    def slow(self) -> bool:
        """Whether treadle takes longer than that."""
        return not self.aside and self.treadle > self.limit

    @property
    def ratio(self) -> float:
        """How many times onnxruntime's time treadle takes."""
        return self.treadle / self.onnxruntime if self.onnxruntime else 0.0

    @property
    def load_ratio(self) -> float:
        """How many times as long as onnxruntime treadle takes to load and to run once."""
        theirs, ours = self.loads
        return ours / theirs if theirs else 0.0


def measure(subject: Subject, seconds: float) -> Result:
    """The medians of a model; measured again, longer, before it is called slow."""
    theirs = _answering(subject, _onnxruntime_call)
    if isinstance(theirs, str):
        return Result(subject.name, aside=f"onnxruntime {theirs}")
    ours = _answering(subject, _treadle_call)
    if isinstance(ours, str):
        return Result(subject.name, aside=f"treadle {ours}")
    for longer in (1, 3, 6):
        result = Result(subject.name, *_medians(theirs, ours, seconds * longer))
        if not result.slow:
            break
    return result


def _medians(theirs: Call, ours: Call, seconds: float) -> tuple[float, float]:
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while len(times[0]) < FEWEST or (time.perf_counter() < end and len(times[0]) < MOST):
        for call, taken in zip((theirs, ours), times, strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return median(times[0]), median(times[1])


def with_loads(result: Result, subject: Subject) -> Result:
    """The result and what loading costs, on one thread, from a file, disk caches warm."""
    if result.aside:
        return result
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(subject.model)
        for _ in range(2):  # the first fills the caches
            _loaded(_treadle_call, path, subject.feed)
        pairs = [
            [_loaded(call, path, subject.feed) for call in (_onnxruntime_call, _treadle_call)]
            for _ in range(LOADS)
        ]
    theirs, ours = map(min, zip(*pairs, strict=True))
    return replace(result, loads=(theirs, ours))


def _loaded(prepare: Callable[..., Call], path: Path, feed: Mapping[str, Any]) -> float:
    started = time.process_time()
    prepare(str(path), feed)()
    return time.process_time() - started


def _onnxruntime_call(model: bytes | str, feed: Mapping[str, Any]) -> Call:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feed)


def _treadle_call(model: bytes | str, feed: Mapping[str, Any]) -> Call:
    options = treadle.SessionOptions()
    options.intra_op_num_threads = 1
    session = treadle.InferenceSession(model, options)
    return lambda: session.run(None, feed)


def _answering(subject: Subject, prepare: Callable[..., Call]) -> Call | str:
    """The call, or why it has no right answer."""
    foreign = () if prepare is _treadle_call else (Exception,)
    try:
        call = prepare(subject.model, subject.feed)
        found = call()
    except (TreadleError, *foreign) as error:
        return f"refuses: {' '.join(str(error).split())[:120]}"
    wrong = _differences(found, subject)
    return f"is wrong: {wrong[0][:120]}" if wrong else call


def _differences(found: Sequence[object], subject: Subject) -> list[str]:
    if len(found) != len(subject.outputs):
        return [f"{len(found)} outputs, not {len(subject.outputs)}"]
    pairs = enumerate(zip(found, subject.outputs, strict=True))
    return [
        line
        for k, (f, w) in pairs
        for line in differences(_array(f), w, f"output {k}", subject.tolerances)
    ]


def _array(value: object) -> object:
    if isinstance(value, list):
        return [_array(item) for item in value]
    return value if value is None or isinstance(value, dict) else np.asarray(value)

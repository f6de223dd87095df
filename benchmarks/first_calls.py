"""python -m benchmarks.first_calls: what first calls cost, and calls beside a compiler.

    compile      processor time of a session and its first call, of loops with long bodies, in fresh
                 processes; with --against SRC beside the src folder of another tree, in turn
    background   the calling thread's processor time of load and first call of every recorded model,
                 with compile="background", beside onnxruntime's
    meanwhile    calls until the code is there: the 99th percentile of treadle's beside that of
                 onnxruntime's, in turn with them; the median of three above the target, since one
                 call in a hundred of either waits for the interpreter's lock

All without the disk cache, on one thread.

Least of --rounds everywhere. Exit status 1: a target is missed.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

if __name__ == "__main__":
    os.environ["TREADLE_CACHE_DIR"] = ""
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"

from benchmarks.long_bodies import Model, decode_step, residual_chain, scalar_scan

MODELS: Mapping[str, Callable[[], Model]] = {
    "chain of 602 operators": lambda: residual_chain(602),
    "chain of 2,402 operators": lambda: residual_chain(2402),
    "decode step of 12 layers": decode_step,
    "scalar Scan of 200,000": scalar_scan,
}
_LONG = tuple(name for name in MODELS if not name.startswith("scalar"))
_MOST_OF_LONG, _MOST, _MOST_LATER, _MOST_BESIDE = 0.35, 1.1, 0.030, 1.5
_SECONDS = 20.0
"""How long calls are measured beside one compiler at most."""
_FEW = 200
"""Calls from which their 99th percentile is told."""
_ONE_PROCESS = """
import sys, time
sys.path.insert(0, sys.argv[1])
sys.path.insert(1, sys.argv[2])
import treadle
from benchmarks.first_calls import MODELS, residual_chain
options = treadle.SessionOptions()
options.intra_op_num_threads = 1
model, feed = residual_chain(5)
treadle.InferenceSession(model, options).run(None, feed)  # imports what compiles
model, feed = MODELS[sys.argv[3]]()
start = time.process_time()
treadle.InferenceSession(model, options).run(None, feed)
print(time.process_time() - start)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for, print the tables, and say whether all targets are reached."""
    options = _parser().parse_args(arguments)
    parts = {"compile": _compile, "background": _background, "meanwhile": _meanwhile}
    missed = [name for name in options.part or parts if not parts[name](options)]
    return int(bool(missed))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _compile(options: argparse.Namespace) -> bool:
    here = Path(__file__).resolve().parent.parent
    trees = [here / "src", *([options.against] if options.against else [])]
    _say(f"{'first call, processor time':32} {'ms':>8} {'against':>8} {'ratio':>6} {'target':>6}")
    good = True
    for name in MODELS:
        times: list[list[float]] = [[] for _ in trees]
        for _ in range(options.rounds):
            for tree, found in zip(trees, times, strict=True):
                found.append(_first_call(tree, here, name))
        least = [min(found) for found in times]
        most = _MOST_OF_LONG if name in _LONG else _MOST
        ratio = least[0] / least[-1] if len(least) > 1 else float("nan")
        good = good and not ratio > most
        _say(f"{name:32} {least[0] * 1e3:8.0f} {least[-1] * 1e3:8.0f} {ratio:6.2f} {most:6.2f}")
    return good


def _first_call(tree: Path, here: Path, name: str) -> float:
    environment = {**os.environ, "TREADLE_CACHE_DIR": ""}
    environment.pop("TREADLE_DEBUG", None)
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-c", _ONE_PROCESS, str(tree), str(here), name]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return float(ran.stdout.split()[-1])


def _recorded(options: argparse.Namespace) -> Iterator[tuple[str, bytes, Mapping[str, Any]]]:
    from benchmarks.subjects import RECORDED, subjects

    for subject in subjects(options.kind or RECORDED):
        if options.match in subject.name:
            yield subject.name, subject.model, subject.feed


def _opened(model: bytes) -> Any:
    """A session that compiles in the background, in a process that has compiled nothing."""
    import treadle
    from treadle.jit.runtime import compilation

    compilation._recent.clear()
    made = treadle.SessionOptions(compile="background", cache_dir="", intra_op_num_threads=1)
    return treadle.InferenceSession(model, made)


def _theirs(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _background(options: argparse.Namespace) -> bool:
    """Load and first call together, and the first call alone, each later than onnxruntime's."""
    found: list[tuple[float, float, float, float, str]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model, feed in _recorded(options):
            try:
                theirs, ours = _least_starts(options.rounds, model, feed)
            except Exception:  # noqa: BLE001  what one of them refuses is compared elsewhere
                continue
            found.append((ours[1] - theirs[1], ours[0] - theirs[0], theirs[0], ours[0], name))
    found.sort(reverse=True)
    titles = f"{'onnxruntime':>12} {'treadle':>12}   later   call alone"
    _say(f"\n{'load and first call, background':56} {titles}")
    for alone, later, theirs, ours, name in found[: options.rows]:
        words = f"{theirs * 1e3:9.2f} ms {ours * 1e3:9.2f} ms {later * 1e3:6.1f} ms"
        _say(f"{name:56} {words} {alone * 1e3:6.1f} ms")
    over = [sum(each[place] > _MOST_LATER for each in found) for place in (0, 1)]
    words = f"the first call of {over[0]} is more than 30 ms later, with loading {over[1]}"
    _say(f"{len(found)} models: {words}")
    return not over[0]


Start = tuple[float, float]
"""The seconds of load and first call, and of the first call alone."""


def _least_starts(rounds: int, model: bytes, feed: Mapping[str, Any]) -> tuple[Start, Start]:
    """The least of onnxruntime and of treadle."""
    times: tuple[list[Start], list[Start]] = ([], [])
    for _ in range(rounds):
        for make, taken in zip((_theirs, _opened), times, strict=True):
            start = time.thread_time()
            session = make(model)
            loaded = time.thread_time()
            session.run(None, feed)
            end = time.thread_time()
            taken.append((end - start, end - loaded))
            del session
            _settled()
    theirs, ours = (
        (min(whole for whole, _ in taken), min(call for _, call in taken)) for taken in times
    )
    return theirs, ours


def _settled() -> None:
    """Wait until nothing is compiled: what sessions that are gone have asked for is cancelled."""
    from treadle.jit.runtime import background

    gc.collect()
    while background._worker.thread is not None:
        time.sleep(0.01)


def _meanwhile(options: argparse.Namespace) -> bool:
    titles = f"{'calls':>6} {'onnxruntime, p50 p99':>22} {'treadle, p50 p99':>22} ratio"
    _say(f"\n{'calls while code is compiled':40} {titles}")
    good = True
    made = {name: MODELS[name]() for name in _LONG}
    for name, model, feed in [
        *((name, model, feed) for name, (model, feed) in made.items()),
        *_recorded(options),
    ]:
        try:
            ratio = _beside(name, model, feed)
            if ratio > _MOST_BESIDE:
                again = [_beside(name, model, feed) for _ in range(2)]
                ratio = median([ratio, *again])
        except Exception:  # noqa: BLE001  what one of them refuses is compared elsewhere
            continue
        good = good and not ratio > _MOST_BESIDE
    return good


def _beside(name: str, model: bytes, feed: Mapping[str, Any]) -> float:
    """The 99th percentiles of calls of both, in turn, until the code is there: their ratio."""
    theirs, ours = _theirs(model), _opened(model)
    native = [region.runnable for region in ours.plan.main.regions if region.engine == "jit"]
    theirs.run(None, feed)
    ours.run(None, feed)
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + _SECONDS
    while time.perf_counter() < end and any(each.cache.deferral.pending() for each in native):
        for session, taken in zip((theirs, ours), times, strict=True):
            start = time.perf_counter()
            session.run(None, feed)
            taken.append(time.perf_counter() - start)
    if len(times[0]) < _FEW:
        return float("nan")
    told = [(np.percentile(taken, 50) * 1e6, np.percentile(taken, 99) * 1e6) for taken in times]
    ratio = float(told[1][1] / told[0][1])
    words = " ".join(f"{middle:9.1f} {most:9.1f} us" for middle, most in told)
    _say(f"{name:40.40} {len(times[0]):6} {words} {ratio:5.2f}")
    return ratio


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__)
    parser.add_argument("part", nargs="*", help="compile, background, meanwhile; all if none")
    parser.add_argument("--against", type=Path, help="the src folder of another tree")
    parser.add_argument("--kind", action="append", help="which recorded models")
    parser.add_argument("--match", default="", help="only models whose name has this in it")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    parser.add_argument("--rows", type=int, default=25, help="how many models to print")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""`python -m treadle.bench.cold`: times one contender in a fresh process.

Standard input holds a pickle of (contender, the model's bytes, feeds, threads, when loops are
compiled), standard output gets one line of JSON: seconds for loading, for the first call and its
compiling, the growth of the process in bytes, or the error. Imports are done before the clock
starts, except those of the compiler, which a process with a warm cache does not need.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from treadle.bench.contenders import open_contender
from treadle.errors import RunError, TreadleError
from treadle.formats.onnx import to_bytes
from treadle.options import CompileMode
from treadle.sources import loaded

_MOST_SECONDS = 600
_TINY = """<ir_version: 8, opset_import: ["" : 17]>
main (float[n] x) => (float[n] y) { y = Abs(x) }"""


@dataclass(frozen=True, slots=True)
class ColdStart:
    """A model loaded and called once in a new process.

    `load`, `first_call` and its part `compiling` are seconds; `memory` is the growth of the process
    in bytes, None if the system does not report it.
    """

    load: float
    first_call: float
    compiling: float
    memory: int | None


def cold_start(
    name: str,
    data: bytes,
    feeds: Mapping[str, object],
    threads: int,
    compile_mode: CompileMode,
    *,
    cached: bool,
) -> ColdStart:
    """Load and call the model in a new process; `cached`: with the current cache on disk.

    Raises RunError with the message of a process that fails.
    """
    environment = dict(os.environ)
    if not cached:
        environment["TREADLE_CACHE_DIR"] = ""
    command = [sys.executable, "-m", "treadle.bench.cold"]
    sent = pickle.dumps((name, data, dict(feeds), threads, compile_mode))
    try:
        ran = subprocess.run(
            command, input=sent, capture_output=True, env=environment, timeout=_MOST_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RunError(f"{name} in a new process had not ended after {_MOST_SECONDS} s") from None
    lines = ran.stdout.decode(errors="replace").splitlines()
    told = json.loads(lines[-1]) if ran.returncode == 0 and lines else None
    if told is None:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        last = f": {said[-1]}" if said else ""
        raise RunError(f"{name} ended its process with code {ran.returncode}{last}")
    if "error" in told:
        raise RunError(f"{name}: {told['error']}")
    return ColdStart(**told)


def _measure(
    name: str,
    data: bytes,
    feeds: Mapping[str, object],
    threads: int,
    compile_mode: CompileMode,
) -> ColdStart:
    _import_all(name)
    before = _resident_bytes()
    started = time.perf_counter()
    opened = open_contender(name, data, threads, compile_mode)
    loaded = time.perf_counter()
    opened.call(feeds)
    called = time.perf_counter()
    after = _resident_bytes()
    memory = None if before is None or after is None else after - before
    return ColdStart(loaded - started, called - loaded, opened.compiling(), memory)


def _import_all(name: str) -> None:
    """Run a model of one operator, to import everything but the compiler."""
    opened = open_contender(name, to_bytes(loaded(_TINY)[0]), 1)
    opened.call({"x": np.zeros(1, np.float32)})


def _resident_bytes() -> int | None:
    """The resident memory of this process; None if the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _main() -> None:
    given = pickle.load(sys.stdin.buffer)
    try:
        told: dict[str, object] = asdict(_measure(*given))
    except (TreadleError, MemoryError) as error:
        told = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    _main()

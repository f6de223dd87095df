"""Times the overhead of a call, and compiling: python -m benchmarks.overhead.

The call is of a loop of one trip over a scalar, beside onnxruntime's call of the same model, calls
interleaved, medians. Compile times are of the suite's models at their small sizes: how much longer
the first call of a session takes than a later one, with nothing on disk. Making the session is told
apart. `--fresh` measures each in a new process, twice: first with nothing on disk, then with what
the first has left there. Such a process has imported treadle, numpy and onnxruntime and made the
session, nothing else: the first call brings whatever native code wants besides, LLVM, the threads
that help, and modules that are imported when they are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.columns import onnxruntime_call, treadle_call
from benchmarks.models import BENCHMARKS
from benchmarks.timing import interleave

KEPT = "TREADLE_CACHE_DIR"
ALLOWED = 15e-6
MEDIAN, WORST, DISK = 0.150, 1.0, 0.010
FROM_DISK = "the same, from the disk"


def call_overhead(seconds: float = 2.0) -> dict[str, float]:
    """Seconds of a call of a scalar model that does next to nothing."""
    instance = BENCHMARKS["savings"].make(1)
    made = {"onnxruntime": onnxruntime_call(instance, 1), "treadle": treadle_call(instance)}
    for call in made.values():
        call()
    return interleave(made, seconds)


@dataclass(frozen=True, slots=True)
class First:
    """Seconds: to make a session, and that its first call takes longer than a later one."""

    making: float
    compiling: float


def first_call(name: str) -> First:
    """What comes before the second call of a model."""
    made = BENCHMARKS[name]
    instance = made.make(made.small)
    started = time.perf_counter()
    call = treadle_call(instance)
    session_made = time.perf_counter()
    call()
    called = time.perf_counter()
    call()
    later = time.perf_counter() - called
    return First(session_made - started, called - session_made - later)


def _fresh(name: str, folder: str, kept: str) -> First:
    """The same, in a process that has imported packages, and made and called nothing."""
    command = [sys.executable, "-m", "benchmarks.overhead", "--one", name]
    environment = {**os.environ, KEPT: kept, "PYTHONPYCACHEPREFIX": os.path.join(folder, "python")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return First(*json.loads(done.stdout))


def _first_calls(names: Sequence[str], fresh: bool) -> Iterator[tuple[str, dict[str, First]]]:
    if not fresh:
        first_call("logistic")
        yield "compiling", {name: first_call(name) for name in names}
        return
    with tempfile.TemporaryDirectory() as folder:
        _fresh(names[0], folder, "")  # leaves the modules as Python keeps them
        kept = os.path.join(folder, "kernels")
        for label in ("compiling, in a new process", FROM_DISK):
            yield label, {name: _fresh(name, folder, kept) for name in names}


def _told(label: str, seconds: Mapping[str, float]) -> tuple[float, float]:
    """The median and the worst, told."""
    worst = max(seconds, key=lambda name: seconds[name])
    middle = median(seconds.values())
    sys.stdout.write(
        f"{label}: median {middle * 1e3:.1f} ms, worst {seconds[worst] * 1e3:.1f} ms ({worst})\n"
    )
    return middle, seconds[worst]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and whether they are as they should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument("names", nargs="*", help="models to compile; all if none")
    parser.add_argument("--fresh", action="store_true", help="a process for each, twice")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        found = first_call(options.one)
        sys.stdout.write(f"{json.dumps([found.making, found.compiling])}\n")
        return 0
    taken = call_overhead()
    good = taken["treadle"] - taken["onnxruntime"] <= ALLOWED
    for name, seconds in taken.items():
        sys.stdout.write(f"a call of a scalar model, {name}: {seconds * 1e6:.1f} us\n")
    for label, calls in _first_calls(options.names or list(BENCHMARKS), options.fresh):
        middle, worst = _told(label, {name: call.compiling for name, call in calls.items()})
        good = good and middle <= MEDIAN and worst <= (DISK if label == FROM_DISK else WORST)
        _told("  and the session, made before", {k: call.making for k, call in calls.items()})
    return int(not good)


if __name__ == "__main__":
    os.environ.setdefault(KEPT, "")
    sys.exit(main())

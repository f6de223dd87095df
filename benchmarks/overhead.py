"""python -m benchmarks.overhead: what a call costs beside its work, and what compiling costs.

The call is of a loop of one trip over a scalar, beside onnxruntime's call of the same model, calls
interleaved, medians. Compile times are of the suite's models at their small sizes: a session and
its first call, less a later call, with nothing on disk. `--fresh` measures each in a new process,
twice: first with nothing on disk, then with what the first has left there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.columns import onnxruntime_call, treadle_call
from benchmarks.models import BENCHMARKS
from benchmarks.timing import interleave

KEPT = "TREADLE_CACHE_DIR"
ALLOWED = 15e-6
MEDIAN, WORST = 0.150, 1.0


def call_overhead(seconds: float = 2.0) -> dict[str, float]:
    """Seconds of a call of a scalar model that does next to nothing."""
    instance = BENCHMARKS["savings"].make(1)
    made = {"onnxruntime": onnxruntime_call(instance, 1), "treadle": treadle_call(instance)}
    for call in made.values():
        call()
    return interleave(made, seconds)


def compile_time(name: str) -> float:
    """Seconds that the first call of a model takes longer than a later one."""
    made = BENCHMARKS[name]
    instance = made.make(made.small)
    started = time.perf_counter()
    call = treadle_call(instance)
    call()
    first = time.perf_counter() - started
    started = time.perf_counter()
    call()
    return first - (time.perf_counter() - started)


def _fresh(name: str, folder: str) -> float:
    command = [sys.executable, "-m", "benchmarks.overhead", "--one", name]
    environment = {**os.environ, KEPT: folder}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout)


def _compile_times(names: Sequence[str], fresh: bool) -> Iterator[tuple[str, dict[str, float]]]:
    if not fresh:
        compile_time("logistic")
        yield "compiling", {name: compile_time(name) for name in names}
        return
    with tempfile.TemporaryDirectory() as folder:
        for label in ("compiling, in a new process", "the same, from the disk"):
            yield label, {name: _fresh(name, folder) for name in names}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and whether they are as they should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument("names", nargs="*", help="models to compile; all if none")
    parser.add_argument("--fresh", action="store_true", help="a process for each, twice")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        # imports are no part of it
        compile_time("xorshift" if options.one == "logistic" else "logistic")
        sys.stdout.write(f"{compile_time(options.one)}\n")
        return 0
    taken = call_overhead()
    good = taken["treadle"] - taken["onnxruntime"] <= ALLOWED
    for name, seconds in taken.items():
        sys.stdout.write(f"a call of a scalar model, {name}: {seconds * 1e6:.1f} us\n")
    for label, found in _compile_times(options.names or list(BENCHMARKS), options.fresh):
        worst = max(found, key=lambda name: found[name])
        middle = median(found.values())
        good = good and middle <= MEDIAN and found[worst] <= WORST
        sys.stdout.write(
            f"{label}: median {middle * 1e3:.0f} ms, worst {found[worst] * 1e3:.0f} ms ({worst})\n"
        )
    return int(not good)


if __name__ == "__main__":
    os.environ.setdefault(KEPT, "")
    sys.exit(main())

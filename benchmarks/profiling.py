"""Measures the overhead of `treadle.profile`: python -m benchmarks.profiling.

Each model of the suite runs plainly and with its clocks in turn, on one thread; the least processor
time of each is compared. Exit status 1: a model takes more than 5 % longer with clocks.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import treadle
from benchmarks.models import BENCHMARKS
from benchmarks.registry import Benchmark
from treadle.profiler.watched import Watched
from treadle.variants import PLAIN

_MOST = 1.05


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether all stay within the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only models with these words in their names")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each is measured")
    parser.add_argument("--small", action="store_true", help="at the size that tests run")
    options = parser.parse_args(arguments)
    over = 0
    for name, each in BENCHMARKS.items():
        if not options.names or any(word in name for word in options.names):
            plain, profiled = _measured(each, options.seconds, small=options.small)
            over += profiled / plain > _MOST
            times = f"{plain * 1e6:12.1f} {profiled * 1e6:12.1f} {profiled / plain:7.3f}"
            sys.stdout.write(f"{name:32} {times}\n")
            sys.stdout.flush()
    return int(over > 0)


def _measured(benchmark: Benchmark, seconds: float, *, small: bool) -> tuple[float, float]:
    made = benchmark.make(benchmark.small if small else benchmark.n)
    settings = treadle.SessionOptions(intra_op_num_threads=1)
    session = treadle.InferenceSession(made.model, settings)
    feed = dict(made.feed)
    watched = Watched(session._programs.profiled(("jit",), "").of(PLAIN))

    def plain() -> object:
        return session.run(None, feed)

    def profiled() -> object:
        return watched.run(feed)

    calls = (plain, profiled)
    least = [_time(call) for call in calls]
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        least = [min(known, _time(call)) for known, call in zip(least, calls, strict=True)]
    return least[0], least[1]


def _time(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


if __name__ == "__main__":
    sys.exit(main())

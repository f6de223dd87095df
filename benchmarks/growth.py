"""Tests that time is linear in trips, and memory in results: python -m benchmarks.growth.

Each model runs in a process of its own, at sizes that grow: nanoseconds a trip, how large the
results are, and the most memory the process had. Of loops whose last values are all they give,
memory must stay; of others it may grow by a few times what the results do: a growing one is asked
for twice as large each time, and copied once at the end. A trip must not cost more as they become
many, but where it reads all that was stacked before.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import treadle
from benchmarks.columns import treadle_session
from benchmarks.models import BENCHMARKS
from benchmarks.registry import Instance

SIZES = {
    "savings": tuple(10**k for k in range(3, 8)),
    "triangle": (16, 40, 100, 250, 400),
    "heat": (10, 100, 1000),
    "logistic": tuple(10**k for k in range(4, 8)),
    "rows": (1000, 10_000, 100_000),
    "cache": (256, 512, 1024),
}
"""Models that are fed next to nothing, however many trips they make."""
LINEAR, KEPT, HELD = 2.5, 8.0, 3.5
"""Limits of growth: the time of a trip as a multiple of that at the size before; memory in
megabytes, and as a multiple of the growth of results."""


class Cost(NamedTuple):
    """One size: trips, processor seconds a trip, megabytes of the results and of the process."""

    trips: int
    seconds: float
    results: float
    peak: float


def peak() -> float:
    """The most memory this process had, in megabytes."""
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def costs(name: str, sizes: Sequence[int]) -> list[Cost]:
    """What each size costs; the time is that of the shortest run."""
    found = []
    session = treadle_session(BENCHMARKS[name].make(sizes[0]))
    for size in sizes:
        instance = BENCHMARKS[name].make(size)
        runs = [_timed(session, instance) for _ in range(4)]
        trips = instance.iterations
        found.append(Cost(trips, min(seconds for seconds, _ in runs) / trips, runs[0][1], peak()))
    return found


def _timed(session: treadle.InferenceSession, instance: Instance) -> tuple[float, float]:
    """Seconds of a run, and the megabytes of its results, which are gone afterwards."""
    started = time.process_time()
    results = session.run(None, instance.feed)
    seconds = time.process_time() - started
    return seconds, sum(np.asarray(result).nbytes for result in results) / 2**20


def faults(name: str, found: Sequence[Cost]) -> list[str]:
    """What grows that should not."""
    slow = [
        f"{name}: a trip of {after.trips} costs {after.seconds / before.seconds:.1f} times"
        f" one of {before.trips}"
        for before, after in itertools.pairwise(found)
        if after.seconds > LINEAR * before.seconds
    ]
    first, last = found[0], found[-1]
    grown, due = last.peak - first.peak, last.results - first.results
    if grown <= KEPT + HELD * due:
        return slow
    return [*slow, f"{name}: memory grew by {grown:.0f} MB, results by {due:.1f} MB"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 if something grows that should not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"models: {', '.join(SIZES)}; all if none")
    parser.add_argument("--most", type=int, default=10**7, help="the largest size")
    parser.add_argument("--one", choices=SIZES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    sizes = {
        name: [size for size in SIZES[name] if size <= options.most]
        for name in options.names or SIZES
    }
    if options.one:
        json.dump(costs(options.one, sizes[options.one]), sys.stdout)
        return 0
    wrong = []
    for name, own in sizes.items():
        found = _apart(name, options.most) if own else []
        sys.stdout.writelines(map(_line, itertools.repeat(name), found))
        wrong += faults(name, found) if found else []
    sys.stdout.writelines(f"{fault}\n" for fault in wrong)
    return int(bool(wrong))


def _apart(name: str, most: int) -> list[Cost]:
    """The costs, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.growth", "--one", name, "--most", str(most)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [Cost(*each) for each in json.loads(done.stdout)]


def _line(name: str, cost: Cost) -> str:
    return (
        f"{name:10} {cost.trips:>9} trips {cost.seconds * 1e9:12.2f} ns each,"
        f" results {cost.results:6.1f} MB, peak {cost.peak:7.1f} MB\n"
    )


if __name__ == "__main__":
    sys.exit(main())

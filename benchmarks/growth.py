"""python -m benchmarks.growth: time grows linearly with trips, memory only with results.

A loop without stacked results runs 1e3 to 1e7 trips: nanoseconds a trip and the most memory the
process had. Then loops whose results or states grow, where a trip must not cost more as they do.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import sys
import time
from collections.abc import Sequence

from benchmarks.columns import treadle_session
from benchmarks.models import BENCHMARKS

TRIPS = tuple(10**k for k in range(3, 8))
GROWING = {"logistic": (10**4, 10**5, 10**6), "rows": (500, 2000, 8000), "cache": (128, 256, 512)}
LINEAR, KEPT = 2.5, 8.0
"""Times a trip may cost what it costs at the size before; megabytes that memory may grow."""


def peak() -> float:
    """The most memory this process had, in megabytes."""
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def costs(name: str, sizes: Sequence[int]) -> list[tuple[int, float, float]]:
    """For each size: trips, processor seconds a trip (the shortest of three), peak megabytes."""
    found = []
    session = treadle_session(BENCHMARKS[name].make(sizes[0]))
    for size in sizes:
        instance, taken = BENCHMARKS[name].make(size), []
        session.run(None, instance.feed)
        for _ in range(3):
            started = time.process_time()
            session.run(None, instance.feed)
            taken.append(time.process_time() - started)
        found.append((instance.iterations, min(taken) / instance.iterations, peak()))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 if something grows that should not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--most", type=int, default=TRIPS[-1], help="the most trips")
    options = parser.parse_args(arguments)
    plain = costs("savings", [trips for trips in TRIPS if trips <= options.most])
    faults = _shown("savings", plain)
    if plain[-1][2] - plain[0][2] > KEPT:
        faults.append(f"savings: memory grew by {plain[-1][2] - plain[0][2]:.0f} MB")
    for name, sizes in GROWING.items():
        faults += _shown(name, costs(name, [size for size in sizes if size <= options.most]))
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    return int(bool(faults))


def _shown(name: str, found: Sequence[tuple[int, float, float]]) -> list[str]:
    for trips, seconds, megabytes in found:
        sys.stdout.write(
            f"{name:10} {trips:>9} trips {seconds * 1e9:12.2f} ns each, peak {megabytes:7.1f} MB\n"
        )
    return [
        f"{name}: a trip of {after[0]} costs {after[1] / before[1]:.1f} times one of {before[0]}"
        for before, after in itertools.pairwise(found)
        if after[1] > LINEAR * before[1]
    ]


if __name__ == "__main__":
    sys.exit(main())

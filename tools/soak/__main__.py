"""Runs native code under load until the time is up or a test fails: python -m tools.soak.

    programs     random programs, and loops over random shapes, beside interp, for --seconds
    lengths      one session, 10,000 runs of changing lengths: memory must not grow
    threads      8 threads on one session, each with data of its own
    interrupts   Ctrl-C at random moments, 200 times: the run ends, the session goes on
    service      8 threads load, run and drop 200 models for --hours: memory must not grow

Exit status 1: an answer was wrong, memory grew, or a run went on. --seed finds it again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from tools.soak import interrupts, lengths, programs, service, threads

Part = Callable[[random.Random, "Amount"], str]


class Amount(argparse.Namespace):
    """How much of everything."""

    seconds: float
    runs: int
    rounds: int
    interrupts: int
    hours: float


PARTS: Mapping[str, Part] = {
    "programs": lambda chance, much: programs.soak(chance, much.seconds),
    "lengths": lambda chance, much: lengths.soak(chance, much.runs),
    "threads": lambda chance, much: threads.soak(chance, much.rounds),
    "interrupts": lambda chance, much: interrupts.soak(chance, much.interrupts),
    "service": lambda chance, much: service.soak(chance, much.hours * 3600),
}
SHORT = Amount(seconds=2.0, runs=300, rounds=5, interrupts=10, hours=0.001)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and say what each found."""
    options = _parser().parse_args(arguments)
    much = SHORT if options.short else Amount(**vars(options))
    failed = 0
    for name in options.only or PARTS:
        started = time.perf_counter()
        try:
            found = PARTS[name](random.Random(options.seed), much)
        except AssertionError as error:
            failed, found = 1, f"FAILED: {error}"
        sys.stdout.write(f"{name:10} {time.perf_counter() - started:7.1f} s  {found}\n")
        sys.stdout.flush()
    return failed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long for programs")
    parser.add_argument("--runs", type=int, default=10_000, help="how many lengths")
    parser.add_argument("--rounds", type=int, default=200, help="runs of each of the threads")
    parser.add_argument("--interrupts", type=int, default=200, help="how often Ctrl-C")
    parser.add_argument("--hours", type=float, default=1.0, help="how long the service")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--short", action="store_true", help="a few seconds of everything")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part, once or more")
    return parser


if __name__ == "__main__":
    sys.exit(main())

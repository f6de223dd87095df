"""Times one model in every column: checked outputs, interleaved calls, medians."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from benchmarks.columns import Call, code_size, fault, other_calls, treadle_call, treadle_session
from benchmarks.registry import Benchmark

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
"""The second counts the work of all threads, and is steady on a machine that others use."""

Clock = Callable[[], float]
ROUNDS = 3
SHARE = 0.004
MOST = 50
THEIRS = ("onnxruntime, 1 thread", "onnxruntime, all threads")


@dataclass(frozen=True)
class Row:
    """Medians in seconds of one call by column, and what was wrong in columns left out.

    `compiling` is how much longer treadle's session and first call took than a later call, `code`
    the bytes of machine code it made.
    """

    name: str
    title: str
    kind: str
    iterations: int
    seconds: Mapping[str, float]
    wrong: Mapping[str, str]
    compiling: float
    code: int = 0

    @property
    def onnxruntime(self) -> float | None:
        """The better of one thread and all."""
        found = [self.seconds[name] for name in THEIRS if name in self.seconds]
        return min(found, default=None)

    def ratio(self, column: str) -> float | None:
        """How many times as long as treadle a column takes."""
        other = self.onnxruntime if column == "onnxruntime" else self.seconds.get(column)
        ours = self.seconds.get("treadle")
        return None if other is None or ours is None else other / ours


def measure(benchmark: Benchmark, seconds: float, clock: Clock = time.perf_counter) -> Row:
    """The row of a model: interleaved calls for this number of seconds, in wall time."""
    instance = benchmark.make(benchmark.n)
    wanted = instance.reference(**instance.feed)
    started = clock()
    session = treadle_session(instance)
    ours = treadle_call(instance, session)
    ours()
    first = clock() - started
    made = {**other_calls(benchmark, instance, wanted), "treadle": ours}
    wrong = {name: fault(benchmark, call(), wanted) for name, call in made.items()}
    times = interleave({n: call for n, call in made.items() if not wrong[n]}, seconds, clock)
    return Row(
        benchmark.name, benchmark.title, benchmark.kind, instance.iterations, times,
        {name: why for name, why in wrong.items() if why},
        max(0.0, first - times.get("treadle", 0.0)), code_size(session),
    )  # fmt: skip


def interleave(
    made: Mapping[str, Call], seconds: float, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """The median time of each call; quick ones are called more often a round."""
    times: dict[str, list[float]] = {name: [] for name in made}
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < ROUNDS or time.perf_counter() < end:
        rounds += 1
        for name, call in made.items():
            until = time.perf_counter() + SHARE
            for _ in range(MOST):
                started = clock()
                call()
                times[name].append(clock() - started)
                if time.perf_counter() > until:
                    break
    return {name: median(taken) for name, taken in times.items()}

"""Times several contenders in turn, so that a slow machine slows all of them alike."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treadle.bench.contenders import Call

_FEWEST, _MOST = 5, 10_000


@dataclass(frozen=True, slots=True)
class WarmCalls:
    """Seconds per call after warm-up: the median, the 10th and the 90th percentile."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> WarmCalls:
        """Compute them from the seconds of each call, at least one."""
        ordered = sorted(seconds)
        last = len(ordered) - 1
        low, median, high = (ordered[round(last * part)] for part in (0.1, 0.5, 0.9))
        return cls(median, low, high, len(ordered))


def warm_calls(
    calls: Mapping[str, Call], feeds: Mapping[str, object], seconds: float
) -> dict[str, WarmCalls]:
    """Time the contenders' calls for about this many seconds in all, at least five calls each.

    A contender that takes much longer than the others is called less often.
    """
    found: dict[str, list[float]] = {name: [] for name in calls}
    spent = dict.fromkeys(calls, 0.0)
    share = seconds / max(len(calls), 1)
    while True:
        open_ = [
            name
            for name, made in found.items()
            if len(made) < _FEWEST or (spent[name] < share and len(made) < _MOST)
        ]
        if not open_:
            return {name: WarmCalls.of(made) for name, made in found.items()}
        for name in open_:
            started = time.perf_counter()
            calls[name](feeds)
            took = time.perf_counter() - started
            found[name].append(took)
            spent[name] += took

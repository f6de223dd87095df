"""Runs a program while a timer samples the position of its native code."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from treadle.jit import Sampler
from treadle.profiler.watched import Watched

_SECONDS = 0.2
"""The processor time for which runs are repeated."""
_MOST_WAITING = 4
"""How many times as long it may take on a machine with other work."""
_ENOUGH = 4000
_LEAST_MICROSECONDS = 73.0
"""Below it the signals themselves take most of the time."""


def sampled(ran: Watched, feeds: Mapping[str, object], seconds: float) -> np.ndarray | None:
    """Samples of further runs, which take `seconds` each: int64[samples, words], addresses.

    None where nothing can be sampled, as `Sampler.started` says.
    """
    period = max(_LEAST_MICROSECONDS, seconds * 1e6 / _ENOUGH)
    with Sampler.started(period) as sampler:
        if sampler is None:
            return None
        ran.again(feeds)
        started, until = time.thread_time(), time.perf_counter() + _MOST_WAITING * _SECONDS
        while (
            time.thread_time() - started < _SECONDS
            and time.perf_counter() < until
            and sampler.count < _ENOUGH
        ):
            ran.again(feeds)
        return sampler.samples()

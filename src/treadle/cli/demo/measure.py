"""Runs one example in treadle and in onnxruntime alone: outputs, agreement, times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import treadle
from treadle.cli.demo.examples import Example
from treadle.delegate import baseline
from treadle.plan import Plan
from treadle.report import Difference, ModelSummary, compare, summarize_model

SECONDS = 1.0
CALLS = 300


@dataclass(frozen=True, slots=True)
class Measured:
    """The results for one example; times are medians in seconds of interleaved calls."""

    example: Example
    summary: ModelSummary
    plan: Plan
    outputs: Mapping[str, object]
    differences: list[Difference]
    calls: int
    treadle: float
    onnxruntime: float


def measure(example: Example) -> Measured:
    """Run the example in both, compare the outputs and time the calls."""
    session = treadle.InferenceSession(example.model)
    peer = baseline(example.model)
    names = [arg.name for arg in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, example.feeds), strict=True))
    expected = dict(zip(names, peer(example.feeds), strict=True))
    ours, theirs = _times(
        lambda: session.run(None, example.feeds),
        lambda: peer(example.feeds),
    )
    return Measured(
        example,
        summarize_model(example.model),
        session.plan,
        outputs,
        compare(outputs, expected),
        len(ours),
        statistics.median(ours),
        statistics.median(theirs),
    )


def _times(*calls: Callable[[], object]) -> tuple[list[float], ...]:
    """The seconds of each call, alternating, until there are enough."""
    found: tuple[list[float], ...] = tuple([] for _ in calls)
    end = time.perf_counter() + SECONDS
    while len(found[0]) < CALLS and time.perf_counter() < end:
        for times, call in zip(found, calls, strict=True):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
    return found

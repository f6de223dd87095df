"""Reads the clocks of a plan's native code: its loops, nests, and host calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle.plan import Plan
from treadle.profiler.costs import CallCost, LoopCost, NestCost
from treadle.report import compilations

_SHORTER = "shorter steps"


def reset_clocks(plan: Plan) -> None:
    """Reset the clocks."""
    for clocks in _clocks(plan):
        clocks.reset()


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """The clocks of a kernel and their measurements, since the last reset."""

    clocks: Any
    told: Sequence[dict[str, Any]]


def measured_kernels(plan: Plan) -> list[Measured]:
    """The measurements of all kernels of a plan, as they are now."""
    return [Measured(clocks, clocks.measured()) for clocks in _clocks(plan)]


def native_costs(
    kernels: Iterable[Measured], samples: np.ndarray | None, runs: int
) -> tuple[list[LoopCost], list[NestCost], list[CallCost]]:
    """The loops, nests and host calls of native code, for one of the runs measured.

    `samples` are those of `sampled`; None where there are none.
    """
    loops: list[LoopCost] = []
    nests: list[NestCost] = []
    calls: list[CallCost] = []
    for kernel in kernels:
        own = [_loop(each, runs) for each in kernel.told if each["kind"] == "loop"]
        timed = [_nest(each, runs) for each in kernel.told if each["kind"] == "nest"]
        called = [_call(each, runs) for each in kernel.told if each["kind"] == "call"]
        whole = sum(each["ns"] for each in kernel.told if each["kind"] == "kernel") / runs / 1e9
        rests = _rests(whole, own, timed, called)
        places = [] if samples is None else kernel.clocks.places(samples)
        loops += own
        nests += [*timed, *_shorter(rests, own, timed, called, places)]
        calls += called
    return loops, nests, calls


def _clocks(plan: Plan) -> Iterator[Any]:
    for account in compilations(plan):
        if "clocks" in account.data:
            yield account.data["clocks"]


def _loop(told: dict[str, Any], runs: int) -> LoopCost:
    entries, iterations, ns = told["entries"], told["iterations"], told["ns"]
    first = told["first_ns"] / entries / 1e9 if told["first_ns"] and entries else None
    last = told["last_ns"] / entries / 1e9 if told["last_ns"] and entries else None
    steady = None
    ends = 2 if last is not None else 1
    if first is not None and iterations > ends * entries:
        rest = ns / 1e9 - entries * (first + (last or 0.0))
        steady = max(rest, 0.0) / (iterations - ends * entries)
    elif iterations and first is None:
        steady = ns / 1e9 / iterations
    return LoopCost(
        told["path"], "jit", ns / runs / 1e9, entries / runs, iterations / runs, first, steady, last
    )


def _call(told: dict[str, Any], runs: int) -> CallCost:
    operator, _, why = told["words"].partition(": ")
    return CallCost(told["path"], operator, why, told["ns"] / runs / 1e9, told["entries"] / runs)


def _nest(told: dict[str, Any], runs: int) -> NestCost:
    return NestCost(told["path"], told["words"], told["ns"] / runs / 1e9, told["entries"] / runs)


def _rests(
    whole: float,
    loops: Sequence[LoopCost],
    nests: Iterable[NestCost],
    calls: Iterable[CallCost],
) -> dict[str, float]:
    """The remaining seconds of each clocked loop, and under "" those of the kernel outside them."""
    rests: dict[str, float] = defaultdict(float, {"": whole})
    for loop in loops:
        rests[loop.path] += loop.seconds
        rests[_around(loop.path, loops)] -= loop.seconds
    for nest in nests:
        rests[_owner(nest.loop, loops)] -= nest.seconds
    for call in calls:
        rests[_owner(call.loop, loops)] -= call.seconds
    return {path: max(seconds, 0.0) for path, seconds in rests.items()}


def _shorter(
    rests: Mapping[str, float],
    loops: Sequence[LoopCost],
    nests: Iterable[NestCost],
    calls: Iterable[CallCost],
    places: Iterable[tuple[Any, int]],
) -> Iterator[NestCost]:
    """What remains of each loop: shared out by samples, or one row without samples.

    A loop without a clock belongs to the one around it.
    """
    met: dict[str, list[tuple[Any, int]]] = defaultdict(list)
    for place, count in places:
        if not place.has_clock:
            met[_owner(place.path, loops)].append((place, count))
    iterations = {loop.path: loop.iterations for loop in loops}
    for path, shares in met.items():
        total = sum(count for _, count in shares)
        for place, count in shares:
            seconds = rests[path] * count / total
            yield NestCost(place.path, place.words, seconds, iterations.get(place.path), count)
    clocked = {_around(loop.path, loops) for loop in loops}
    clocked |= {nest.loop for nest in nests} | {call.loop for call in calls}
    for loop in loops:
        if loop.path in clocked and loop.path not in met:
            yield NestCost(loop.path, _SHORTER, rests[loop.path], loop.iterations)


def _owner(path: str, loops: Sequence[LoopCost]) -> str:
    """The loop with a clock that a path belongs to: the one at it, or the innermost around it."""
    return path if any(loop.path == path for loop in loops) else _around(path, loops)


def _around(path: str, loops: Iterable[LoopCost]) -> str:
    """The innermost loop around a loop."""
    found = [each.path for each in loops if path.startswith(f"{each.path}.")]
    return max(found, key=len, default="")

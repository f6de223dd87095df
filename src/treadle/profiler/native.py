"""Reads the clocks of a plan's native code: its loops, nests, and host calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from treadle.plan import Plan
from treadle.profiler.costs import CallCost, LoopCost, NestCost
from treadle.report import compilations

_SHORTER = "shorter steps"


def reset_clocks(plan: Plan) -> None:
    """Reset the clocks."""
    for clocks in _clocks(plan):
        clocks.reset()


def native_costs(plan: Plan, runs: int) -> tuple[list[LoopCost], list[NestCost], list[CallCost]]:
    """The loops, nests and host calls of native code, per run since the last reset."""
    told = [each for clocks in _clocks(plan) for each in clocks.measured()]
    loops = [_loop(each, runs) for each in told if each["kind"] == "loop"]
    nests = [
        NestCost(each["path"], each["words"], each["ns"] / runs / 1e9, each["entries"] / runs)
        for each in told
        if each["kind"] == "nest"
    ]
    calls = [_call(each, runs) for each in told if each["kind"] == "call"]
    return loops, [*nests, *_shorter(loops, nests, calls)], calls


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


def _shorter(
    loops: Iterable[LoopCost], nests: Iterable[NestCost], calls: Iterable[CallCost]
) -> Iterator[NestCost]:
    """The remaining time of each loop that contains clocked nests, calls or loops."""
    loops = list(loops)
    inside: dict[str, float] = defaultdict(float)
    for nest in nests:
        inside[nest.loop] += nest.seconds
    for call in calls:
        inside[call.loop] += call.seconds
    for loop in loops:
        around = _around(loop.path, loops)
        if around:
            inside[around] += loop.seconds
    for loop in loops:
        if loop.path in inside:
            rest = max(loop.seconds - inside[loop.path], 0.0)
            yield NestCost(loop.path, _SHORTER, rest, loop.iterations)


def _around(path: str, loops: Iterable[LoopCost]) -> str:
    """The innermost loop around a loop."""
    found = [each.path for each in loops if path.startswith(f"{each.path}.")]
    return max(found, key=len, default="")

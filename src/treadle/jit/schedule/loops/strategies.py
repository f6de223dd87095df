"""The table of loop strategies.

A strategy is a function that gives its record, or says why it does not apply; the first one that
applies is taken. `codegen/loops` has the code of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treadle.jit.schedule.loops.facts import LoopFacts
from treadle.jit.schedule.loops.in_order import InOrder, in_order_of
from treadle.jit.schedule.loops.linear_recurrence import ParallelPrefix, parallel_prefix_of
from treadle.jit.schedule.loops.register_tiling import RegisterTiling, register_tiling_of
from treadle.jit.schedule.loops.vectorization import Vectorization, vectorization_of
from treadle.jit.schedule.loops.wavefront import Wavefront, wavefront_of

Strategy = RegisterTiling | Wavefront | Vectorization | ParallelPrefix | InOrder

WITHOUT_ORDER = RegisterTiling, Wavefront
"""Strategies that run all iterations: nothing is left for a loop in order."""

STRATEGIES: Mapping[str, Callable[[LoopFacts], Strategy | str]] = {
    "register tiling": register_tiling_of,
    "wavefront": wavefront_of,
    "vectorization": vectorization_of,
    "parallel prefix": parallel_prefix_of,
}


def strategy_of(facts: LoopFacts) -> tuple[Strategy, Mapping[str, str]]:
    """The strategy of a loop, and why those before it in the table do not apply."""
    declined: dict[str, str] = {}
    for name, decide in STRATEGIES.items():
        found = decide(facts)
        if not isinstance(found, str):
            return found, declined
        declined[name] = found
    return in_order_of(facts), declined


def strip_of(strategy: Strategy) -> int:
    """The iterations between two safepoints of a loop in strips; 0: it is not in strips."""
    return strategy.strip if isinstance(strategy, Vectorization | InOrder) else 0

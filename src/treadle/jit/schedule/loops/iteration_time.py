"""How long the iterations of loops take at most: what safepoints count, and what is timed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from treadle.jit.kernel.ir import Block, Loop, Node, Number, Shape, SymbolicDim, op_of
from treadle.jit.schedule.cost_model import ASSUMED_EXTENT, iteration_bound, loop_bound, work_of
from treadle.jit.schedule.loops.linear_recurrence import ParallelPrefix
from treadle.jit.schedule.loops.register_tiling import RegisterTiling
from treadle.jit.schedule.loops.strategies import Strategy
from treadle.jit.schedule.loops.wavefront import Wavefront

SAFEPOINT_PERIOD = 5_000_000
"""The nanoseconds of estimated work between two polls."""
_SHORT = 100_000
"""The nanoseconds of an inner loop that has no safepoints: the loop around it has."""


@dataclass(frozen=True, slots=True)
class IterationTime:
    """The `nanoseconds` of an iteration at most, with assumed values of dynamic extents.

    A safepoint counts those of a whole `group` of iterations that the strategy runs together; where
    they run one by one also `by_inputs`, for nodes of extents known as the kernel begins: the
    eighths of a nanosecond for each of their elements. A short inner loop has no safepoints: the
    time of the `whole` loop is counted before it.
    """

    nanoseconds: int
    group: int
    by_inputs: tuple[tuple[Shape, int], ...]
    whole: int | None

    def __str__(self) -> str:
        """As `explain --schedule` prints it."""
        more = ", more with long inputs" if self.by_inputs else ""
        more += "" if self.whole is None else ", all counted before the first"
        return f"at most {self.nanoseconds} ns an iteration{more}"


def iteration_times(
    strategies: Mapping[Node, Strategy], exact: Collection[SymbolicDim]
) -> dict[Node, IterationTime]:
    """The times of all loops."""
    return {node: _time(node, strategy, exact) for node, strategy in strategies.items()}


def _time(loop: Node, strategy: Strategy, exact: Collection[SymbolicDim]) -> IterationTime:
    body, bound = op_of(loop, Loop).body, loop_bound(loop)
    nanoseconds, by_inputs = iteration_bound(body), _by_inputs(body, exact)
    group, is_short = _group(strategy, nanoseconds), loop.home.is_loop and bound <= _SHORT
    whole = int(bound) if is_short else None
    return IterationTime(nanoseconds, group, by_inputs, whole)


def _group(strategy: Strategy, nanoseconds: int) -> int:
    """The time of the iterations that a strategy runs between two safepoints."""
    match strategy:
        case RegisterTiling():
            return nanoseconds * strategy.lanes // strategy.size
        case ParallelPrefix():
            return nanoseconds * strategy.lanes // 4
        case Wavefront():
            row = strategy.width * iteration_bound(strategy.inner.body) // 8
            return strategy.group * (row + 4)
    return nanoseconds


def _by_inputs(body: Block, exact: Collection[SymbolicDim]) -> tuple[tuple[Shape, int], ...]:
    """The time for each element of nodes with extents that inputs tell, by their extents."""
    found: dict[Shape, int] = {}
    for node in body.nodes:
        shape, eighths = work_of(node)
        if eighths and any(_is_of_input(extent, exact) for extent in shape):
            found[shape] = found.get(shape, 0) + eighths
    return tuple((_assumed(shape, exact), eighths) for shape, eighths in found.items())


def _assumed(shape: Shape, exact: Collection[SymbolicDim]) -> Shape:
    """The extents; those that only the run of the kernel tells have an assumed value."""
    return tuple(
        extent if isinstance(extent, int) or _is_of_input(extent, exact) else ASSUMED_EXTENT
        for extent in shape
    )


def _is_of_input(extent: Number, exact: Collection[SymbolicDim]) -> bool:
    """Whether the extent is a number that is known before the kernel runs, but not in the code."""
    return not isinstance(extent, int) and (extent.source is None or extent in exact)

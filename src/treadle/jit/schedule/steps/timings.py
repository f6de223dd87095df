"""What a profiled kernel times: code that takes long beside the reading of a clock.

Reading the processor's counter takes some 10 nanoseconds, so only code with an estimated
microsecond or more has a clock, and code of a loop that may be shorter than the estimate is timed
in one of eight runs. Of a loop with shorter iterations the first and the last one are timed, if an
iteration takes some 20 nanoseconds or more.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import Branch, HostCall, Kernel, Loop, Node, op_of
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.cost_model import ASSUMED_EXTENT, assumed_size, node_bound, per_element
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.loops.iteration_time import IterationTime
from treadle.jit.schedule.loops.linear_recurrence import ParallelPrefix
from treadle.jit.schedule.loops.register_tiling import RegisterTiling
from treadle.jit.schedule.loops.strategies import Strategy
from treadle.jit.schedule.loops.wavefront import Wavefront
from treadle.jit.schedule.storage import StorageMap

_LONG, _SHORT = 3000, 50
"""The nanoseconds from which code is timed, by an estimate of up to three times the true time."""
_SURELY_LONG = 2 * _LONG
_IN_GROUPS = RegisterTiling, Wavefront, ParallelPrefix
"""Strategies that run several iterations at once."""


class Iterations(enum.Enum):
    """What a profile tells of a loop's iterations, in the words of `explain --schedule`."""

    COUNTED = "its iterations are counted"
    ENDS = "the first and the last iteration by themselves"
    EACH = "each iteration by itself"


@dataclass(frozen=True, slots=True)
class Timing:
    """A clock of code: it runs `always`, or in one of eight runs; `iterations`: of a loop."""

    always: bool
    iterations: Iterations | None = None

    def words(self) -> Iterator[str]:
        """As `explain --schedule` prints it."""
        yield "timed" if self.always else "timed in one of eight runs"
        if self.iterations is not None:
            yield self.iterations.value


@dataclass(frozen=True, eq=False, slots=True)
class _Timer:
    """What the timings of a kernel follow from."""

    kernel: Kernel
    storage: StorageMap
    times: Mapping[Node, IterationTime]
    strategies: Mapping[Node, Strategy]

    def step(self, step: Step) -> Timing | None:
        """The clock of a nest or of another step; None if it is too short, or has steps itself."""
        if isinstance(step, Nest):
            nodes, each = step.nodes, per_element(self.storage, step.nodes)
            return self._timing(nodes, each * assumed_size(nodes[0].shape))
        if isinstance(step.op, Loop):
            return self._loop(step, step.op)
        if isinstance(step.op, Branch):
            return None
        return self._timing((step,), node_bound(step), is_call=isinstance(step.op, HostCall))

    def _timing(
        self, nodes: Sequence[Node], taken: float, *, is_call: bool = False
    ) -> Timing | None:
        if taken < _LONG:
            return None
        return Timing(is_call or self._is_surely_long(nodes, taken))

    def _is_surely_long(self, nodes: Sequence[Node], taken: float) -> bool:
        """Whether code takes long whatever its dynamic extents are, or runs once in a call."""
        is_static = all(node.is_static for node in nodes)
        return nodes[0].home is self.kernel.main or (is_static and taken >= _SURELY_LONG)

    def _loop(self, loop: Node, op: Loop) -> Timing | None:
        is_outermost = loop.home is self.kernel.main
        if not op.path or not (is_outermost or self._duration(loop) >= _LONG):
            return None
        return Timing(is_outermost or self._is_long_loop(loop, op), self._iterations(loop))

    def _is_long_loop(self, loop: Node, op: Loop) -> bool:
        inside = list(all_nodes(op.body))
        trips = [_trips(node.op) for node in (loop, *inside) if isinstance(node.op, Loop)]
        is_told = all(isinstance(trip, int) for trip in trips)
        return is_told and self._is_surely_long([loop, *inside], self._duration(loop))

    def _iterations(self, loop: Node) -> Iterations:
        each = self._iteration(loop)
        if each < _SHORT or isinstance(self.strategies[loop], _IN_GROUPS):
            return Iterations.COUNTED
        return Iterations.EACH if each >= _LONG else Iterations.ENDS

    def _iteration(self, loop: Node) -> int:
        """The estimated nanoseconds of an iteration, inner loops included."""
        inner = (node for node in op_of(loop, Loop).body.nodes if isinstance(node.op, Loop))
        return self.times[loop].nanoseconds + sum(map(self._duration, inner))

    def _duration(self, loop: Node) -> int:
        times = _trips(op_of(loop, Loop))
        return (times if isinstance(times, int) else ASSUMED_EXTENT) * self._iteration(loop)


def timings(
    kernel: Kernel,
    steps: Iterable[Step],
    storage: StorageMap,
    times: Mapping[Node, IterationTime],
    strategies: Mapping[Node, Strategy],
    target: Target,
) -> dict[Step, Timing] | None:
    """The clocks of steps; None if the kernel is not profiled, or no counter can be read."""
    if not (kernel.is_profiled and target.triple.startswith("x86_64")):
        return None
    timer = _Timer(kernel, storage, times, strategies)
    found = ((step, timer.step(step)) for step in steps)
    return {step: timing for step, timing in found if timing is not None}


def _trips(op: Loop) -> object:
    """The trip count of a loop; an int if it is known."""
    return op.extent if isinstance(op.extent, int) else op.length

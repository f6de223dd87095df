"""The schedule of a kernel, made before any LLVM: all that code generation decides nothing about.

    storage   where each value lives
    loops     for each loop its strategy, why others declined, and the storage of carried values
    chains    the order of operands of associative chains

Code generation is a function of the kernel and this value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treadle.jit.kernel.ir import Kernel, Loop, Node
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.carried_storage import (
    CarriedStorage,
    carried_storage,
    without_double_buffers,
)
from treadle.jit.schedule.loops.facts import LoopFacts
from treadle.jit.schedule.loops.strategies import Strategy, strategy_of
from treadle.jit.schedule.loops.tiling import Tiling
from treadle.jit.schedule.reassociate import reassociated
from treadle.jit.schedule.storage import StorageMap, assign_storage


@dataclass(frozen=True, eq=False, slots=True)
class LoopSchedule:
    """How a loop runs; `declined` says of each strategy tried before why it does not apply."""

    strategy: Strategy
    declined: Mapping[str, str]
    carried: tuple[CarriedStorage, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Schedule:
    """The schedule of a kernel for a target."""

    storage: StorageMap
    loops: Mapping[Node, LoopSchedule]
    chains: Mapping[Node, list[Node]]


def schedule_kernel(kernel: Kernel, target: Target) -> Schedule:
    """The schedule of a kernel."""
    storage = assign_storage(kernel)
    loops = {
        node: _loop_schedule(kernel, node, storage, target)
        for node in all_nodes(kernel.main)
        if isinstance(node.op, Loop)
    }
    return Schedule(storage, loops, reassociated(kernel, storage.readers))


def _loop_schedule(kernel: Kernel, node: Node, storage: StorageMap, target: Target) -> LoopSchedule:
    assert isinstance(node.op, Loop)
    carried = carried_storage(node.op, storage)
    strategy, declined = strategy_of(LoopFacts(kernel, node, storage, target, carried))
    if isinstance(strategy, Tiling):
        carried = without_double_buffers(carried)
    return LoopSchedule(strategy, declined, carried)

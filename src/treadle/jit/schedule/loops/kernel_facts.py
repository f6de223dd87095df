"""What pipelines, and the memory of Concats, are decided from: a kernel, and how its loops run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from treadle.jit.kernel.ir import Kernel, Loop, Node
from treadle.jit.schedule.carried_storage import CarriedStorage, DoubleBuffer
from treadle.jit.schedule.distribution import Distribution
from treadle.jit.schedule.layouts.sliding_windows import SlidingWindow
from treadle.jit.schedule.loops.strategies import Strategy
from treadle.jit.schedule.storage import StorageMap


@dataclass(frozen=True, eq=False, slots=True)
class LoopSchedule:
    """How a loop runs; `declined` says of each strategy tried before why it does not apply."""

    strategy: Strategy
    declined: Mapping[str, str]
    carried: tuple[CarriedStorage, ...]


@dataclass(frozen=True, eq=False)
class KernelFacts:
    """A kernel, its loops and its products; `has_pool`: treadle's threads can share its work."""

    kernel: Kernel
    storage: StorageMap
    loops: Mapping[Node, LoopSchedule]
    distributed: Mapping[Node, Distribution]
    has_pool: bool

    @cached_property
    def swapped(self) -> Collection[Node]:
        """The next values of carried arrays whose memory is another in each iteration."""
        return {
            after
            for node, found in self.loops.items()
            if isinstance(node.op, Loop)
            for after, kept in zip(node.op.nexts, found.carried, strict=True)
            if isinstance(kept, DoubleBuffer | SlidingWindow)
        }

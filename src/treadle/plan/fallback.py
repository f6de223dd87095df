"""The fallback of a region: the plan that runs if its engine declines the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from treadle.locks import ForkSafeLock
from treadle.plan.regions import BlockPlan


@dataclass(eq=False, slots=True)
class LazyFallback:
    """A plan made on first use, then kept; threads may ask at the same time."""

    make: Callable[[], BlockPlan]
    _made: BlockPlan | None = None
    _lock: ForkSafeLock = field(default_factory=ForkSafeLock)

    def __call__(self) -> BlockPlan:
        """The plan: its block has the region's inputs as params and its outputs as results."""
        with self._lock:
            if self._made is None:
                self._made = self.make()
            return self._made

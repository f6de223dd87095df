"""Timed runs of a program."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.plan import RunContext
from treadle.profiler.native import reset_clocks
from treadle.profiler.stopwatch import Stopwatch
from treadle.profiling import locations_of
from treadle.session import Program

__all__ = ["Watched"]


class Watched:
    """A program and the watch of its runs, `count` so far; the last one began at `last`.

    A plan of one region needs no listener: the run is the region.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.plan = program, program.plan
        self.watch = Stopwatch(locations_of(program.plan))
        regions = program.plan.main.regions
        self.is_one_region = len(regions) == 1 and regions[0].runnable is not None
        self.count = self.last = 0
        reset_clocks(program.plan)

    def run(self, feeds: Mapping[str, object]) -> None:
        """Run it once more."""
        self.last = self.watch.start()
        self.again(feeds, None if self.is_one_region else self.watch)
        if self.is_one_region:
            self.watch.stop()
        self.count += 1

    def again(self, feeds: Mapping[str, object], watch: Stopwatch | None = None) -> None:
        """Run it without counting the run."""
        bind = self.program.bind
        self.program.run(bind.known(feeds) or bind(feeds), RunContext(watch))

"""Other engines stand in for a region until its code is compiled."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from treadle import ops
from treadle.errors import Unsupported
from treadle.interp import Executable
from treadle.plan import BlockPlan, Pending, Region, RunContext
from treadle.tracing import Iterations

_log = logging.getLogger("treadle")


@dataclass(frozen=True, eq=False, slots=True)
class StandIn:
    """The other engines' program of a region, made when it is first needed."""

    region: Region
    path: str
    prepare: Callable[[BlockPlan], Executable]
    made: list[Executable] = field(default_factory=list)

    def standing_in_for(self, act: Callable[..., Any]) -> Executable:
        """`act`, with the other engines' results for a call whose code is not compiled yet.

        The result refers to `act`, not `act` to itself: a session is freed when it is dropped.
        """

        def run(
            operands: Sequence[Any], context: RunContext, iterations: Iterations
        ) -> Sequence[Any]:
            results: Sequence[Any] | Pending = act(operands, context, iterations)
            if type(results) is not list and isinstance(results, Pending):
                return self._results(results, act, operands, context, iterations)
            return results

        return run

    def _results(
        self,
        code: Pending,
        act: Executable,
        operands: Sequence[Any],
        context: RunContext,
        iterations: Iterations,
    ) -> Sequence[Any]:
        """The results of the other engines; of `act`, which waits, if none of them can run it.

        The code is compiled from the second time on at the latest; a session starts it before.
        """
        try:
            if not self.made:
                assert self.region.meanwhile is not None
                self.made.append(self.prepare(self.region.meanwhile()))
                _log.info("%s: its code is compiled in the background", self.path)
            with ops.ignore_fp_warnings():
                results = self.made[0](operands, context, iterations)
        except Unsupported:
            context.waits = True
            return act(operands, context, iterations)
        context.outputs_may_alias = True
        if code.was_met:
            code.start()
            return results
        code.was_met = True
        context.pending = [*(context.pending or ()), code]
        return results

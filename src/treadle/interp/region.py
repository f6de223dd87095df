"""A region of another engine: called as a whole, and interpreted where the engine refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle import ops
from treadle.errors import RunError, Unsupported
from treadle.interp.executable import Executable, Prepare, with_location
from treadle.plan import FallbackRequired, Region, RunContext
from treadle.tracing import Iterations


def prepare_region(region: Region, path: str, prepare: Prepare) -> Executable:
    """The region ready to run: its runnable, or what runs in its place where that raises Refused.

    Where nothing can run in its place, the engine's own error stands.
    """
    runnable = region.runnable
    assert runnable is not None
    interpreted: list[Executable] = []

    def instead(
        refusal: FallbackRequired,
        operands: Sequence[Any],
        context: RunContext,
        iterations: Iterations,
    ) -> Sequence[Any]:
        if region.otherwise is None:
            raise with_location(refusal.error, path, iterations) from refusal
        try:
            if not interpreted:
                interpreted.append(prepare(region.otherwise()))
            known = dict(context.declined or {})
            with ops.ignore_fp_warnings():
                results = interpreted[0](operands, context, iterations)
        except Unsupported:
            raise with_location(refusal.error, path, iterations) from refusal
        if refusal.answered is not None:
            refusal.answered()
        context.declined = known  # what is planned instead was asked for this data alone
        return results

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        try:
            return runnable(operands, context)
        except FallbackRequired as refusal:
            context.outputs_may_alias = True
            if refusal.is_lasting:
                context.decline(region, refusal.error.reason)
            return instead(refusal, operands, context, iterations)
        except RunError as error:
            inner = type(error)(error.reason, error.path, (*iterations, *error.iterations))
            raise with_location(inner, path, iterations) from error.__cause__

    return act

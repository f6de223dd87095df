"""A region run by an engine; its fallback runs if the engine rejects the data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from treadle import ops
from treadle.errors import RunError, Unsupported
from treadle.execution.stand_in import StandIn
from treadle.interp import Executable, with_location
from treadle.plan import BlockPlan, FallbackRequired, Region, RunContext
from treadle.tracing import Iterations

_log = logging.getLogger("treadle")


def prepare_region(
    region: Region, path: str, prepare: Callable[[BlockPlan], Executable]
) -> Executable:
    """Prepare the region: it calls the runnable, or the fallback if that raises FallbackRequired.

    If the fallback cannot run either, the engine's own error is raised.
    """
    runnable = region.runnable
    assert runnable is not None
    fallback: list[Executable] = []
    stand_in = StandIn(region, path, prepare)

    def fall_back(
        refusal: FallbackRequired,
        operands: Sequence[Any],
        context: RunContext,
        iterations: Iterations,
    ) -> Sequence[Any]:
        if region.otherwise is None or not context.falls_back:
            raise with_location(_anew(refusal.error), path, iterations) from refusal
        try:
            if not fallback:
                told = path, region.engine, refusal.error.reason
                _log.info("%s: %s hands it over: %s", *told)
                fallback.append(prepare(region.otherwise()))
            known = dict(context.declined or {})
            with ops.ignore_fp_warnings():
                results = fallback[0](operands, context, iterations)
        except Unsupported:
            raise with_location(_anew(refusal.error), path, iterations) from refusal
        if refusal.answered is not None:
            refusal.answered()
        context.declined = known  # regions of the fallback are not planned again
        return results

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Any:
        try:
            return runnable(operands, context)
        except FallbackRequired as refusal:
            _note(refusal, region, context)
            return fall_back(refusal, operands, context, iterations)
        except RunError as error:
            raise _located(error, path, iterations) from error.__cause__

    return act if region.meanwhile is None else stand_in.standing_in_for(act)


def _note(refusal: FallbackRequired, region: Region, context: RunContext) -> None:
    """Record that an engine has handed a region over."""
    context.outputs_may_alias = True
    if refusal.is_lasting:
        context.decline(region, refusal.error.reason)


def _anew(error: RunError) -> RunError:
    """An equal error to raise: a refusal whose error is raised from it refers to itself.

    Such a cycle keeps the session, with the threads of its engines, until cycles are collected.
    """
    return type(error)(error.reason, error.path, error.iterations)


def _located(error: RunError, path: str, iterations: Iterations) -> RunError:
    """An engine's error, in the iterations around the region."""
    inner = type(error)(error.reason, error.path, (*iterations, *error.iterations))
    return with_location(inner, path, iterations)

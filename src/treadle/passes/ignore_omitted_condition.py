"""Implements the literal table of Loop: without a condition input the body's is ignored.

Loop(trip, "")   "bool cond = ...; // ignored"   ->   the body returns no next condition
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Loop, Model, Step, map_blocks, map_steps, verified


@verified
def ignore_omitted_condition(model: Model) -> Model:
    """Remove the body's condition from every ONNX Loop whose condition input is omitted."""
    return map_blocks(model, lambda block: map_steps(block, _unconditional))


def _unconditional(step: Step) -> Step:
    if not isinstance(step, Loop) or step.condition is not None or step.body.results[0] is None:
        return step
    results = (None, *step.body.results[1:])
    return replace(step, body=replace(step.body, results=results))

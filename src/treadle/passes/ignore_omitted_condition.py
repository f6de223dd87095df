"""Reads the Loop table literally: a condition that is left out is ignored inside too.

ONNX Loop: "input (trip_count, "")" and "input ("", "")" say of the body's condition "ignored".
Every runtime stops when it turns false, and so does a Loop that this pass has not touched.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Loop, Model, Step, map_blocks, map_steps, operator_of


def ignore_omitted_condition(model: Model) -> Model:
    """The model whose ONNX Loops without a condition input never stop by their body's condition."""
    return map_blocks(model, lambda block: map_steps(block, _ignoring))


def _ignoring(step: Step) -> Step:
    if not isinstance(step, Loop) or operator_of(step) != "Loop" or step.condition is not None:
        return step
    return replace(step, body=replace(step.body, results=(None, *step.body.results[1:])))

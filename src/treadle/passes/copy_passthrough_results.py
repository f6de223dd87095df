"""Inserts an Identity for each result of a body that is a param, a constant, or repeated.

For such results onnxruntime gives uninitialised memory, or rejects the model. In a closed block
they are easy to find. Never declines.
"""

from __future__ import annotations

from dataclasses import replace

from treadle import ops
from treadle.ir import (
    Block,
    Branch,
    Leaf,
    Loop,
    Model,
    Step,
    Value,
    map_blocks,
    map_bodies,
    map_steps,
    verified,
)


@verified
def copy_passthrough_results(model: Model) -> Model:
    """Copy passthrough results in the bodies of foreign loops and branches."""
    version = ops.since_version("", "Identity", model.opsets.get("", 0))
    assert version is not None, "every opset has Identity"

    def changed(step: Step) -> Step:
        if not isinstance(step, Loop | Branch) or not step.info.domain:
            return step
        return map_bodies(step, lambda _, body: _owning(body, version))

    return map_blocks(model, lambda block: map_steps(block, changed))


def _owning(body: Block, version: int) -> Block:
    made = {value for step in body.steps for value in step.results}
    copies: list[Step] = []
    given: list[Value | None] = []
    for value in body.results:
        if value is not None and (value not in made or value in given):
            copy = replace(value, name=f"{value.name}_given")
            copies.append(Leaf("", "Identity", version, (value,), (copy,)))
            given.append(copy)
        else:
            given.append(value)
    if not copies:
        return body
    return replace(body, steps=(*body.steps, *copies), results=tuple(given))

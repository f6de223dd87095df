"""Replaces calls of operators with bodies by the standard's own definition.

    seq = call SequenceMap(...)   ->   the Loop of its definition in the schema

The definition depends on the types of the operands. Declines a call with an operand of unknown
type: it is expanded at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from treadle.infer import infer
from treadle.ir import Block, Call, Function, Leaf, Model, Step, Type, verified, walk_block
from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.inline_block import assign_paths, inline_blocks

Expand = Callable[[Leaf | Call, Sequence[Type | None]], Function | None]
"""Returns the function by which the standard defines a step, for operands of these types."""


@verified
def expand_functions(model: Model, expand: Expand) -> Model:
    """Expand calls of schema-defined operators whose operands have known types."""

    def body(step: Step, path: str) -> Block | None:
        if not isinstance(step, Call) or step.function in model.functions:
            return None
        types = [None if value is None else value.type for value in step.operands]
        if any(t is None and v is not None for t, v in zip(types, step.operands, strict=True)):
            return None
        function = expand(step, types)
        if function is None:
            return None
        return assign_paths(bind_attributes(function, step.attributes), path)

    if not any(isinstance(visit.step, Call) for visit in walk_block(model.main)):
        return model
    return replace(model, main=inline_blocks(infer(model).main, body))

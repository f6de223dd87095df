"""Decomposes operators that a target lacks into the standard's own definition.

    y = Celu(x)   ->   the Max, Exp, Min ... of its definition in the schema

`lacks` decides which. The definition depends on the types of the operands. Declines a leaf whose
operator has no definition, or none for these types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from treadle.infer import infer
from treadle.ir import Block, Leaf, Model, Step, verified, walk_block
from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.expand_functions import Expand
from treadle.passes.inline_block import assign_paths, inline_blocks

_MOST_ROUNDS = 8


@verified
def decompose_ops(model: Model, expand: Expand, lacks: Callable[[Leaf], bool]) -> Model:
    """Decompose the leaves that the target lacks, as far as the standard defines them."""

    def body(step: Step, path: str) -> Block | None:
        if not isinstance(step, Leaf) or step.blocks or not lacks(step):
            return None
        types = [None if value is None else value.type for value in step.operands]
        if any(t is None and v is not None for t, v in zip(types, step.operands, strict=True)):
            return None  # added in this round: its type is known in the next one
        function = expand(step, types)
        if function is None:
            return None
        return assign_paths(bind_attributes(function, step.attributes), path)

    for _ in range(_MOST_ROUNDS):
        if not any(isinstance(v.step, Leaf) and lacks(v.step) for v in walk_block(model.main)):
            return model
        typed = infer(model).main
        main = inline_blocks(typed, body)
        if main is typed:
            return model
        model = replace(model, main=main)
    return model

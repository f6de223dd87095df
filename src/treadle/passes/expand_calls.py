"""Puts the body the standard gives an operator with graphs in its place: SequenceMap.

Declines where the types of the operands are unknown; such a call is expanded when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from treadle.infer import infer
from treadle.ir import (
    Block,
    Call,
    Function,
    FunctionId,
    Leaf,
    Model,
    Step,
    Type,
    map_bodies,
    walk_block,
)
from treadle.passes.inline_functions import inline_block

Expand = Callable[[Leaf | Call, Sequence[Type | None]], Function | None]
"""The function the standard defines a step by, for operands of these types."""


def expand_calls(model: Model, expand: Expand) -> Model:
    """The model with every call of a schema's function expanded whose operand types are known."""
    if not any(isinstance(visit.step, Call) for visit in walk_block(model.main)):
        return model
    functions: dict[FunctionId, Function] = {}
    main = _expanded(infer(model).main, expand, functions)
    return replace(model, main=inline_block(main, functions))


def _expanded(block: Block, expand: Expand, functions: dict[FunctionId, Function]) -> Block:
    def changed(step: Step) -> Step:
        inner = map_bodies(step, lambda _, body: _expanded(body, expand, functions))
        if not isinstance(inner, Call):
            return inner
        types = [value.type if value is not None else None for value in inner.operands]
        known = all(t is not None or v is None for t, v in zip(types, inner.operands, strict=True))
        function = expand(inner, types) if known else None
        if function is None:
            return inner
        identity = FunctionId("", inner.function.name, f"at {inner.info.path}")
        functions[identity] = replace(function, id=identity)
        return replace(inner, function=identity)

    return replace(block, steps=tuple(map(changed, block.steps)))

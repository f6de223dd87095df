"""Inlines model-local functions: replaces calls by the steps of the function.

    y = call local.f(x)   ->   the steps of f, reading x and giving y

Each call gets values of its own, named after it: `f_3/t`. Attribute references are bound to the
call. Blocks are closed, so no name can be captured by accident.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, Call, Model, Step, expanded_size, verified
from treadle.limits import expect_size
from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.inline_block import assign_paths, inline_blocks


@verified
def inline_functions(model: Model) -> Model:
    """Inline all functions. Needs functions that do not call themselves.

    Raises LoadLimitExceeded if the result would exceed the load limits.

    The result imports the opsets of the functions too.
    """
    if not model.functions:
        return model
    expect_size(*expanded_size(model))

    def body(step: Step, path: str) -> Block | None:
        if not isinstance(step, Call) or step.function not in model.functions:
            return None
        return assign_paths(bind_attributes(model.functions[step.function], step.attributes), path)

    opsets = {k: v for function in model.functions.values() for k, v in function.opsets.items()}
    main = inline_blocks(model.main, body)
    return replace(model, main=main, functions={}, opsets={**opsets, **model.opsets})

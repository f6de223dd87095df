"""Puts the steps of model-local functions in the place of their calls.

Blocks are closed, so nothing can be captured by mistake; every call gets values of its own. The
model keeps its functions, nothing calls them any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treadle.ir import (
    Block,
    Call,
    Constant,
    Function,
    FunctionId,
    Info,
    Model,
    Step,
    Value,
    map_bodies,
    operator_of,
    renew,
    segment,
    substitute,
    with_operands,
    with_results,
)
from treadle.passes.bind_attributes import bind_attributes

Functions = Mapping[FunctionId, Function]


def inline_functions(model: Model) -> Model:
    """The model without calls of its own functions."""
    if not model.functions:
        return model
    return replace(model, main=inline_block(model.main, model.functions), functions={})


def inline_block(block: Block, functions: Functions) -> Block:
    """The block, bodies included, without calls of these functions."""
    constants: list[Constant] = list(block.constants)
    steps: list[Step] = []
    renamed: dict[Value, Value | None] = {}
    for step in block.steps:
        step = with_operands(step, renamed)
        if isinstance(step, Call) and step.function in functions:
            inlined = call_block(step, functions[step.function], functions)
            constants += inlined.constants
            steps += inlined.steps
            renamed |= zip((r for r in step.results if r), inlined.results, strict=False)
        else:
            steps.append(map_bodies(step, lambda _, body: inline_block(body, functions)))
    results = substitute(block.results, renamed)
    return replace(block, constants=tuple(constants), steps=tuple(steps), results=results)


def call_block(call: Call, function: Function, functions: Functions) -> Block:
    """The steps of one call over the call's own operands; its results are those the call gives.

    A result the call names is that very value wherever a step of the function makes it, so that
    names outside stay what they were.
    """
    attributes = {**function.defaults, **call.attributes}
    block = bind_attributes(inline_block(function.block, functions), attributes)
    prefix = f"{operator_of(call).lower()}_"
    block = renew(block, lambda value: replace(value, name=prefix + value.name))
    operands = (*call.operands, *call.captures)
    padded = (*operands, *[None] * (len(block.params) - len(operands)))
    by: dict[Value, Value | None] = dict(zip(block.params, padded, strict=True))
    made = {value for step in block.steps for value in step.results if value is not None}
    wanted = zip(block.results, call.results, strict=False)
    by |= {inner: outer for inner, outer in wanted if inner in made and outer is not None}
    steps = tuple(
        _placed(with_results(with_operands(step, by), by), call, position)
        for position, step in enumerate(block.steps)
    )
    results = tuple(
        inner
        for inner, outer in zip(substitute(block.results, by), call.results, strict=False)
        if outer is not None
    )
    return Block((), block.constants, steps, results)


def _placed(step: Step, call: Call, position: int) -> Step:
    path = f"{call.info.path}/{segment(operator_of(step), position)}"
    return replace(step, info=_at(step.info, path))


def _at(info: Info, path: str) -> Info:
    return replace(info, path=path)

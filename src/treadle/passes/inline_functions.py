"""Puts the steps of model-local functions in the place of their calls.

    y = call local.f(x)   ->   the steps of f, reading x and giving y

Each call gets values of its own, named after it: `f_3/t`. Attribute references are bound to the
call. Declines a call that leaves out an operand which the function hands on to a body or returns,
since a body's captures are never absent: the function then stays, and is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from treadle.ir import (
    Block,
    Branch,
    Call,
    Function,
    Leaf,
    Model,
    Operands,
    Step,
    Value,
    walk_block,
)
from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.splice import place, splice


def inline_functions(model: Model) -> Model:
    """The model without calls of its functions, but for those that are declined.

    Needs functions that do not call themselves.
    """

    def body(step: Step, path: str) -> Block | None:
        if not isinstance(step, Call) or step.function not in model.functions:
            return None
        function = model.functions[step.function]
        if not can_inline(function, step):
            return None
        return place(bind_attributes(function, step.attributes), path)

    if not model.functions:
        return model
    main = splice(model.main, body)
    opsets = {k: v for f in model.functions.values() for k, v in f.opsets.items()}
    called = any(
        isinstance(visit.step, Call) and visit.step.function in model.functions
        for visit in walk_block(main)
    )
    return replace(
        model,
        main=main,
        opsets={**opsets, **model.opsets},
        functions=model.functions if called else {},
    )


def can_inline(function: Function, call: Call) -> bool:
    """Whether every absent operand of the call is one that only operands of steps read."""
    params = function.block.params
    given: Operands = call.operands + (None,) * (len(params) - len(call.operands))
    absent = {param for param, operand in zip(params, given, strict=True) if operand is None}
    results = function.block.results
    return None not in results and absent.isdisjoint({*results, *_never_absent(function.block)})


def _never_absent(block: Block) -> Iterator[Value]:
    for step in block.steps:
        match step:
            case Branch():
                yield from (step.condition, *step.operands)
            case Leaf() | Call():
                yield from step.captures

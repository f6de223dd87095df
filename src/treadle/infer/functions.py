"""Types inside functions: the join over all calls that the finished inference makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from treadle.infer.context import CallRecord, Inference
from treadle.infer.facts import join_types
from treadle.ir import (
    Block,
    Function,
    FunctionId,
    Type,
    Value,
    block_values,
    bodies,
    clone_with_new_values,
    typed,
)


def all_values(block: Block) -> Iterator[Value]:
    """Every value of the block and of the bodies in it."""
    yield from block_values(block)
    for step in block.steps:
        for _, body in bodies(step):
            yield from all_values(body)


def function_types(run: Inference) -> dict[FunctionId, dict[Value, Type | None]]:
    """Map each called function to the types its values have in every call."""
    types: dict[FunctionId, dict[Value, Type | None]] = {}
    for record in _made(run):
        known = types.get(record.function)
        if known is None:
            types[record.function] = dict(record.types)
            continue
        for value, type_ in record.types.items():
            known[value] = join_types(known[value], type_)
    return types


def typed_functions(run: Inference) -> dict[FunctionId, Function]:
    """Copy the model's functions, with types on the values of those that are called."""
    types = function_types(run)
    return {
        name: _typed(function, types[name]) if name in types else function
        for name, function in run.model.functions.items()
    }


def _typed(function: Function, types: dict[Value, Type | None]) -> Function:
    block = clone_with_new_values(function.block, lambda value: typed(value, types.get(value)))
    return replace(function, block=block)


def _made(run: Inference) -> Iterator[CallRecord]:
    """The calls made by the last inference of their caller, without duplicates."""
    seen: set[object] = set()
    pending = list(run.root.inner.values())
    while pending:
        key = pending.pop()
        if key in seen:
            continue
        seen.add(key)
        record = run.calls[key]
        yield record
        pending += record.inner.values()

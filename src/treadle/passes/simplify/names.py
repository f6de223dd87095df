"""Restores unique names in an open block after moves: no duplicates, no shadowing.

The inputs and outputs of the model keep their names. Steps of one block get unique names too:
onnxruntime rejects two nodes with the same name.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import (
    Block,
    Branch,
    Info,
    Leaf,
    Loop,
    Step,
    Value,
    block_values,
    map_bodies,
    with_results,
)
from treadle.passes.simplify.captures import replaced
from treadle.passes.simplify.context import PassContext


def with_own_names(block: Block) -> Block:
    """The open block with names that are unique wherever they are visible."""
    outer = {value for value in (*block.params, *block.results) if value is not None}
    names = {value.name for value in outer}
    renamed: dict[Value, Value] = {}
    for value in _others(block, outer, names):
        name = _fresh(value.name, names)
        renamed[value] = replace(value, name=name)
    return _renamed(block, renamed)


def with_output_names(before: Block, after: Block, at: PassContext) -> Block:
    """The block whose results still have the names of the model's outputs."""
    if after.results == before.results:
        return after
    steps, results = list(after.steps), list(after.results)
    for position, (old, new) in enumerate(zip(before.results, results, strict=True)):
        if old is None or new is None or new.name == old.name:
            continue
        version = at.version("Identity") or 1
        output = Value(old.name, old.declared, doc=old.doc, metadata=old.metadata, kept=old.kept)
        info = Info(op="Identity", version=version)
        steps.append(Leaf("", "Identity", version, (new,), (output,), info=info))
        results[position] = output
    return replace(after, steps=tuple(steps), results=tuple(results))


def with_own_step_names(block: Block) -> Block:
    """Rename steps so that no two steps of the block and its bodies have the same name."""
    names: set[str] = set()

    def told_apart(step: Step) -> Step:
        inner = map_bodies(step, lambda _, body: with_own_step_names(body))
        if not inner.info.name or inner.info.name not in names:
            names.add(inner.info.name)
            return inner
        return replace(inner, info=replace(inner.info, name=_fresh(inner.info.name, names)))

    return replace(block, steps=tuple(map(told_apart, block.steps)))


def _others(block: Block, kept: set[Value], names: set[str]) -> list[Value]:
    """Every value whose name is already taken in its scope; the names become taken."""
    found: list[Value] = []
    _look(block, set(), kept, names, found)
    return found


def _look(
    block: Block, outside: set[str], kept: set[Value], names: set[str], found: list[Value]
) -> None:
    reserved = {value.name for value in kept}
    here = set(outside)
    for value in block_values(block):
        if value not in kept and (value.name in here or value.name in reserved):
            found.append(value)
        here.add(value.name)
        names.add(value.name)
    for step in block.steps:
        if isinstance(step, Loop):
            _look(step.body, here, kept, names, found)
        elif isinstance(step, Branch):
            _look(step.then, here, kept, names, found)
            _look(step.otherwise, here, kept, names, found)


def _fresh(name: str, names: set[str]) -> str:
    number, free = 0, name
    while free in names:
        number += 1
        free = f"{name}_{number}"
    names.add(free)
    return free


def _renamed(block: Block, by: dict[Value, Value]) -> Block:
    if not by:
        return block

    def define(each: Block) -> Block:
        params = tuple(by.get(value, value) for value in each.params)
        constants = tuple(replace(c, value=by.get(c.value, c.value)) for c in each.constants)
        steps = tuple(map(made, each.steps))
        return replace(each, params=params, constants=constants, steps=steps)

    def made(step: Step) -> Step:
        if isinstance(step, Loop | Branch):
            step = map_bodies(step, lambda _, body: define(body))
        return with_results(step, by)

    return replaced(define(block), by)

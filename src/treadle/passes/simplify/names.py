"""Restores unique names in an open block after moves: no duplicates, no shadowing.

The inputs and outputs of the model keep their names. Steps of one block get unique names too:
onnxruntime rejects two nodes with the same name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from treadle.ir import (
    Block,
    Branch,
    FreshNames,
    Info,
    Leaf,
    Loop,
    Step,
    Value,
    block_values,
    bodies,
    map_bodies,
    with_results,
)
from treadle.passes.simplify.captures import replaced
from treadle.passes.simplify.context import PassContext


def with_own_names(block: Block) -> Block:
    """The open block with names that are unique wherever they are visible."""
    outer = {value for value in (*block.params, *block.results) if value is not None}
    reserved = {value.name for value in outer}
    scopes = _Scopes(outer, reserved, FreshNames(reserved))
    scopes.look(block)
    renamed = {value: _called(value, scopes.names.fresh(value.name)) for value in scopes.found}
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
    names = FreshNames()

    def told_apart(step: Step) -> Step:
        inner = map_bodies(step, lambda _, body: with_own_step_names(body))
        name = inner.info.name
        own = names.fresh(name) if name else name
        return inner if own == name else replace(inner, info=replace(inner.info, name=own))

    return replace(block, steps=tuple(map(told_apart, block.steps)))


def _called(value: Value, name: str) -> Value:
    return Value(
        name, value.declared, value.inferred, value.doc, value.metadata, value.kept
    )  # fmt: skip


@dataclass(slots=True)
class _Scopes:
    """Finds values with a name that another one has where they are in force.

    `kept` values have the `reserved` names for themselves; `names` are all there are.
    """

    kept: set[Value]
    reserved: set[str]
    names: FreshNames
    found: list[Value] = field(default_factory=list)
    _here: set[str] = field(default_factory=set)

    def look(self, block: Block) -> None:
        """Look through the block, whose names are in force in its bodies and no further."""
        own: list[str] = []
        for value in block_values(block):
            name = value.name
            if value not in self.kept and (name in self._here or name in self.reserved):
                self.found.append(value)
            if name not in self._here:
                own.append(name)
                self._here.add(name)
            self.names.taken.add(name)
        for step in block.steps:
            if isinstance(step, Loop | Branch):
                for _, body in bodies(step):
                    self.look(body)
        self._here.difference_update(own)


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

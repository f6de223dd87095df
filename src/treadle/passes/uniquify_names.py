"""Renames values of bodies so that no name shadows one of an enclosing block.

ONNX forbids shadowing, also of names that are defined later in the outer block. Names carry no
meaning in a closed block, so nothing else changes. Of two equal names the first stays; never
declines.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import count

from treadle.ir import (
    Block,
    Model,
    Value,
    block_values,
    bodies,
    captures,
    clone_with_new_values,
    verified,
)


@verified
def uniquify_names(model: Model) -> Model:
    """Rename shadowing values of bodies; returns the same model if there are none."""
    names: dict[Value, str] = {}
    _look(model.main, frozenset(), frozenset(), names)
    if not names:
        return model

    def named(value: Value) -> Value:
        return replace(value, name=names.get(value, value.name))

    return replace(model, main=clone_with_new_values(model.main, named))


def _look(
    block: Block, outside: frozenset[str], captured: Collection[Value], names: dict[Value, str]
) -> None:
    values = [value for value in block_values(block) if value not in captured]
    wanted = {value.name for value in values}
    own: set[str] = set()
    for value in values:
        name = value.name
        if name in outside or name in own:
            free = (f"{value.name}_{number}" for number in count(1))
            name = next(n for n in free if n not in outside and n not in own and n not in wanted)
            names[value] = name
        own.add(name)
    for step in block.steps:
        params = {param for _, param in captures(step)}
        for _, body in bodies(step):
            _look(body, outside | own, params, names)

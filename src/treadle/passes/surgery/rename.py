"""Renames values and their uses, in bodies too.

    {"x": "tokens", "layer_*": "encoder/*"}, prefix "a/"

A `*` in the new name stands for the text that a `*` of the old one matched, in order. The prefix is
added to every name that no pattern matches. Raises InputError if two values of one scope would have
the same name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from treadle.errors import InputError, did_you_mean
from treadle.ir import (
    Block,
    Model,
    Step,
    block_values,
    bodies,
    clone_with_new_values,
    map_bodies,
    verified,
)


@verified
def rename(model: Model, names: Mapping[str, str], prefix: str = "") -> Model:
    """Rename the values of the main block and its bodies, and prefix its steps."""
    known = {value.name for block in _blocks(model.main) for value in block_values(block)}
    new = {name: _renamed(name, names, prefix) for name in known}
    _expect_used(names, known)
    _expect_distinct(model.main, new, {})
    main = clone_with_new_values(model.main, lambda value: replace(value, name=new[value.name]))
    return replace(model, main=_prefixed(main, prefix) if prefix else main)


def _blocks(block: Block) -> list[Block]:
    inner = [each for step in block.steps for _, body in bodies(step) for each in _blocks(body)]
    return [block, *inner]


def _pattern(old: str) -> re.Pattern[str]:
    return re.compile("(.*?)".join(map(re.escape, old.split("*"))), re.DOTALL)


def _renamed(name: str, names: Mapping[str, str], prefix: str) -> str:
    if name in names:
        return names[name]
    for old, new in names.items():
        found = _pattern(old).fullmatch(name) if "*" in old else None
        if found is not None:
            parts = iter(found.groups())
            return "".join(next(parts, "") if each == "*" else each for each in new)
    return prefix + name


def _expect_used(names: Mapping[str, str], known: set[str]) -> None:
    for old in names:
        if not any(_pattern(old).fullmatch(name) for name in known):
            raise InputError(f"no value is called {old!r}, {did_you_mean(old, sorted(known))}")


def _expect_distinct(block: Block, new: Mapping[str, str], outer: Mapping[str, str]) -> None:
    """Raise InputError if two values of one scope would have the same name."""
    here = dict(outer)
    for value in block_values(block):
        name = new[value.name]
        if not name:
            raise InputError(f"{value.name} would have no name")
        if here.setdefault(name, value.name) != value.name:
            raise InputError(f"{here[name]} and {value.name} would both be called {name}")
    for step in block.steps:
        for _, body in bodies(step):
            _expect_distinct(body, new, here)


def _prefixed(block: Block, prefix: str) -> Block:
    def changed(step: Step) -> Step:
        inner = map_bodies(step, lambda _, body: _prefixed(body, prefix))
        if not inner.info.name:
            return inner
        return replace(inner, info=replace(inner.info, name=prefix + inner.info.name))

    return replace(block, steps=tuple(map(changed, block.steps)))

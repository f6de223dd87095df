"""The record of one fix, and the walk over closed blocks that fixes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from treadle import ops
from treadle.errors import Finding
from treadle.ir import (
    Block,
    FreshNames,
    Info,
    Leaf,
    Model,
    Step,
    Value,
    block_values,
    bodies,
    map_bodies,
    step_path,
    walk,
)


@dataclass(frozen=True, slots=True)
class Fix:
    """One applied fix: the code of the rule, the path, and a description."""

    code: str
    path: str
    done: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.code} {where}{self.done}"


def fixed_by_reading(findings: Iterable[Finding]) -> list[Fix]:
    """Fixes that reading the file already made: node order, duplicate initializers."""
    words = {"CF102": "kept the last of the initializers", "CF105": "put the nodes in order"}
    blocks = dict.fromkeys((found.code, _block_of(found.path)) for found in findings)
    return [Fix(code, path, words[code]) for code, path in blocks if code in words]


def _block_of(path: str) -> str:
    return path.rpartition("/")[0] or path


ChangeBlock = Callable[[Block, str, Step | None], Block]


def map_program(model: Model, change: ChangeBlock) -> Model:
    """Replace every block by `change(block, path, step)`, inner ones first.

    `step` is the one that the block is a body of; None for main and for functions.
    """
    functions = {
        identity: replace(function, block=_mapped(function.block, str(identity), None, change))
        for identity, function in model.functions.items()
    }
    return replace(model, main=_mapped(model.main, "main", None, change), functions=functions)


def _mapped(block: Block, path: str, step: Step | None, change: ChangeBlock) -> Block:
    def inner(position: int, each: Step) -> Step:
        at = step_path(path, each, position)
        return map_bodies(each, lambda n, body: _mapped(body, f"{at}.{n}", each, change))

    steps = tuple(inner(position, each) for position, each in enumerate(block.steps))
    if any(new is not old for new, old in zip(steps, block.steps, strict=True)):
        block = replace(block, steps=steps)
    return change(block, path, step)


def all_names(model: Model) -> FreshNames:
    """The names of every value of the model; the second value of a name gets the number 2."""
    blocks = [model.main, *(function.block for function in model.functions.values())]
    blocks += [body for visit in walk(model) for _, body in bodies(visit.step)]
    return FreshNames((value.name for block in blocks for value in block_values(block)), first=2)


def identity(value: Value, copy: Value, opset: int) -> Leaf:
    """A step that copies a value to a new name."""
    version = ops.since_version("", "Identity", opset) or 1
    return Leaf("", "Identity", version, (value,), (copy,), info=Info(op="Identity"))

"""Replaces steps by blocks: shared by inlining of functions and expansion of operators.

A replacement is a closed block with one param for each value the step reads and one result for each
of its results. Its values are copied, and its steps and constants become part of the enclosing
block, with names prefixed by the step: `gelu_3/t`. Names inside its bodies stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from treadle.ir import (
    Block,
    FreshNames,
    Operands,
    Step,
    Value,
    block_values,
    clone_with_new_values,
    map_bodies,
    operator_of,
    path_segment,
    reads,
    step_path,
    substitute,
    with_operands,
    with_path,
)
from treadle.limits import poll

Replacement = Callable[[Step, str], Block | None]
"""Returns the block that replaces the step at a path, or None."""


def inline_blocks(block: Block, replacement: Replacement, path: str = "main") -> Block:
    """Replace every step of the block and its bodies for which there is a replacement.

    Inserted steps are processed too; returns the same block if nothing was replaced.
    """
    names = FreshNames(value.name for value in block_values(block))
    steps: list[Step] = []
    constants = list(block.constants)
    known: dict[Value, Any] = {}
    for position, step in enumerate(block.steps):
        poll()
        reading = with_operands(step, known) if known else step
        here = step_path(path, step, position)
        inner = replacement(reading, here)
        if inner is None:
            steps.append(_inside(reading, replacement, here))
            continue
        prefix = step.info.name or path_segment(operator_of(step), position)
        part, replaced = _part(reading, inner, names, prefix)
        part = inline_blocks(part, replacement, here)
        known.update(dict(zip(replaced, part.results, strict=True)))
        steps += part.steps
        constants += part.constants
    if not known and _are_same(steps, block.steps):
        return block
    results = substitute(block.results, known)
    return replace(block, steps=tuple(steps), constants=tuple(constants), results=results)


def _inside(step: Step, replacement: Replacement, path: str) -> Step:
    return map_bodies(step, lambda name, body: inline_blocks(body, replacement, f"{path}.{name}"))


def assign_paths(block: Block, path: str) -> Block:
    """Set the path of every step to its place under this path, ignoring the file's.

    No two steps may have the same path, so a block that is inserted twice needs new paths.
    """

    def placed(step: Step, position: int) -> Step:
        here = f"{path}/{path_segment(operator_of(step), position)}"
        moved = map_bodies(step, lambda name, body: assign_paths(body, f"{here}.{name}"))
        return with_path(moved, here)

    steps = tuple(placed(step, position) for position, step in enumerate(block.steps))
    return replace(block, steps=steps)


def _part(
    step: Step, inner: Block, names: FreshNames, prefix: str
) -> tuple[Block, tuple[Value, ...]]:
    """Copy the block over new values, with the step's operands, and return its results.

    A step that defines a result of the replaced step gets that result itself.
    """
    wanted = [(r, v) for r, v in zip(step.results, inner.results, strict=False) if r is not None]
    made = {value for each in inner.steps for value in each.results}
    kept = {value: result for result, value in reversed(wanted) if value in made}

    def renewed(value: Value) -> Value:
        if value in kept:
            return kept[value]
        name = names.fresh(f"{prefix}/{value.name}") if value in outermost else value.name
        return Value(name, value.declared, None, value.doc, value.metadata, value.kept)

    outermost = frozenset(block_values(inner))
    part = clone_with_new_values(replace(inner, results=tuple(v for _, v in wanted)), renewed)
    given: dict[Value, Any] = dict(zip(part.params, _padded(reads(step), part), strict=True))
    steps = tuple(with_operands(each, given) for each in part.steps)
    results = substitute(part.results, given)
    return replace(part, params=(), steps=steps, results=results), tuple(r for r, _ in wanted)


def _padded(operands: Operands, block: Block) -> Operands:
    return operands + (None,) * (len(block.params) - len(operands))


def _are_same(new: Sequence[Step], old: Sequence[Step]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))

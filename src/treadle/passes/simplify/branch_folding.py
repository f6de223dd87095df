"""Replaces an If with a known condition, or two equal blocks, by one block.

    If(true) then: a = Exp(x) else: ...       a = Exp(x)
    If(c) then: a = Exp(x) else: b = Exp(x)   a = Exp(x)       both blocks are equal

Declines if the condition is unknown and the blocks differ, or if it may not be one bool.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, Branch, Constant, DType, Leaf, Step, Value, step_path, with_operands
from treadle.passes.simplify.captures import map_implicit_captures, replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.cse import constant_key, step_key

NAME = "branches folded"


def fold_branches(block: Block, at: PassContext) -> Block:
    """Replace each If of the open block that has no choice."""
    by: dict[Value, Value | None] = {}

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        steps: list[Step] = []
        constants: list[Constant] = list(inner.constants)
        for position, step in enumerate(inner.steps):
            taken, why = _taken(step, at)
            if taken is None:
                steps.append(step)
                continue
            steps += taken.steps
            constants += taken.constants
            pairs = zip(step.results, taken.results, strict=True)
            by.update((result, given) for result, given in pairs if result is not None)
            at.note(NAME, step_path(path, step, position), why)
        if not by:
            return inner
        return replace(inner, steps=tuple(steps), constants=tuple(constants))

    return replaced(map_implicit_captures(block, change), by)


def _taken(step: Step, at: PassContext) -> tuple[Block | None, str]:
    if not isinstance(step, Branch) or step.operands:
        return None, ""
    truth = at.truth(step.condition)
    if truth is not None:
        return step.then if truth else step.otherwise, "then" if truth else "else"
    if at.is_single(step.condition, DType.BOOL) and _are_equal(step.then, step.otherwise):
        return step.then, "both are equal"
    return None, ""


def _are_equal(first: Block, second: Block) -> bool:
    """Whether two open blocks compute the same, step by step."""
    if len(first.steps) != len(second.steps) or len(first.results) != len(second.results):
        return False
    same: dict[Value, Value | None] = {}
    known = {constant_key(constant): constant.value for constant in first.constants}
    for constant in second.constants:
        key = constant_key(constant)
        if key is None or key not in known:
            return False
        same[constant.value] = known[key]
    for one, other in zip(first.steps, second.steps, strict=True):
        if not isinstance(one, Leaf) or not isinstance(other, Leaf):
            return False
        key = step_key(one)
        if key is None or key != step_key(with_operands(other, same)):
            return False
        pairs = zip(other.results, one.results, strict=True)
        same.update((v, w) for v, w in pairs if v is not None)
    found = tuple(same.get(v, v) if v is not None else None for v in second.results)
    return found == first.results

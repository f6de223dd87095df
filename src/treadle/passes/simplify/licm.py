"""Loop-invariant code motion: moves steps with the same result in every iteration before the loop.

    loop: z = MatMul(W, V)        z = MatMul(W, V)
          ... z ...               loop: ... z ...

A step moves if it is pure and reads no value of the body, and if it cannot fail or the loop always
runs at least one iteration. Only this pass assumes that extents of inputs with the same name are
equal: feeding different ones may raise an error for a loop that would not have run. Inner loops go
first, so that a step can leave several loops at once. Declines for steps inside the branches of an
If, which may never run, for copies, and if a loop that may not run would lose the only source of an
extent of its empty stacks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from treadle.ir import (
    Block,
    Constant,
    Leaf,
    Loop,
    Step,
    Symbol,
    Value,
    block_values,
    defining_steps,
    dim_symbols,
    operator_of,
    ports,
    reachable,
    step_path,
    with_operands,
    with_results,
)
from treadle.passes.simplify.captures import all_steps, free_reads, map_implicit_captures, replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.speculation import is_pure, is_speculatable, runs_at_least_once

NAME = "loop-invariant steps hoisted"
_STAY = ("Identity", "Constant")


def hoist_loop_invariants(block: Block, at: PassContext) -> Block:
    """Move the invariant steps of all loops of the open block."""
    if not any(isinstance(step, Loop) for step in all_steps(block)):
        return block
    trusting = at.trusting()

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        steps: list[Step] = []
        constants = list(inner.constants)
        for position, step in enumerate(inner.steps):
            if not isinstance(step, Loop):
                steps.append(step)
                continue
            noted = len(at.done)
            smaller, moved, taken = _split(step, step_path(path, step, position), at, trusting)
            if not _sees_extents(step, smaller, trusting):
                del at.done[noted:]
                smaller, moved, taken = step, [], []
            steps += (*moved, smaller)
            constants += taken
        if len(steps) == len(inner.steps):
            return inner
        return replace(inner, steps=tuple(steps), constants=tuple(constants))

    return map_implicit_captures(block, change)


def _split(
    loop: Loop, path: str, at: PassContext, trusting: PassContext
) -> tuple[Loop, list[Step], list[Constant]]:
    """The loop without its invariant steps, these steps, and the constants they need outside."""
    body, runs = loop.body, runs_at_least_once(loop, at)
    constants = {constant.value: constant for constant in body.constants}
    makes = {s.results[0]: s for s in body.steps if isinstance(s, Leaf) and s.op == "Constant"}
    inside = set(block_values(body))
    moved: list[Step] = []
    taken: list[Constant] = []
    copies: dict[Value, Value] = {}
    rest: list[Step] = []
    for position, step in enumerate(body.steps):
        read = free_reads(step) & inside
        needed = {value for value in read if value in constants or value in makes}
        if read - needed or not _may_move(step, runs, trusting):
            rest.append(step)
            continue
        for value in sorted(needed - copies.keys(), key=lambda each: each.name):
            copies[value] = replace(value)
            if value in constants:
                taken.append(replace(constants[value], value=copies[value], listed=False))
            else:
                moved.append(with_results(makes[value], copies))
        moved.append(_reading(step, {value: copies[value] for value in needed}))
        inside -= {value for value in step.results if value is not None}
        at.note(NAME, step_path(f"{path}.body", step, position), operator_of(step))
    if not moved:
        return loop, [], []
    return replace(loop, body=replace(body, steps=tuple(rest))), moved, taken


def _may_move(step: Step, runs: bool, at: PassContext) -> bool:
    if isinstance(step, Leaf) and step.op in _STAY:
        return False
    return is_pure(step) and (runs or is_speculatable(step, at))


def _reading(step: Step, by: dict[Value, Value]) -> Step:
    if not by:
        return step
    if isinstance(step, Leaf):
        return with_operands(step, by)
    (found,) = replaced(Block(steps=(step,)), by).steps
    return found


def _sees_extents(before: Loop, after: Loop, at: PassContext) -> bool:
    """Whether the loop still reads values from which the extents of its empty stacks follow.

    Afterwards only the values that the stacks are computed from count; others may become dead.
    """
    if before is after or runs_at_least_once(before, at):
        return True
    shapes = [at.shape(port.element) for port in ports(before).stacked]
    needed = {name for shape in shapes for dim in shape or () for name in dim_symbols(dim)}
    return needed & _shown(free_reads(before), at) <= _shown(_stacked_from(after), at)


def _shown(values: Iterable[Value], at: PassContext) -> set[str]:
    shapes = [at.shape(value) for value in values]
    return {dim.name for shape in shapes for dim in shape or () if isinstance(dim, Symbol)}


def _stacked_from(loop: Loop) -> set[Value]:
    """The values, outer ones too, that the stacks of a loop are computed from."""
    view, made = ports(loop), defining_steps(loop.body)
    fed = {port.param: {port.initial, port.next} for port in view.carried}
    fed |= {port.param: {port.operand} for port in view.sliced}
    elements = [port.element for port in view.stacked]
    found = reachable(elements, lambda v: free_reads(made[v]) if v in made else fed.get(v, ()))
    return found - set(block_values(loop.body))

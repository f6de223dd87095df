"""Converts blocks to the open form, in which bodies read outer values directly, and back.

    closed    body(invariant x' from x)  y = Add(x', x')        every body lists its captures
    open      body()                     y = Add(x, x)          a value has one identity everywhere

In the open form a step can be moved, merged or replaced regardless of captures. Blocks of leaves
and calls stay closed. Open blocks are used only inside this package.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from treadle.ir import (
    Block,
    Branch,
    Condition,
    Invariant,
    Iteration,
    Loop,
    Operands,
    Role,
    Step,
    Value,
    block_values,
    bodies,
    map_bodies,
    reads,
    step_path,
    substitute,
    with_operands,
)

Substitution = Mapping[Value, Value | None]
ChangeBlock = Callable[[Block, str, Step | None], Block]


def to_implicit_captures(block: Block) -> Block:
    """The open form of a closed block."""
    return _opened(block, {})


def _opened(block: Block, outer: dict[Value, Value | None]) -> Block:
    steps = tuple(_opened_step(with_operands(step, outer), outer) for step in block.steps)
    return replace(block, steps=steps, results=substitute(block.results, outer))


def _opened_step(step: Step, outer: dict[Value, Value | None]) -> Step:
    match step:
        case Loop():
            return _opened_loop(step, outer)
        case Branch():
            return _opened_branch(step, outer)
    return step


def _opened_loop(loop: Loop, outer: dict[Value, Value | None]) -> Loop:
    operands = iter(loop.operands)
    kept: list[tuple[Role, Value, Operands]] = []
    for role, param in zip(loop.roles, loop.body.params, strict=True):
        if isinstance(role, Iteration | Condition):
            kept.append((role, param, ()))
            continue
        operand = next(operands)
        if isinstance(role, Invariant) and operand is not None:
            outer[param] = operand
        else:
            kept.append((role, param, (operand,)))
    body = replace(loop.body, params=tuple(param for _, param, _ in kept))
    return replace(
        loop,
        roles=tuple(role for role, _, _ in kept),
        operands=tuple(value for _, _, operand in kept for value in operand),
        body=_opened(body, outer),
    )


def _opened_branch(branch: Branch, outer: dict[Value, Value | None]) -> Branch:
    absent = [k for k, value in enumerate(branch.operands) if value is None]

    def body(block: Block) -> Block:
        outer.update(zip(block.params, branch.operands, strict=True))
        for k in absent:
            del outer[block.params[k]]
        return _opened(replace(block, params=tuple(block.params[k] for k in absent)), outer)

    then, otherwise = body(branch.then), body(branch.otherwise)
    return replace(branch, then=then, otherwise=otherwise, operands=(None,) * len(absent))


def closure_convert(block: Block) -> Block:
    """Convert an open block without free values to the closed form."""
    done, free = _closed(block)
    assert not free, f"nothing defines {', '.join(value.name for value in free)}"
    return done


def _closed(block: Block) -> tuple[Block, list[Value]]:
    """The block with closed bodies, and its free values."""
    own = {*block.params, *(constant.value for constant in block.constants)}
    free: dict[Value, None] = {}
    steps = []

    def read(values: Iterable[Value | None]) -> None:
        free.update((value, None) for value in values if value is not None and value not in own)

    for step in block.steps:
        steps.append(_closed_step(step))
        read(reads(steps[-1]))
        own.update(value for value in step.results if value is not None)
    read(block.results)
    return replace(block, steps=tuple(steps)), list(free)


def _closed_step(step: Step) -> Step:
    match step:
        case Loop():
            body, free = _closed(step.body)
            return replace(
                step,
                body=_with_captures(body, free),
                roles=(*step.roles, *[Invariant()] * len(free)),
                operands=(*step.operands, *free),
            )
        case Branch():
            then, first = _closed(step.then)
            otherwise, second = _closed(step.otherwise)
            free = list(dict.fromkeys((*first, *second)))
            return replace(
                step,
                then=_with_captures(then, free),
                otherwise=_with_captures(otherwise, free),
                operands=(*step.operands, *free),
            )
    return step


def _with_captures(block: Block, free: list[Value]) -> Block:
    params = {value: Value(value.name, value.declared, value.inferred) for value in free}
    steps = tuple(with_operands(step, params) for step in block.steps) if params else block.steps
    results = substitute(block.results, params)
    return replace(block, params=(*block.params, *params.values()), steps=steps, results=results)


def replaced(block: Block, by: Substitution, pinned: Collection[Value] = ()) -> Block:
    """Replace values in the open block and its bodies, and the values `by` maps them to.

    A `pinned` value is kept where it is a result of the block.
    """
    if not by:
        return block
    final = {value: _last(value, by) for value in by}
    given = {value: new for value, new in final.items() if value not in pinned}
    return _replaced(block, final, given)


def _last(value: Value, by: Substitution) -> Value | None:
    found: Value | None = value
    while found is not None and found in by:
        found = by[found]
    return found


def _replaced(block: Block, by: Substitution, given: Substitution) -> Block:
    def inside(step: Step) -> Step:
        if not isinstance(step, Loop | Branch):
            return step
        return map_bodies(step, lambda _, body: _replaced(body, by, given))

    steps = tuple(inside(_reading(step, by)) for step in block.steps)
    results = substitute(block.results, given)
    if results == block.results and _are_same(steps, block.steps):
        return block
    return replace(block, steps=steps, results=results)


def _reading(step: Step, by: Substitution) -> Step:
    return with_operands(step, by) if any(v in by for v in reads(step) if v) else step


def _are_same(new: tuple[Step, ...], old: tuple[Step, ...]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


def map_implicit_captures(
    block: Block, change: ChangeBlock, path: str = "main", of: Step | None = None
) -> Block:
    """Replace every block of the open block by `change(block, path, step)`, inner ones first.

    `step` is the Loop or Branch that the block is a body of, None for the block itself.
    """

    def inner(step: Step, position: int) -> Step:
        if not isinstance(step, Loop | Branch):
            return step
        at = step_path(path, step, position)
        return map_bodies(
            step, lambda name, body: map_implicit_captures(body, change, f"{at}.{name}", step)
        )

    steps = tuple(inner(step, position) for position, step in enumerate(block.steps))
    if not _are_same(steps, block.steps):
        block = replace(block, steps=steps)
    return change(block, path, of)


def all_steps(block: Block) -> Iterator[Step]:
    """Every step of the open block and of its bodies."""
    for step in block.steps:
        yield step
        if isinstance(step, Loop | Branch):
            for _, body in bodies(step):
                yield from all_steps(body)


def free_reads(step: Step) -> set[Value]:
    """Every value of enclosing blocks that the step, or a step inside it, reads."""
    read = {value for value in reads(step) if value is not None}
    if isinstance(step, Loop | Branch):
        for _, body in bodies(step):
            read |= _free_of(body)
    return read


def _free_of(block: Block) -> set[Value]:
    read = {value for value in block.results if value is not None}
    for step in block.steps:
        read |= free_reads(step)
    return read - set(block_values(block))

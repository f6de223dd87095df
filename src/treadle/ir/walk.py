"""Every step of a program with its path: `main/loop_3.body/add_7`.

A step's segment is its operator and its position in its block; a body's segment is the name of its
attribute. Functions are walked on their own: `local::gelu/mul_2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from treadle.ir.graph import Block, Branch, Call, Leaf, Loop, Model, Operands, Step
from treadle.ir.loop import ports
from treadle.ir.values import Value
from treadle.messages import visible


class Visit(NamedTuple):
    """A step, its path, the block it is in and how many bodies deep that is."""

    path: str
    step: Step
    block: Block
    depth: int


def operator_of(step: Step) -> str:
    """The operator's name in its file: `Loop`, `Add`, or a function's name."""
    match step:
        case Leaf():
            return step.op
        case Call():
            return step.function.name
        case Branch():
            return step.info.op or "If"
        case Loop():
            return step.info.op or "Loop"


def domain_of(step: Step) -> str:
    """The operator's domain in its file, or the domain of a function; "" for the standard's."""
    match step:
        case Leaf():
            return step.domain
        case Call():
            return step.function.domain
        case Branch() | Loop():
            return step.info.domain


def version_of(step: Step) -> int:
    """The operator's version in the file; 0 for a model-local function."""
    return step.version if isinstance(step, Leaf | Call) else step.info.version


def path_segment(operator: str, position: int) -> str:
    """The part of a path that names a step of this operator: `add_7`."""
    return f"{_word(operator)}_{position}"


@lru_cache(1024)
def _word(operator: str) -> str:
    return visible(operator).lower()


def step_path(block_path: str, step: Step, position: int) -> str:
    """The path of the step at `position` of the block at `block_path`, or its path in the file."""
    return step.info.path or f"{block_path}/{path_segment(operator_of(step), position)}"


def bodies(step: Step) -> Iterator[tuple[str, Block]]:
    """The step's blocks by attribute name, in order: body; then_branch and else_branch; any."""
    match step:
        case Loop():
            yield "body", step.body
        case Branch():
            yield "then_branch", step.then
            yield "else_branch", step.otherwise
        case Leaf() | Call():
            yield from step.blocks.items()


def walk(model: Model) -> Iterator[Visit]:
    """Every step of the model, outer ones first, in order; then those of each function."""
    yield from walk_block(model.main, "main")
    for identity, function in model.functions.items():
        yield from walk_block(function.block, str(identity))


def walk_block(block: Block, path: str = "main") -> Iterator[Visit]:
    """Every step of the block, in order, each before the steps of its own bodies."""
    stack = [_visits(block, path, 0)]
    while stack:
        visit = next(stack[-1], None)
        if visit is None:
            stack.pop()
            continue
        yield visit
        if isinstance(visit.step, Leaf) and not visit.step.blocks:
            continue
        inner = [_visits(b, f"{visit.path}.{n}", visit.depth + 1) for n, b in bodies(visit.step)]
        stack.extend(reversed(inner))


def _visits(block: Block, path: str, depth: int) -> Iterator[Visit]:
    for position, step in enumerate(block.steps):
        yield Visit(step_path(path, step, position), step, block, depth)


def reads(step: Step) -> Operands:
    """Every value of its block that the step reads, captures included.

    None for an absent operand.
    """
    match step:
        case Leaf() | Call():
            return step.operands + step.captures
        case Branch():
            return (step.condition, *step.operands)
        case Loop():
            return (step.trip, step.condition, *step.operands)


def captures(step: Step) -> Iterator[tuple[Value | None, Value]]:
    """The values that the step's bodies capture, each with the body's parameter for it."""
    match step:
        case Branch():
            yield from zip(step.operands, step.then.params, strict=True)
            yield from zip(step.operands, step.otherwise.params, strict=True)
        case Loop():
            yield from ((port.operand, port.param) for port in ports(step).invariants)
        case Leaf() | Call():
            for block in step.blocks.values():
                own = len(block.params) - len(step.captures)
                yield from zip(step.captures, block.params[own:], strict=True)


def block_values(block: Block) -> Iterator[Value]:
    """Every value the block defines, once: params, constants, results of steps."""
    params = set(block.params)
    yield from block.params
    yield from (c.value for c in block.constants if c.value not in params)
    for step in block.steps:
        yield from (value for value in step.results if value is not None)


def defining_steps(block: Block) -> dict[Value, Step]:
    """Map each value to the step of the block that defines it."""
    return {value: step for step in block.steps for value in step.results if value is not None}


def reachable(
    wanted: Iterable[Value | None], before: Callable[[Value], Iterable[Value | None]]
) -> set[Value]:
    """The wanted values and all that `before` reaches from them; None has no predecessors."""
    todo, found = list(wanted), set[Value]()
    while todo:
        value = todo.pop()
        if value is not None and value not in found:
            found.add(value)
            todo += before(value)
    return found

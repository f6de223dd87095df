"""Copies blocks and steps with values or bodies replaced: the basis of every pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from treadle.ir.graph import Block, Branch, Call, Leaf, Loop, Model, Operands, Step
from treadle.ir.values import Info, Value

Substitution = Mapping[Value, Value | None]


def substitute(values: Operands, by: Substitution) -> Operands:
    """Replace each value that is a key of `by`."""
    return tuple([by.get(v, v) if v is not None else None for v in values])


def with_operands(step: Step, by: Substitution) -> Step:
    """The step with its operands replaced by `by`; its results and bodies stay."""
    match step:
        case Leaf():
            return _leaf(step, substitute(step.operands, by), step.results, by)
        case Call():
            captures = substitute(step.captures, by)
            return replace(step, operands=substitute(step.operands, by), captures=captures)
        case Branch():
            decides = by.get(step.condition, step.condition)
            assert decides is not None, "a Branch has a condition"
            read = substitute(step.operands, by)
            return replace(step, condition=decides, operands=read)
        case Loop():
            trip, condition = substitute((step.trip, step.condition), by)
            operands_ = substitute(step.operands, by)
            return replace(step, trip=trip, condition=condition, operands=operands_)


def with_results(step: Step, by: Substitution) -> Step:
    """The step with its results replaced by `by`."""
    results = substitute(step.results, by)
    if isinstance(step, Leaf):
        return _leaf(step, step.operands, results, {})
    return replace(step, results=results)


def with_path(step: Step, path: str) -> Step:
    """The step with another path in its file."""
    old = step.info
    info = Info(
        old.name, old.doc, old.metadata, old.domain, old.op, old.version, old.overload, path,
        old.attributes, old.kept,
    )  # fmt: skip
    if not isinstance(step, Leaf):
        return replace(step, info=info)
    return Leaf(
        step.domain, step.op, step.version, step.operands, step.results, step.attributes,
        step.blocks, step.captures, info,
    )  # fmt: skip


def _leaf(leaf: Leaf, operands: Operands, results: Operands, by: Substitution) -> Leaf:
    """The leaf with other operands and results; much faster than `dataclasses.replace`."""
    captures = substitute(leaf.captures, by) if leaf.captures else ()
    return Leaf(
        leaf.domain,
        leaf.op,
        leaf.version,
        operands,
        results,
        leaf.attributes,
        leaf.blocks,
        captures,
        leaf.info,
    )


def map_bodies(step: Step, change: Callable[[str, Block], Block]) -> Step:
    """The step with each body replaced by `change(attribute, body)`; itself if none changes."""
    match step:
        case Loop():
            body = change("body", step.body)
            return step if body is step.body else replace(step, body=body)
        case Branch():
            then = change("then_branch", step.then)
            otherwise = change("else_branch", step.otherwise)
            if then is step.then and otherwise is step.otherwise:
                return step
            return replace(step, then=then, otherwise=otherwise)
        case Leaf() | Call():
            if not step.blocks:
                return step
            blocks = {name: change(name, block) for name, block in step.blocks.items()}
            if all(blocks[name] is block for name, block in step.blocks.items()):
                return step
            return replace(step, blocks=blocks)


def map_steps(block: Block, change: Callable[[Step], Step]) -> Block:
    """The block with every step replaced, bodies first; itself if nothing changes."""

    def changed(step: Step) -> Step:
        return change(map_bodies(step, lambda _, body: map_steps(body, change)))

    steps = tuple(map(changed, block.steps))
    if all(new is old for new, old in zip(steps, block.steps, strict=True)):
        return block
    return replace(block, steps=steps)


def map_blocks(model: Model, change: Callable[[Block], Block]) -> Model:
    """The model with its main block and every function's replaced by `change(block)`."""
    functions = {k: replace(f, block=change(f.block)) for k, f in model.functions.items()}
    return replace(model, main=change(model.main), functions=functions)


def clone_with_new_values(block: Block, change: Callable[[Value], Value]) -> Block:
    """Copy the block, with `change(value)` for each value that it and its bodies define.

    Used to annotate every value with an inferred type, and to use one body twice: a value belongs
    to one block only.
    """
    renewed: dict[Value, Value] = {}

    def new(value: Value) -> Value:
        if value not in renewed:
            renewed[value] = change(value)
        return renewed[value]

    params = tuple(map(new, block.params))
    constants = tuple(replace(c, value=new(c.value)) for c in block.constants)
    steps: list[Step] = []
    for step in block.steps:
        if isinstance(step, Leaf) and not step.blocks:
            operands = substitute(step.operands, renewed)
            results = tuple([None if value is None else new(value) for value in step.results])
            steps.append(_leaf(step, operands, results, renewed))
            continue
        renewed_step = with_operands(
            map_bodies(step, lambda _, body: clone_with_new_values(body, change)), renewed
        )
        for value in step.results:
            if value is not None:
                new(value)
        steps.append(with_results(renewed_step, renewed))
    results = substitute(block.results, renewed)
    return replace(block, params=params, constants=constants, steps=tuple(steps), results=results)

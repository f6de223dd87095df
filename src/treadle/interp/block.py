"""A block: its steps in order, over an environment of values by identity.

    environment = constants + params
    for step in steps:
        environment[step.results] = step(environment[step.reads])
    results = environment[block.results]

A value is let go after the last step that reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from treadle.interp.branch import prepare_branch
from treadle.interp.call import prepare_call
from treadle.interp.leaf import prepare_leaf
from treadle.interp.loop import prepare_loop
from treadle.interp.region import prepare_region
from treadle.interp.work import Action, Prepare, Work
from treadle.ir import Block, Branch, Call, Leaf, Loop, Operands, Step, Value, reads, step_path
from treadle.plan import BlockPlan, Region, RunContext
from treadle.tracing import Iterations, Listener, ValueMade

Paths = Mapping[Step, str]
Environment = dict[Value | None, Any]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step, or one region of another engine, at its place in a block.

    `makers` are the paths of the steps that make the results, one each; `spent` are the values that
    nothing reads afterwards.
    """

    path: str
    action: Action
    reads: Operands
    results: Operands
    makers: tuple[str, ...]
    spent: tuple[Value, ...] = ()


def prepare_block(plan: BlockPlan, work: Work, paths: Paths | None = None) -> Action:
    """The block ready to run: one value per param in, one per result out.

    A param that has a default takes it where None comes in. `paths` are those of the steps where
    the block is a part of another one.
    """
    block, path = plan.block, plan.path
    if paths is None:
        paths = {s: step_path(path, s, k) for k, s in enumerate(block.steps)}
    instructions = _with_spent(block, list(_instructions(plan, work, paths)))
    known: Environment = {None: None, **{c.value: c.array for c in block.constants}}
    defaults = frozenset(block.params) & known.keys()
    shown = [*block.params, *(c.value for c in block.constants if c.value not in defaults)]

    def run(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        environment = known.copy()
        environment.update(zip(block.params, operands, strict=True))
        for param in defaults:
            if environment[param] is None:
                environment[param] = known[param]
        listener = context.listener
        if listener is not None:
            for value in shown:
                listener(ValueMade(path, iterations, value.name, environment[value]))
        is_polled = context.options is not None or context.limits.seconds is not None
        for instruction in instructions:
            if is_polled:
                context.poll(instruction.path, iterations)
            given = [environment[value] for value in instruction.reads]
            made = instruction.action(given, context, iterations)
            if listener is not None:
                _tell(listener, path, iterations, instruction, made)
            for result, value in zip(instruction.results, made, strict=True):
                if result is not None:
                    environment[result] = value
            for value in instruction.spent:
                del environment[value]
        return [environment[result] for result in block.results]

    return run


def _tell(
    listener: Listener,
    path: str,
    iterations: Iterations,
    instruction: Instruction,
    made: Sequence[Any],
) -> None:
    for result, value, maker in zip(instruction.results, made, instruction.makers, strict=True):
        if result is not None:
            listener(ValueMade(path, iterations, result.name, value, maker))


def _instructions(plan: BlockPlan, work: Work, paths: Paths) -> Iterator[Instruction]:
    for region in plan.regions:
        if region.runnable is not None:
            yield _other_engine(region, work, paths)
        else:
            for step in region.steps:
                action = _prepare_step(step, paths[step], region.bodies, work)
                makers = (paths[step],) * len(step.results)
                yield Instruction(paths[step], action, reads(step), step.results, makers)


def _other_engine(region: Region, work: Work, paths: Paths) -> Instruction:
    first = paths[region.steps[0]]
    maker = {value: paths[step] for step in region.steps for value in step.results}
    makers = tuple(maker[value] for value in region.outputs)
    action = prepare_region(region, first, partial(prepare_block, work=work, paths=paths))
    return Instruction(first, action, region.inputs, region.outputs, makers)


def _prepare_step(step: Step, path: str, bodies: Mapping[str, BlockPlan], work: Work) -> Action:
    prepare: Prepare = partial(prepare_block, work=work)

    def body(name: str) -> Action:
        return prepare(replace(bodies[name], path=f"{path}.{name}"))

    match step:
        case Loop():
            return prepare_loop(step, path, body("body"))
        case Branch():
            return prepare_branch(path, body("then_branch"), body("else_branch"))
        case Call():
            return prepare_call(step, path, work, prepare)
        case Leaf():
            return prepare_leaf(step, path) or prepare_call(step, path, work, prepare)


def _with_spent(block: Block, instructions: list[Instruction]) -> list[Instruction]:
    kept = {None, *block.results, *(constant.value for constant in block.constants)}
    backwards = []
    for instruction in reversed(instructions):
        touched = dict.fromkeys((*instruction.reads, *instruction.results))
        spent = tuple(value for value in touched if value is not None and value not in kept)
        kept.update(spent)
        backwards.append(replace(instruction, spent=spent))
    return backwards[::-1]

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

import numpy as np

from treadle.interp.branch import prepare_branch
from treadle.interp.call import prepare_call
from treadle.interp.executable import Executable, Expand, Prepare
from treadle.interp.leaf import prepare_leaf
from treadle.interp.loop import prepare_loop
from treadle.interp.region import prepare_region
from treadle.ir import Block, Branch, Call, Leaf, Loop, Operands, Step, Value, reads, step_path
from treadle.plan import BlockPlan, Region, RunContext
from treadle.tracing import Iterations, Listener, ValueMade

Environment = dict[Value | None, Any]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step, or one region of another engine, at its place in a block.

    `makers` are the paths of the steps that make the results, one each; `spent` are the values that
    nothing reads afterwards.
    """

    path: str
    action: Executable
    reads: Operands
    results: Operands
    makers: tuple[str, ...]
    spent: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """`known` are the constants, `defaults` those that are also params, `shown` what begins."""

    block: Block
    path: str
    instructions: tuple[Instruction, ...]
    known: Environment
    defaults: tuple[Value, ...]
    shown: tuple[Value, ...]


def prepare_block(plan: BlockPlan, expand: Expand | None) -> Executable:
    """The block ready to run: one value per param in, one per result out.

    A param that has a default takes it where None comes in.
    """
    block = plan.block
    known: Environment = {None: None, **{c.value: _read_only(c.array) for c in block.constants}}
    defaults = tuple(value for value in block.params if value in known)
    others = (c.value for c in block.constants if c.value not in defaults)
    instructions = _with_spent(block, list(_instructions(plan, expand)))
    shown = (*block.params, *others)
    prepared = _Prepared(block, plan.path, instructions, known, defaults, shown)
    return _alone(prepared) or partial(_run, prepared)


def _alone(prepared: _Prepared) -> Executable | None:
    """A block of one instruction that is all it does: called without an environment.

    results = instruction(params[picked])[given]
    """
    if len(prepared.instructions) != 1 or prepared.defaults:
        return None
    (instruction,) = prepared.instructions
    params = {value: k for k, value in enumerate(prepared.block.params)}
    made = {value: k for k, value in enumerate(instruction.results)}
    if not (params.keys() >= set(instruction.reads) and made.keys() >= set(prepared.block.results)):
        return None
    picked = [params[value] for value in instruction.reads if value is not None]
    given = [made[value] for value in prepared.block.results]
    is_straight = picked == [*range(len(params))]
    is_all = given == [*range(len(made))]

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        if context.listener is not None:
            return _run(prepared, operands, context, iterations)
        if context.may_stop:
            context.poll(instruction.path, iterations)
        own = operands if is_straight else [operands[k] for k in picked]
        found = instruction.action(own, context, iterations)
        return found if is_all else [found[k] for k in given]

    return act


def _run(
    prepared: _Prepared, operands: Sequence[Any], context: RunContext, iterations: Iterations
) -> Sequence[Any]:
    environment, listener = _begin(prepared, operands), context.listener
    if listener is not None:
        for value in prepared.shown:
            listener(ValueMade(prepared.path, iterations, value.name, environment[value]))
    is_polled = context.may_stop
    for instruction in prepared.instructions:
        if is_polled:
            context.poll(instruction.path, iterations)
        given = [environment[value] for value in instruction.reads]
        made = instruction.action(given, context, iterations)
        for result, value in zip(instruction.results, made, strict=True):
            if result is not None:
                environment[result] = value
        if listener is not None:
            _tell(listener, prepared.path, iterations, instruction, made)
        for value in instruction.spent:
            del environment[value]
    return [environment[result] for result in prepared.block.results]


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _begin(prepared: _Prepared, operands: Sequence[Any]) -> Environment:
    environment = prepared.known.copy()
    environment.update(zip(prepared.block.params, operands, strict=True))
    for param in prepared.defaults:
        if environment[param] is None:
            environment[param] = prepared.known[param]
    return environment


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


def _instructions(plan: BlockPlan, expand: Expand | None) -> Iterator[Instruction]:
    paths = {step: step_path(plan.path, step, k) for k, step in enumerate(plan.block.steps)}
    for region in plan.regions:
        if region.runnable is not None:
            yield _other_engine(region, paths, expand)
            continue
        for step in region.steps:
            path = paths[step]
            action = _prepare_step(step, path, region.bodies, expand)
            yield Instruction(path, action, reads(step), step.results, (path,) * len(step.results))


def _other_engine(region: Region, paths: Mapping[Step, str], expand: Expand | None) -> Instruction:
    first = paths[region.steps[0]]
    maker = {value: paths[step] for step in region.steps for value in step.results}
    makers = tuple(maker[value] for value in region.outputs)
    action = prepare_region(region, first, partial(prepare_block, expand=expand))
    return Instruction(first, action, region.inputs, region.outputs, makers)


def _prepare_step(
    step: Step, path: str, bodies: Mapping[str, BlockPlan], expand: Expand | None
) -> Executable:
    prepare: Prepare = partial(prepare_block, expand=expand)
    match step:
        case Loop():
            return prepare_loop(step, path, prepare(bodies["body"]))
        case Branch():
            then, otherwise = prepare(bodies["then_branch"]), prepare(bodies["else_branch"])
            return prepare_branch(path, then, otherwise)
        case Call():
            return prepare_call(step, path, expand, prepare)
        case Leaf():
            return prepare_leaf(step, path) or prepare_call(step, path, expand, prepare)


def _with_spent(block: Block, instructions: list[Instruction]) -> tuple[Instruction, ...]:
    kept = {None, *block.results, *(constant.value for constant in block.constants)}
    backwards = []
    for instruction in reversed(instructions):
        touched = dict.fromkeys((*instruction.reads, *instruction.results))
        spent = tuple(value for value in touched if value is not None and value not in kept)
        kept.update(spent)
        backwards.append(replace(instruction, spent=spent))
    return tuple(backwards[::-1])

"""A planned block: runs its regions in order, each by its engine or by interp."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from treadle.errors import Unsupported
from treadle.execution.region import prepare_region
from treadle.interp import Define, Executable, Instruction, in_order, prepare_step
from treadle.ir import Block, Step, step_path
from treadle.plan import BlockPlan, Region, RunContext
from treadle.tracing import Iterations


def prepare_block_plan(plan: BlockPlan, define: Define | None) -> Executable:
    """Prepare the block: it maps one value per param to one value per result."""
    instructions = list(_instructions(plan, define))
    run = cache(partial(in_order, plan.block, plan.path, instructions))
    return _single_call(plan.block, instructions, run) or run()


def _instructions(plan: BlockPlan, define: Define | None) -> Iterator[Instruction]:
    paths = {step: step_path(plan.path, step, k) for k, step in enumerate(plan.block.steps)}
    for region in plan.regions:
        if region.runnable is not None:
            yield _delegated(region, paths, define)
            continue

        def body(name: str, plans: Mapping[str, BlockPlan] = region.bodies) -> Executable:
            return prepare_block_plan(plans[name], define)

        for step in region.steps:
            try:
                yield prepare_step(step, paths[step], body, define)
            except Unsupported as error:
                refusals = region.refusals.get(step, "")
                if not refusals or error.path != paths[step]:
                    raise
                why = f"{error.why}; {refusals}"
                raise Unsupported(error.op, error.version, why, paths[step]) from error


def _delegated(region: Region, paths: Mapping[Step, str], define: Define | None) -> Instruction:
    """A region of an engine as one instruction."""
    path = paths[region.steps[0]]
    maker = {value: paths[step] for step in region.steps for value in step.results}
    makers = tuple(maker[value] for value in region.outputs)
    action = prepare_region(region, path, partial(prepare_block_plan, define=define))
    return Instruction(path, action, region.inputs, region.outputs, makers)


def _single_call(
    block: Block, instructions: Sequence[Instruction], run: Callable[[], Executable]
) -> Executable | None:
    """A block of one instruction: called directly if no listener is attached, else `run` makes it.

    results = instruction(params[picked])[given]
    """
    params = {value: k for k, value in enumerate(block.params)}
    if len(instructions) != 1 or any(constant.value in params for constant in block.constants):
        return None
    (instruction,) = instructions
    made = {value: k for k, value in enumerate(instruction.results)}
    if not (params.keys() >= set(instruction.reads) and made.keys() >= set(block.results)):
        return None
    picked = [params[value] for value in instruction.reads if value is not None]
    given = [made[value] for value in block.results]
    is_straight = picked == [*range(len(params))]
    is_all = given == [*range(len(made))]
    action = instruction.action

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        if context.listener is not None:
            return run()(operands, context, iterations)
        if context.may_stop:
            context.poll(instruction.path, iterations)
        own = operands if is_straight else [operands[k] for k in picked]
        found = action(own, context, iterations)
        return found if is_all else [found[k] for k in given]

    return act

"""The engine of each step and the reason, by path."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.ir import step_path
from treadle.plan import BlockPlan, Plan


def engines_of(plan: Plan) -> dict[str, tuple[str, str]]:
    """The engine and the reason for each step of the plan, bodies of whole regions included."""
    return dict(_of_block(plan.main))


def _of_block(block: BlockPlan) -> Iterator[tuple[str, tuple[str, str]]]:
    paths = {step: step_path(block.path, step, k) for k, step in enumerate(block.block.steps)}
    for region in block.regions:
        for step in region.steps:
            path = paths.get(step) or step.info.path
            yield path, (region.engine, region.refusals.get(step, region.reason))
        for body in region.bodies.values():
            yield from _of_block(body)

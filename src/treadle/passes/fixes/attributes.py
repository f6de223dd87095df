"""CF211: removes attributes that the operator does not have, which have no effect.

Needs the operator's schema; declines if there is none.
"""

from __future__ import annotations

from dataclasses import replace

from treadle import ops
from treadle.ir import Leaf, Model, Step, map_blocks, map_steps
from treadle.passes.fixes.fix import Fix


def drop_attributes(model: Model) -> tuple[Model, list[Fix]]:
    """Remove the attributes that no schema has."""
    done: list[Fix] = []

    def change(step: Step) -> Step:
        schema = ops.schema(step.domain, step.op, step.version) if isinstance(step, Leaf) else None
        if not isinstance(step, Leaf) or schema is None:
            return step
        kept = {n: a for n, a in step.attributes.items() if n in schema.attributes}
        done.extend(
            Fix("CF211", step.info.path, f'removed the attribute "{name}"')
            for name in step.attributes
            if name not in kept
        )
        return replace(step, attributes=kept) if len(kept) < len(step.attributes) else step

    mended = map_blocks(model, lambda block: map_steps(block, change))
    return (mended, done) if done else (model, [])
